"""The papers' experiments, a sweep's file each.

Here: files for ``treesweep reproduce NAME``, also seen as ``examples/papers``.
Not here: the data that they name (see the head of each), and code.
"""
