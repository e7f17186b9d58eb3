"""The analysis of a sweep: λ-paths, comparisons, recommendations, contradictions.

Here: numbers and sentences, as plain data.
Not here: drawing them (``charts``) and putting them on pages (``pages``).
"""
