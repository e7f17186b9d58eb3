"""The pages of a report as plain data for their templates, and its tables as CSV.

Here: what stands where.
Not here: the templates themselves (``pipelines/report/templates``).
"""
