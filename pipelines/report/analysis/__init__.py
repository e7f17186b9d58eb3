"""What the rows of a sweep say: λ-paths, comparisons, recommendations, contradictions.

Here: figures and sentences, as plain data.
Not here: how they are drawn (``charts``) and laid out (``pages``).
"""
