"""The pages of a report as plain data for their templates, and its tables.

Here: which text, table and chart is on which page.
Not here: the HTML templates (``pipelines/report/templates``).
"""
