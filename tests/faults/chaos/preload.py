"""What the process that roles are forked from does first: it imports all and loads the kernels."""

from __future__ import annotations

from solver.branches import Branches
from tests.faults.chaos import dying_driver, process_roles

__all__ = ["dying_driver", "process_roles"]

Branches.warm_up()
