"""Merges yes/no features of cut columns into ordered features again.

The thresholds of a column are nested: a row that exceeds one exceeds all smaller ones. So the
features of one column are one ordered feature, whose code is the number of "yes". A search on it
takes a fraction of the memory and of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from solver.features.node_tests import NodeTest, ThresholdTest
from solver.features.ranks_and_cuts import CutTests, Scale
from solver.monitor import Monitor, News
from solver.problem.problem import Problem
from solver.trees.tree import Tree


@dataclass(frozen=True)
class Columns:
    """A problem with ordered features; ``tests`` are the numbers of its cuts in the original
    problem."""

    problem: Problem
    tests: Sequence[int]

    @classmethod
    def of(cls, problem: Problem) -> Columns:
        """Merge the binary features of a problem; ordered features stay as they are."""
        if problem.ordered:
            return cls(problem, range(len(problem.tests)))
        groups = list(_nested(problem))
        codes = np.zeros((len(problem.codes), len(groups)), np.int32)
        for column, group in enumerate(groups):
            codes[:, column] = problem.codes[:, group].sum(axis=1)
        ordered = replace(
            problem,
            codes=codes,
            arities=np.array([len(group) + 1 for group in groups], np.int32),
            tests=CutTests([_feature([problem.tests[f] for f in group]) for group in groups]),
        )
        return cls(ordered, [feature for group in groups for feature in group])

    def outwards(self, tree: Tree) -> Tree:
        """A tree of the ordered problem as one of the other."""
        if isinstance(self.tests, range):
            return tree
        return _renamed(tree, dict(enumerate(self.tests)))

    def inwards(self, tree: Tree) -> Tree:
        """The reverse."""
        if isinstance(self.tests, range):
            return tree
        return _renamed(tree, {test: cut for cut, test in enumerate(self.tests)})

    def monitor(self, monitor: Monitor) -> Monitor:
        """A watch over the ordered problem's search that tells and hears of trees of the other."""
        snapshot, peers = monitor.snapshot, monitor.peers
        if snapshot is not None:
            monitor = replace(
                monitor,
                snapshot=lambda seen: snapshot(replace(seen, tree=self.outwards(seen.tree))),
            )
        if peers is not None:
            monitor = replace(
                monitor,
                peers=peers._replace(
                    tell=lambda news: peers.tell(_of(news, self.outwards)),
                    hear=lambda: [_of(news, self.inwards) for news in peers.hear()],
                ),
            )
        return monitor


def _of(news: News, turned: Callable[[Tree], Tree]) -> News:
    """The news with its tree as one of the other problem."""
    return news if news.tree is None else news._replace(tree=turned(news.tree))


def _nested(problem: Problem) -> Iterator[list[int]]:
    """The features by column, from the lowest threshold to the highest."""

    def column(feature: int) -> str | int:
        test = problem.tests[feature]
        return test.column if isinstance(test, ThresholdTest) else feature

    def threshold(feature: int) -> float:
        test = problem.tests[feature]
        return test.threshold if isinstance(test, ThresholdTest) else 0.0

    # An encoding makes the tests of a column side by side.
    for _, group in groupby(range(problem.n_features), key=column):
        features = sorted(group, key=threshold)
        yes = problem.codes[:, features]
        if np.all(yes[:, 1:] <= yes[:, :-1]):
            yield features
        else:
            yield from ([feature] for feature in features)


def _feature(tests: Sequence[NodeTest]) -> NodeTest | Scale:
    """One ordered feature for the tests of a column."""
    cuts = [test for test in tests if isinstance(test, ThresholdTest)]
    if len(tests) == 1 or len(cuts) < len(tests):
        return tests[0]
    return Scale(
        cuts[0].column,
        np.array([cut.threshold for cut in cuts]),
        np.array([cut.missing for cut in cuts], np.int8),
        cuts[0].unit,
        cuts[0].lacked,
    )


def _renamed(tree: Tree, names: Mapping[int, int]) -> Tree:
    nodes = tuple(
        node if node.feature is None else replace(node, feature=names[node.feature])
        for node in tree.nodes
    )
    return replace(tree, nodes=nodes, tests={names[f]: test for f, test in tree.tests.items()})
