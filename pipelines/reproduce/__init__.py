"""Published tables next to our own results.

Here: reading published figures and joining them with a sweep's rows.
Not here: the page that shows them (``pipelines.report``).
"""
