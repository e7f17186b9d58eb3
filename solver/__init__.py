"""The numbers: problems, encodings, trees, the exact objective, searches and estimators."""
