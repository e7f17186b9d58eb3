"""Proper decision trees: optimal trees of any splitting rules."""
