"""The relatives of proper decision trees: one recursion, another `splits` for each."""
