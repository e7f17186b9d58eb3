"""Published tables next to our own results.

Here: reading published figures, joining them with a sweep's rows, drawing them anew.
Not here: the page that shows them (``pipelines.report``).
"""
