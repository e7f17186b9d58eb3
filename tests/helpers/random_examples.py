"""How many random examples a test tries."""

from __future__ import annotations

import os

_ASKED = int(os.environ.get("TREESWEEP_EXAMPLES", "0"))


def examples(number: int) -> int:
    """As many as ``TREESWEEP_EXAMPLES`` says, or else ``number``, which CI can afford."""
    return _ASKED or number
