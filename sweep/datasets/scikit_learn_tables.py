"""The tables that come with scikit-learn, read without it: to import it takes two seconds."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

TARGET = "target"

_SIZES = ("mean", "error", "worst")
_MEASURED = (
    "radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity",
    "concave points", "symmetry", "fractal dimension",
)  # fmt: skip
FEATURES: dict[str, tuple[str, ...]] = {
    "iris": (
        "sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)",
    ),
    "wine": (
        "alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols",
        "flavanoids", "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue",
        "od280/od315_of_diluted_wines", "proline",
    ),
    "breast_cancer": tuple(
        f"{measured} error" if size == "error" else f"{size} {measured}"
        for size in _SIZES
        for measured in _MEASURED
    ),
    "digits": tuple(f"pixel_{row}_{column}" for row in range(8) for column in range(8)),
    "diabetes": ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"),
}  # fmt: skip
_FILES = {"wine": "wine_data"}


def bundled(name: str) -> Callable[[], pd.DataFrame]:
    """What makes a table of scikit-learn, with names as labels; that of diabetes is unscaled."""

    def make() -> pd.DataFrame:
        try:
            return _read(name, _folder())
        except (OSError, PackageNotFoundError):  # other versions may keep the data elsewhere
            return _load(name)

    return make


def _folder() -> Path:
    """Where scikit-learn's data are."""
    return Path(str(distribution("scikit-learn").locate_file("sklearn/datasets/data")))


def _read(name: str, folder: Path) -> pd.DataFrame:
    """A table from scikit-learn's files. The first line of some is their size and the labels."""
    if name == "diabetes":
        data, target = (
            np.loadtxt(folder / f"diabetes_{part}.csv.gz") for part in ("data_raw", "target")
        )
        return _table(name, data, target)
    if name == "digits":
        data = np.loadtxt(folder / "digits.csv.gz", delimiter=",")
        return _table(name, data[:, :-1], data[:, -1].astype(int))
    path = folder / f"{_FILES.get(name, name)}.csv"
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    labels = first.split(",")[2:]
    data = np.array([line.split(",") for line in lines], dtype=np.float64)
    return _table(name, data[:, :-1], [labels[int(code)] for code in data[:, -1]])


def _table(name: str, data: np.ndarray[Any, np.dtype[np.float64]], target: Any) -> pd.DataFrame:
    return pd.DataFrame(data, columns=list(FEATURES[name])).assign(**{TARGET: target})


def _load(name: str) -> pd.DataFrame:
    """A table from scikit-learn itself."""
    import sklearn.datasets

    if name == "diabetes":
        bunch = sklearn.datasets.load_diabetes(as_frame=True, scaled=False)
        return _table(name, bunch.data.to_numpy(), bunch.target.to_numpy())
    bunch = getattr(sklearn.datasets, f"load_{name}")(as_frame=True)
    labels = [str(name) if isinstance(name, str) else int(name) for name in bunch.target_names]
    return _table(name, bunch.data.to_numpy(), [labels[code] for code in bunch.target])
