"""The data of a report: the rows and the plan of a sweep, by column.

Here: reading a store, labels, numbers as texts, exact λ-paths of runs and their cross-validation.
Not here: comparisons and recommendations (``pipelines.report.analysis``).
"""
