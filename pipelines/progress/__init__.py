"""What a running sweep shows: live on a terminal, plain lines elsewhere, or from afar.

Here: displays.
Not here: the events they show (``sweep.events``).
"""
