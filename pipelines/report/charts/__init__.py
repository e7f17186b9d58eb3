"""The charts of a report.

Here: matplotlib figures and SVG.
Not here: computing what they show (``pipelines.report.analysis``), and the files that they are
written to (``pipelines.report.output_folder``).
"""
