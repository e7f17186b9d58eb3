"""What a report is made from: rows, plan and names, by column.

Here: reading a store for a report, numbers as text, cross-validation over exact λ-paths.
Not here: what follows from the rows (``pipelines.report.analysis``).
"""
