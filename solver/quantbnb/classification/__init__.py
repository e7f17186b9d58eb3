"""Quant-BnB for classification.

Here: the compiled search for the least misclassified weight, its engine and its greedy tree.
Not here: regression (``solver.quantbnb.regression``), the published version (``paper``).
"""

COMPILE_SECONDS = 12
"""To compile its kernels, on one core."""
