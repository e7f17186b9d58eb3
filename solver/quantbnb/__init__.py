"""Optimal shallow trees on continuous features."""
