"""OCT and OCT-H (Bertsimas, Dunn 2017), formulated here and solved by HiGHS."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from solver.base import NO_OPTIONS, Capabilities
from solver.encodings import Encoder
from solver.errors import InputError, PeerError
from solver.external.base import version_of
from solver.external.job_messages import Job, Splits
from solver.external.mip import MixedIntegerSolver, Program
from solver.external.oct_programs import BinaryProgram, HyperplaneProgram, RankProgram
from solver.options import Option
from solver.problem.problem import Problem
from solver.proper.integer_points import Points, check_points
from solver.proper.separating_tests import Partition, shape_of_partition
from solver.trees.tree import Shape, Tree

LEAST_MARGIN = 1e-4
"""HiGHS takes a number as 0 or a constraint as kept if they are off by 10⁻⁶."""


class Oct(MixedIntegerSolver):
    """A mixed-integer program over a complete binary tree, in which each row has a leaf.

    With the option ``rules``: hyperplane it is OCT-H. A hyperplane then has to keep its two sides
    apart by ``margin``, so what it claims is of trees of such hyperplanes only: one that passes
    closer by a row may make a better tree. The stored hyperplane separates the rows as HiGHS's
    does; it is in the middle between both sides.

    References
    ----------
    Bertsimas, Dunn (2017), Optimal Classification Trees, sections 2 (OCT) and 3 (OCT-H).
    """

    name: ClassVar[str] = "oct"
    version: ClassVar[str] = f"2, scipy {version_of('scipy')}"
    summary: ClassVar[str] = (
        "OCT and OCT-H, mixed-integer programs (HiGHS); its claims are unproven"
    )
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary", "continuous"}),
        limits=frozenset({"depth", "splits", "min_leaf_size"}),
        needs=frozenset({"depth"}),
        proves=False,
        greatest_depth=10,
    )
    options: ClassVar[Mapping[str, Option]] = {
        "rules": Option(
            "axis",
            "axis: cuts of one column; hyperplane: of all columns, with a margin (OCT-H)",
            ("axis", "hyperplane"),
            in_contract=False,
        ),
        "margin": Option(
            0.005,
            "least gap of a hyperplane; columns scaled to [0, 1], sizes of weights sum to 1",
            kind=(int, float),
        ),
    }

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """As every solver's; and floats can keep the margin."""
        settings = super().check_options(options)
        if not LEAST_MARGIN <= settings["margin"] <= 1:
            raise InputError(
                f"option margin = {settings['margin']} of solver {cls.name!r} must be from "
                f"{LEAST_MARGIN} to 1"
            )
        settings["margin"] = float(settings["margin"])  # 1 and 1.0 are the same task
        return settings

    @classmethod
    def check_encoder(cls, encoder: Encoder, options: Mapping[str, Any] = NO_OPTIONS) -> None:
        """See the base class; hyperplanes need the numbers of all columns."""
        if options.get("rules") == "hyperplane":
            check_points(encoder)

    @classmethod
    def program(cls, job: Job) -> Program:
        """See the base class."""
        if job.numbers is not None:
            return HyperplaneProgram(job)
        return BinaryProgram(job) if job.codes.max() <= 1 else RankProgram(job)

    def numbers(self, problem: Problem) -> NDArray[np.float64] | None:
        """For hyperplanes, the columns scaled to −1/2 … 1/2."""
        if self.settings["rules"] != "hyperplane":
            return None
        columns = Points.of(problem).coordinates.T.tolist()
        return np.column_stack([_scaled(column) for column in columns])

    def shape(self, problem: Problem, tree: Splits) -> Shape:
        """See the base class; rows are divided by HiGHS's hyperplanes, then by exact ones.

        The program asks only leaves with rows for the smallest weight of a leaf. So at λ = 0 its
        tree may have a split with an empty side, which is left out.
        """
        numbers = self.numbers(problem)
        if numbers is None:
            return _without_empty_leaves(problem.grow(super().shape(problem, tree)), 0)
        partition = self._partition(tree, numbers, np.ones(len(numbers), bool))
        return shape_of_partition(problem, partition, "hyperplane")

    def _partition(
        self, tree: Splits, numbers: NDArray[np.float64], rows: NDArray[np.bool_]
    ) -> Partition:
        """How a tree divides the rows that come to it; a split with an empty side is left out."""
        if tree == -1:
            return -1
        try:
            weights, threshold, *children = tree  # type: ignore[misc]
            above = np.sum(numbers * weights, axis=1) > threshold
            left, right = children
        except (TypeError, ValueError):
            raise PeerError(f"solver {self.name!r}: {tree!r:.80} is no node of a tree") from None
        sides = [(left, rows & ~above), (right, rows & above)]
        filled = [self._partition(child, numbers, own) for child, own in sides if own.any()]
        if len(filled) == 1:
            return filled[0]
        mask = int.from_bytes(np.packbits(above, bitorder="little").tobytes(), "little")
        return mask, (filled[0], filled[1])


def _without_empty_leaves(tree: Tree, position: int) -> Shape:
    """The splits below a node that divide its rows; at most as deep as HiGHS's tree."""
    node = tree.nodes[position]
    filled = [child for child in node.children if any(tree.nodes[child].counts)]
    if node.feature is None or not filled:
        return -1
    if len(filled) == 1:
        return _without_empty_leaves(tree, filled[0])
    return node.feature, tuple(_without_empty_leaves(tree, child) for child in filled)


def _scaled(column: list[int]) -> list[float]:
    least, most = min(column), max(column)
    return [float(Fraction(2 * x - least - most, 2 * (most - least))) for x in column]
