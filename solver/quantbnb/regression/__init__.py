"""Optimal regression trees on numbers: the search for the least squared error."""
