"""The charts of a report, and the files that they are written to.

Here: matplotlib figures and SVG.
Not here: computing what they show (``pipelines.report.analysis``).
"""
