"""``python -m pipelines.cli`` is the command line, whatever scripts are installed."""

from pipelines.cli import main

main()
