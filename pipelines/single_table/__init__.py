"""One table at a time: the work of ``inspect``, ``init``, ``solve``, ``path`` and ``predict``.

Here: the work without the printing.
Not here: the commands (``pipelines.cli``) and sweeps (``sweep``).
"""
