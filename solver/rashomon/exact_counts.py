"""Numbers of trees as Python integers, whatever their size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from solver.engine.growable_arrays import within_memory
from solver.errors import InputError
from solver.kernels.constants import FULL, PROVEN, Ints, Words
from solver.limits import Limits
from solver.rashomon.build_graph import LimitError
from solver.rashomon.kernels.counting import CELLS, LEFT, WANTED, Cells, count_trees, make_cells
from solver.rashomon.kernels.expand_graph import EXPANDED_NODES, Graph
from solver.rashomon.kernels.state import Space
from solver.solution import Status

_WORD_BITS = 64
_PRIME_BITS = 31
_SLICE = 64


class ExactCounts:
    """The trees of all nodes of a graph.

    Parameters
    ----------
    space, graph
        From the search.
    allowed : array of int, shape (features,)
        How many features of the table a feature stands for; 0 to leave it out.
    check : callable
        Called between slices; raises what ends the count.
    most_bytes : int, optional
        Of the arrays of costs; by default half of the machine's memory.

    Raises
    ------
    LimitError
        If the costs of the trees are so many that these bytes do not suffice.
    """

    def __init__(
        self,
        space: Space,
        graph: Graph,
        allowed: Ints,
        check: Callable[[], None],
        most_bytes: int | None = None,
    ) -> None:
        self.space, self.graph, self._check = space, graph, check
        self.most_bytes = within_memory(Limits(bytes=most_bytes)).bytes or 0
        cells = make_cells(graph, 4096, 4096, allowed)
        self.cells = self._count(cells, 0)
        first, end = self.cells_of(0)
        estimate = float(self.cells.estimate[first:end].sum())
        if not math.isfinite(estimate):
            raise InputError("there are more than 10^308 good trees; take a smaller tolerance")
        self._residues: list[tuple[int, Words]] = [(2**_WORD_BITS, self.cells.number)]
        # A sum of floats is off by far less than a factor of two.
        bits = math.log2(max(estimate, 1.0)) + 1 - _WORD_BITS
        for _, prime in zip(range(math.ceil(bits / (_PRIME_BITS - 1))), _primes(), strict=False):
            again = self.cells._replace(
                number=np.zeros_like(self.cells.number), used=np.zeros_like(self.cells.used)
            )
            again.used[LEFT] = graph.used[EXPANDED_NODES]
            self._residues.append((prime, self._count(again, prime).number))

    def _count(self, cells: Cells, modulus: int) -> Cells:
        """Run the kernel to its end; arrays that are full are doubled."""
        status = FULL + 1
        while status != PROVEN:
            self._check()
            status = count_trees(self.space, self.graph, cells, np.uint64(modulus), _SLICE)
            if status == FULL:
                self._check_room(cells)
                cells = _grown(cells)
        return cells

    def _check_room(self, cells: Cells) -> None:
        """A grid has a place for every cost in the budget, so large weights take much memory."""
        wanted, cells_bytes = int(cells.used[WANTED]), 32 * len(cells.cost)
        if wanted:
            needed = cells_bytes + 16 * max(wanted, 2 * len(cells.grid_number))
        else:
            needed = 2 * cells_bytes + 16 * len(cells.grid_number)
        if needed > self.most_bytes:
            raise LimitError(
                Status.MEMORY_LIMIT,
                f"the good trees are not counted within the limit of {self.most_bytes} bytes: "
                "their costs may take too many values; take a smaller tolerance, a limit on "
                "depth, or weights of fewer digits",
            )

    @cached_property
    def total(self) -> int:
        """The trees of the root."""
        first, end = self.cells_of(0)
        return sum(self.number(cell) for cell in range(first, end))

    def cells_of(self, node: int) -> tuple[int, int]:
        """The first cell of a node, and the end."""
        return int(self.cells.first[node]), int(self.cells.end[node])

    def number(self, cell: int) -> int:
        """The trees of a cell, by the Chinese remainder theorem."""
        value, product = 0, 1
        for modulus, residues in self._residues:
            missing = (int(residues[cell]) - value) * pow(product, -1, modulus) % modulus
            value += product * missing
            product *= modulus
        return value


def _grown(cells: Cells) -> Cells:
    wanted = int(cells.used[WANTED])
    cells.used[WANTED] = 0
    if wanted:
        size = max(wanted, 2 * len(cells.grid_number))
        return cells._replace(grid_number=np.zeros(size, np.uint64), grid_estimate=np.zeros(size))
    size, filled = 2 * len(cells.cost), int(cells.used[CELLS])
    names = ("cost", "splits", "number", "estimate")
    longer = {}
    for name in names:
        array = getattr(cells, name)
        longer[name] = np.zeros(size, array.dtype)
        longer[name][:filled] = array[:filled]
    return cells._replace(**longer)


def _primes() -> Iterator[int]:
    """Primes below 2^31, the largest first."""
    for number in range(2**_PRIME_BITS - 1, 2, -2):
        if all(number % factor for factor in range(3, math.isqrt(number) + 1, 2)):
            yield number
