"""The bit vectors hold exactly the problem."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from solver.branches.paper.bit_vectors import lay_out
from solver.problem.problem import Problem


def rows_of(words: np.ndarray) -> np.ndarray:
    return np.unpackbits(words.view(np.uint8), bitorder="little").astype(bool)


def weights_of(layout) -> np.ndarray:
    """Weight of every bit position, from the planes."""
    valid = rows_of(layout.rows)
    if not len(layout.planes):
        return valid * layout.unit
    bits = np.array([rows_of(plane) for plane in layout.planes])
    return (bits * (1 << np.arange(len(bits)))[:, None]).sum(axis=0) * layout.unit


@given(st.data())
def test_every_code_holds_the_class_weights_of_its_rows(data):
    n = data.draw(st.integers(1, 150))
    seed = data.draw(st.integers(0, 10**6))
    heaviest = data.draw(st.sampled_from([1, 3, 1000]))
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 3, (n, 3))
    target = generator.integers(0, 3, n)
    weights = generator.integers(1, heaviest + 1, n)
    problem = Problem.from_codes(codes, target, weights=weights, classes=range(3))
    layout = lay_out(problem)
    weight = weights_of(layout)
    for feature in range(problem.n_features):
        for code in range(int(problem.arities[feature])):
            mask = rows_of(layout.masks[layout.offsets[feature] + code])
            expected = problem.counts[problem.codes[:, feature] == code].sum(axis=0)
            found = [
                weight[layout.segments[k] * 64 : layout.segments[k + 1] * 64][
                    mask[layout.segments[k] * 64 : layout.segments[k + 1] * 64]
                ].sum()
                for k in range(3)
            ]
            assert found == expected.tolist()
    assert weight[rows_of(layout.rows)].sum() == problem.total_weight


def test_equal_weights_need_no_planes():
    problem = Problem.from_codes([[0], [1], [0]], [0, 1, 1], weights=[7, 7, 7])
    layout = lay_out(problem)
    assert layout.planes.shape[0] == 0
    assert layout.unit == 7


def test_a_class_without_rows_has_no_words():
    problem = Problem.from_codes([[0], [1]], [0, 2], classes=["a", "b", "c"])
    assert lay_out(problem).segments.tolist() == [0, 1, 1, 2]
