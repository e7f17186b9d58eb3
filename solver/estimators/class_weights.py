"""Weights of classes, as scikit-learn's ``class_weight`` gives them, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.features.category_values import Category, key_of
from solver.objective.integer_weights import WholeWeights, whole_weights

ClassWeight: TypeAlias = Mapping[Any, Any] | str | None
"""``"balanced"``, a weight for each label, or None for equal weights."""


def weigh_classes(
    given: ClassWeight, labels: Sequence[Category], codes: NDArray[Any], weights: WholeWeights
) -> WholeWeights:
    """Multiply the weight of each row by that of its class.

    Parameters
    ----------
    given : mapping, "balanced" or None
        ``balanced`` is rows / (classes × rows of the class), whatever the weights of the rows.
    labels : sequence
        The classes.
    codes : array of int, shape (rows,)
        The class of each row.
    weights : WholeWeights

    Raises
    ------
    InputError
        If the parameter is none of these, names a label that is no class while a class has no
        weight, or the products have too many digits.
    """
    if given is None:
        return weights
    if weights.error:
        raise InputError(
            "sample_weight has too many digits to be multiplied by class_weight",
            "round the weights to fewer digits",
        )
    factors = _factors(given, labels, codes)
    pairs = np.stack([codes, weights.whole])
    distinct, places = np.unique(pairs, axis=1, return_inverse=True)
    products = np.empty(distinct.shape[1], dtype=object)
    products[:] = [
        factors[code] * Fraction(whole) / weights.scale for code, whole in distinct.T.tolist()
    ]
    return whole_weights(products[places.reshape(-1)])


def _factors(
    given: Mapping[Any, Any] | str, labels: Sequence[Category], codes: NDArray[Any]
) -> list[Fraction]:
    """The weight of each class."""
    if isinstance(given, str) and given == "balanced":
        counts = np.bincount(codes, minlength=len(labels)).tolist()
        return [Fraction(len(codes), len(labels) * count) for count in counts]
    if not isinstance(given, Mapping):
        raise InputError(
            f"class_weight = {given!r} must be 'balanced' or a dict",
            "write e.g. class_weight={'yes': 5, 'no': 1}",
        )
    known = {_key(label): weight for label, weight in given.items()}
    without = [label for label in labels if key_of(label) not in known]
    foreign = [label for label in given if _key(label) not in {key_of(own) for own in labels}]
    if foreign and without:
        raise InputError(
            f"class_weight has the label {foreign[0]!r}, which is no class of y, and none for "
            f"{without[0]!r}; the classes are {', '.join(map(repr, labels))}"
        )
    return [_number(known.get(key_of(label), 1)) for label in labels]


def _key(label: Any) -> Any:
    """A label as its users write it is equal to the class that it names."""
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    return key_of(plain)


def _number(weight: Any) -> Fraction:
    """A weight by its shortest decimal."""
    try:
        found = Fraction(str(weight))
    except (ValueError, ZeroDivisionError):
        found = Fraction(-1)
    if found < 0 or isinstance(weight, (str, bool)):
        raise InputError(f"class_weight has the weight {weight!r}; give numbers that are 0 or more")
    return found
