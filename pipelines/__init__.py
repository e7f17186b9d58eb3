"""The face: command line, reports and the reproduction of published tables."""
