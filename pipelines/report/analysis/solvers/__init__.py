"""Solvers on equal problems: what each answers and how fast, objective against time, mean ranks.

Here: figures. Not here: charts and tables of them, and contradictions between proofs.
"""
