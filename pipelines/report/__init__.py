"""The report of a sweep: a folder with an HTML page, pictures, tables and the trees to use.

Here: ``write_report`` and the report in the terminal.
Not here: the rows themselves (``sweep.store``).
"""

from pipelines.report.data.results import Results, label_results, load_results
from pipelines.report.write import ReportPaths, write_report

__all__ = ["ReportPaths", "Results", "label_results", "load_results", "write_report"]
