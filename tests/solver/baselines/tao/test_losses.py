"""Tests of solver/baselines/tao/losses.py."""

from __future__ import annotations

import numpy as np
import pytest

from solver.baselines.tao.losses import Losses, Misclassified, SquaredErrors


def test_the_first_of_the_most_frequent_classes_is_predicted() -> None:
    losses = Misclassified(np.array([[2, 0, 1], [0, 3, 0], [1, 0, 0]]))
    assert losses.weights.tolist() == [3, 3, 1]
    assert losses.fit(np.arange(3)) == (0, 4)
    assert losses.fit(np.array([1])) == (1, 0)
    assert losses.costs(np.array([0, 2]), 0).tolist() == [1, 0]
    assert losses.tolerance == 0


def test_means_are_predicted() -> None:
    values = np.array([[0.0, 1.0], [1.0, 1.0], [0.5, -1.0]])
    losses = SquaredErrors(values, np.array([1, 3, 2]))
    mean, error = losses.fit(np.array([0, 1]))
    assert mean.tolist() == [0.75, 1.0]
    assert error == 0.75**2 + 3 * 0.25**2
    assert losses.costs(np.array([1, 2]), mean).tolist() == [3 / 16, 2 * (1 / 16 + 4)]
    assert 0 < losses.tolerance < 1e-10


@pytest.mark.parametrize(
    "losses",
    [
        Misclassified(np.random.RandomState(1).randint(0, 5, (40, 3)) + 1),
        SquaredErrors(np.random.RandomState(1).normal(size=(40, 2)), np.arange(40) % 5 + 1),
    ],
    ids=["classes", "numbers"],
)
def test_no_prediction_of_others_is_better(losses: Losses) -> None:
    rng = np.random.RandomState(0)
    for _ in range(20):
        rows = rng.permutation(40)[: rng.randint(1, 40)]
        prediction, errors = losses.fit(rows)
        assert losses.total(losses.costs(rows, prediction)) == pytest.approx(errors)
        for other in (losses.fit(rows[:1])[0], losses.fit(np.arange(40))[0]):
            assert losses.total(losses.costs(rows, other)) >= errors - losses.tolerance
