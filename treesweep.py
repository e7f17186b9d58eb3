"""treesweep: provably optimal decision trees, and sweeps of them on a laptop or a cluster.

``import treesweep`` gives the public Python API. Scikit-learn, Dask and matplotlib take long to
import, so they are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module, util
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
    "RashomonSet",
    "Snapshot",
    "Solution",
    "Status",
    "Step",
    "Tree",
    "fit_encoder",
    "get_solver",
    "rashomon_set",
    "register",
    "regularization_path",
    "solve",
    # Trees for people
    "export_dot",
    "export_python",
    "export_sql",
    "export_svg",
    "export_text",
    "plot_tree",
    # scikit-learn
    "BranchesClassifier",
    "OSDTClassifier",
    "ProperTreeClassifier",
    "QuantBnBClassifier",
    "QuantBnBRegressor",
    "to_sklearn",
    # Sweeps
    "Address",
    "Best",
    "Local",
    "Outcome",
    "Slurm",
    "Ssh",
    "SweepResults",
    "SweepStatus",
    "load_cluster",
    "load_dataset",
    "load_spec",
    "parse_spec",
    "read_plan",
    "read_results",
    "resume_sweep",
    "run_sweep",
    "status",
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
    RashomonSet,
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
    rashomon_set,
    register,
    regularization_path,
    solve,
)
from solver.encodings import fit_encoder  # noqa: E402
from solver.trees.export import export_svg  # noqa: E402
from solver.trees.export_code import export_python, export_sql  # noqa: E402

import_module("solver.notebook_html")  # notebooks show objects by it

if TYPE_CHECKING:
    from pipelines.report import write_report
    from pipelines.sweeps import (
        Best,
        SweepResults,
        read_results,
        resume_sweep,
        run_sweep,
        status,
    )
    from solver.estimators import (
        BranchesClassifier,
        OSDTClassifier,
        ProperTreeClassifier,
        QuantBnBClassifier,
        QuantBnBRegressor,
        to_sklearn,
    )
    from sweep.clusters import Address, Local, Slurm, Ssh, load_cluster
    from sweep.datasets import load_dataset
    from sweep.events import Outcome
    from sweep.spec.spec import load_spec, parse_spec
    from sweep.store.plan_file import read_plan
    from sweep.store.sweep_status import SweepStatus


_SLOW = {
    "pipelines.report": ["write_report"],
    "pipelines.sweeps": [
        "Best",
        "SweepResults",
        "read_results",
        "resume_sweep",
        "run_sweep",
        "status",
    ],
    "solver.estimators": [
        *(name for name in __all__ if name.endswith(("Classifier", "Regressor"))),
        "to_sklearn",
    ],
    "sweep.clusters": ["Address", "Local", "Slurm", "Ssh", "load_cluster"],
    "sweep.datasets": ["load_dataset"],
    "sweep.events": ["Outcome"],
    "sweep.spec.spec": ["load_spec", "parse_spec"],
    "sweep.store.plan_file": ["read_plan"],
    "sweep.store.sweep_status": ["SweepStatus"],
}


def __getattr__(name: str) -> Any:
    """Import what is slow to import when it is first used."""
    for module, names in _SLOW.items():
        if name in names:
            globals()[name] = found = getattr(import_module(module), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
