"""How often the state of a search is written.

Commands that search in their own process use it too, so it does not import ``distributed``.
"""

from __future__ import annotations

SHARE = 0.05
"""The share of a search's time that writing states may take."""

_FREE = 0.1
_RATE = 100e6


class Pace:
    """Decides when a state is written, so that writing takes a small share of the time.

    Parameters
    ----------
    share : float
        Of the search's seconds, beyond the first tenth of a second.
    """

    def __init__(self, share: float = SHARE) -> None:
        self._share = share
        self._spent = 0.0
        self._rate = _RATE
        self._size = 0

    def may_allow(self, seconds: float) -> bool:
        """Whether a state might be written, if it has not grown since :meth:`allows` was asked.

        To be asked before a state is made, which may take time as well.
        """
        return self._spent + self._size / self._rate <= self._share * seconds + _FREE

    def allows(self, size: int, seconds: float) -> bool:
        """Whether a state of this size may be written after this time of search."""
        self._size = size
        return self.may_allow(seconds)

    def wrote(self, size: int, seconds: float) -> None:
        """Count what it took."""
        self._spent += seconds
        self._rate = max(size, 2**20) / max(seconds, 1e-3)
