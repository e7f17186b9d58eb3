"""What `chaos.py` is made of: the processes of a sweep, what is done to them, and the comparison."""
