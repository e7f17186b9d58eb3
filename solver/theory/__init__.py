"""What papers prove and no search imports.

Here: complexity bounds, sizes of search spaces, relatives of proper trees, the paper's programs.
Not here: anything that a solver needs.
"""
