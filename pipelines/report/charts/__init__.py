"""The charts of a report.

Here: matplotlib figures and SVG.
Not here: computing what they show (``pipelines.report.analysis``), and writing them to files
(``pipelines.report.save_figures``).
"""
