"""treesweep: provably optimal decision trees, and sweeps of them on a laptop or a cluster.

The public Python API in one module: ``import treesweep``. What takes long to import (scikit-learn,
Dask, matplotlib) is imported when it is first used.
"""

from __future__ import annotations

from importlib import util
from pathlib import Path as _FilePath
from typing import TYPE_CHECKING, Any

__all__ = [
    # One problem
    "ENCODINGS",
    "SOLVERS",
    "Encoder",
    "Limits",
    "Monitor",
    "Path",
    "Problem",
    "Snapshot",
    "Solution",
    "Status",
    "Step",
    "Tree",
    "get_solver",
    "regularization_path",
    "solve",
    # Trees for people
    "export_dot",
    "export_svg",
    "export_text",
    "plot_tree",
    # scikit-learn
    "BranchesClassifier",
    "OSDTClassifier",
    "ProperTreeClassifier",
    "QuantBnBClassifier",
    "QuantBnBRegressor",
    # Sweeps
    "load_dataset",
    "load_spec",
    "parse_spec",
    "read_results",
    "resume_sweep",
    "run_sweep",
    "write_report",
    # Errors
    "InputError",
    "UnsupportedError",
    "__version__",
]

__version__ = "0.1.0"


def _refuse_hidden_packages() -> None:
    """Refuse a module of the user's that Python finds before one of our packages.

    Raises
    ------
    ImportError
        With the file's path: a message about a missing name would not say what is wrong.
    """
    here = _FilePath(__file__).resolve().parent
    for name in ("solver", "sweep", "pipelines"):
        found = util.find_spec(name)
        if found is None or found.origin is None:
            raise ImportError(f"treesweep's package {name!r} is not installed beside {__file__}")
        if _FilePath(found.origin).resolve().parent.parent != here:
            raise ImportError(
                f"{found.origin} hides treesweep's package {name!r}: rename that file, "
                "or start Python in another folder"
            )


_refuse_hidden_packages()

from solver import (  # noqa: E402 - only now is it known to be ours
    ENCODINGS,
    SOLVERS,
    Encoder,
    InputError,
    Limits,
    Monitor,
    Path,
    Problem,
    Snapshot,
    Solution,
    Status,
    Step,
    Tree,
    UnsupportedError,
    export_dot,
    export_text,
    get_solver,
    plot_tree,
    regularization_path,
    solve,
)
from solver.trees.export import export_svg  # noqa: E402

if TYPE_CHECKING:
    from pipelines.report import write_report
    from solver.estimators import (
        BranchesClassifier,
        OSDTClassifier,
        ProperTreeClassifier,
        QuantBnBClassifier,
        QuantBnBRegressor,
    )
    from sweep.datasets import load_dataset
    from sweep.graph.engine import resume_sweep, run_sweep
    from sweep.spec.spec import load_spec, parse_spec
    from sweep.store.results import read_results


def __getattr__(name: str) -> Any:
    """Import what is slow to import when it is first asked for."""
    module: Any
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name.endswith(("Classifier", "Regressor")):
        import solver.estimators as module
    elif name in ("run_sweep", "resume_sweep"):
        import sweep.graph.engine as module
    elif name in ("load_spec", "parse_spec"):
        import sweep.spec.spec as module
    elif name == "read_results":
        import sweep.store.results as module
    elif name == "load_dataset":
        import sweep.datasets as module
    else:
        import pipelines.report as module
    found = globals()[name] = getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
