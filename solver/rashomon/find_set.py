"""Find all trees whose objective is close to the optimum."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from solver.argument_checks import check_arguments
from solver.errors import InputError
from solver.limits import Limits
from solver.monitor import Monitor
from solver.problem.problem import Problem
from solver.rashomon.build_graph import LimitError, Prices, Search
from solver.rashomon.exact_counts import ExactCounts
from solver.rashomon.kernels.expand_graph import EXPANDED_NODES
from solver.rashomon.optimum import Price, find_optimum, price_for
from solver.rashomon.question import ENDLESS, Question, check_support
from solver.rashomon.rashomon_set import RashomonSet, copies, counted_trees
from solver.rashomon.split_limit import smaller_trees
from solver.rashomon.stored_graph import StoredGraph, stored_graph
from solver.solution import Solution, Status

SHARES = (Fraction(0), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2))
"""The shares of a tolerance whose sets are found first, so that a limit leaves one of them."""


def rashomon_set(
    problem: Problem,
    lam_min: Any,
    within: Any = "0.05",
    unit: str = "relative",
    *,
    limits: Limits | None = None,
    monitor: Monitor | None = None,
    optimum: Solution | None = None,
    anytime: bool = False,
) -> RashomonSet:
    """Find all trees that are nearly as good as the best one.

    Parameters
    ----------
    problem : Problem
        A problem of classification with binary or categorical features.
    lam_min : str, int, float or Fraction
        λ, the price of a split. The result has the good trees at this λ;
        :meth:`solver.rashomon.rashomon_set.RashomonSet.at` gives those at larger λ.
    within : str, int, float or Fraction
        How much worse than the optimum a good tree may be.
    unit : {"relative", "objective", "lam"}
        What ``within`` is: a share of the optimal objective, a difference of objectives, or a
        multiple of λ.
    limits : Limits, optional
        Limits on seconds, bytes, nodes (subproblems), depth, splits and the size of leaves. Good
        trees are within the tolerance of the best tree that keeps the limits.
    monitor : Monitor, optional
        Stops the search, and receives its progress (without a state).
    optimum : Solution, optional
        The optimal solution at this λ and under these limits, if you have it. By default it is
        searched for. In both cases the ``seconds`` of this solution count towards the limit of
        seconds.
    anytime : bool
        What happens at a limit of seconds, bytes or nodes. By default it is an error. With
        ``anytime`` the search begins with smaller tolerances: 0, then an eighth, a quarter and half
        of ``within``. The result is the complete set for the largest tolerance whose search has
        ended, see :attr:`RashomonSet.status`. If the limit ends even the search for all optimal
        trees, it is an error.

    Raises
    ------
    InputError
        If an argument is wrong, or a limit is reached before all good trees are found.
    UnsupportedError
        If the problem is of regression, or has ordered features.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> good = treesweep.rashomon_set(problem, "0.05", within="0.1")
    >>> print(treesweep.export_text(next(iter(good.trees()))))
    x0 = 0: 0 (2 rows)
    x0 = 1
    |   x1 = 0: 0 (1 row)
    |   x1 = 1: 1 (1 row)
    """
    check_arguments(problem, limits, monitor)
    question, limits = Question.of(lam_min, within, unit), limits or Limits()
    _check_question(problem, question, limits, optimum)
    monitor = monitor or Monitor()
    best = optimum or find_optimum(problem, question.lam, limits, monitor)
    limits = _without_needless(limits, problem, question, best)
    price = Price(question.lam)
    if limits.splits is not None:
        price = price_for(problem, best, limits, monitor)
    spent = best.seconds + price.seconds
    search = Search(problem, price.lam, limits, monitor, best, spent)
    kept: tuple[Question, StoredGraph] | None = None
    try:
        for share in SHARES if anytime and question.within else ():
            smaller = question._replace(within=question.within * share)
            kept = smaller, _graph(search, smaller, price)
        search.expand(question.most(best.objective) + price.above)
        counts = _count(search, question, limits)
    except LimitError as error:
        if kept is None:
            raise
        found = RashomonSet.of_graph(
            problem, kept[0], best.objective, kept[1], search.seconds, limits.splits
        )
        found.status, found.asked = error.status, question.within
        return found
    return RashomonSet(problem, question, best.objective, counts, search.seconds, monitor)


def _count(search: Search, question: Question, limits: Limits) -> ExactCounts:
    """The trees of an expanded graph that keep the limit on splits."""
    problem, check = search.problem, search.check_limits
    if limits.splits is None:
        return ExactCounts(search.space, search.graph, copies(problem), check, limits.bytes)
    best, graph = search.best.objective, _small_graph(search, question)
    return counted_trees(problem, question, best, graph, limits.splits, check, limits.bytes)


def _check_question(
    problem: Problem, question: Question, limits: Limits, optimum: Solution | None
) -> None:
    """Refuse what cannot be asked, with an InputError or an UnsupportedError."""
    given = getattr(optimum, "status", None), getattr(optimum, "lam", None)
    if optimum is not None and given != (Status.OPTIMAL, question.lam):
        raise InputError(f"optimum must be an optimal solution at λ = {question.lam}; leave it out")
    check_support(problem.task, bool(problem.ordered))
    if problem.weight_error:
        raise InputError(
            "the weights have too many digits to count good trees exactly; write them with fewer"
        )
    if question.lam == 0 and limits.depth is None and limits.splits is None:
        raise InputError(ENDLESS)


def warm_up() -> None:
    """Compile all kernels, or load what was compiled before."""
    rashomon_set(Problem.from_codes([(0,), (1,)], [0, 1]), "0.1")


def _without_needless(
    limits: Limits, problem: Problem, question: Question, best: Solution
) -> Limits:
    """The limits, but one on splits only where some tree within the tolerance might exceed it.

    One of 0 or 1 is the same as one on depth.
    """
    if limits.splits is None:
        return limits
    least = Fraction(problem.unavoidable_errors) / problem.total_weight
    if least + question.lam * (limits.splits + 1) > question.most(best.objective):
        return replace(limits, splits=None)
    if limits.splits <= 1:
        depth = limits.splits if limits.depth is None else min(limits.splits, limits.depth)
        return replace(limits, splits=None, depth=depth)
    return limits


def _graph(search: Search, question: Question, price: Price) -> StoredGraph:
    """The graph of all good trees."""
    search.expand(question.most(search.best.objective) + price.above)
    if search.limits.splits is None:
        return stored_graph(search.graph)
    return _small_graph(search, question)


def _small_graph(search: Search, question: Question) -> StoredGraph:
    """The good trees among those that a search at another price has found."""
    prices = Prices.of(question.lam, search.problem.total_weight)
    order = search.graph.order[: search.graph.used[EXPANDED_NODES]]
    return smaller_trees(
        stored_graph(search.graph),
        search.space.memo.leaf[order] // search.prices.error,
        search.problem.arities,
        search.limits.splits or 0,
        (*prices[:2], prices.budget(question.most(search.best.objective))),
        search.check_limits,
    )
