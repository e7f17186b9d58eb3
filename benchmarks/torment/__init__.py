"""What `chaos.py` is made of: a sweep's processes, what is done to them, and the comparison."""
