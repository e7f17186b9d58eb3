"""The schema of stored rows: a row is one run of one task.

The table in ``docs/reference/store.md`` is written from it.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

VERSION = 1


class Column(NamedTuple):
    """A column of the store."""

    name: str
    type: pa.DataType
    meaning: str


_UTC = pa.timestamp("us", tz="UTC")
_TRACE = pa.list_(
    pa.struct(
        [("seconds", pa.float64()), ("objective", pa.float64()), ("lower_bound", pa.float64())]
    )
)
_PATH = pa.list_(
    pa.struct(
        [
            ("lam", pa.string()),
            ("lam_end", pa.string()),
            ("errors", pa.int64()),
            ("splits", pa.int32()),
            ("leaves", pa.int32()),
            ("depth", pa.int32()),
            ("proven", pa.bool_()),
            ("test_errors", pa.int64()),
            ("tree", pa.string()),
        ]
    )
)
_POINTS = pa.list_(pa.struct([("lam", pa.string()), ("lower_bound", pa.string())]))

COLUMNS: tuple[Column, ...] = (
    Column("schema_version", pa.int32(), "version of this table"),
    Column(
        "key", pa.string(), "SHA-256 of what determines the result: equal keys have equal results"
    ),
    Column("sweep", pa.string(), "name of the sweep"),
    Column("dataset", pa.string(), "name of the dataset"),
    Column("data_hash", pa.string(), "SHA-256 of the dataset's content"),
    Column("n_rows", pa.int64(), "rows of the whole table"),
    Column("n_train", pa.int64(), "rows trained on"),
    Column("n_test", pa.int64(), "rows tested on; 0 without validation"),
    Column("n_features", pa.int32(), "encoded features without constant and duplicate ones"),
    Column("n_features_encoded", pa.int32(), "encoded features with constant and duplicate ones"),
    Column("n_classes", pa.int32(), "classes of the whole table; 0 for regression"),
    Column("encoding", pa.string(), "name of the encoding"),
    Column("encoding_options", pa.string(), "its options with defaults: JSON, sorted"),
    Column("lam", pa.float64(), "λ, the price of a split"),
    Column("lam_exact", pa.string(), "λ as a fraction, e.g. 1/100"),
    Column(
        "lam_label",
        pa.string(),
        "λ as the sweep's file has it: 0.01, 2/n, or 0.1 = 2/n if it has both and they are equal",
    ),
    Column("solver", pa.string(), "name of the solver"),
    Column("solver_version", pa.string(), "its version"),
    Column(
        "solver_options",
        pa.string(),
        "its options with defaults, and `lam`, `proof`, `rashomon` if asked for: JSON, sorted",
    ),
    Column("fold", pa.int32(), "number of the fold from 0; null without validation"),
    Column(
        "repeat", pa.int32(), "number of the repetition; without validation, the first one is null"
    ),
    Column("validation", pa.string(), "how rows were held out: JSON, `null` without validation"),
    Column("seed", pa.int64(), "seed of the validation; null without validation"),
    Column("limits", pa.string(), "the limits that were set (seconds, bytes, …): JSON, sorted"),
    Column("status", pa.string(), "how the run ended"),
    Column("objective", pa.float64(), "loss + λ·splits on the training rows, minimised"),
    Column("objective_exact", pa.string(), "the same as a fraction"),
    Column("lower_bound", pa.float64(), "proven; null if the solver proves nothing"),
    Column("lower_bound_exact", pa.string(), "the same as a fraction"),
    Column("gap", pa.float64(), "objective − lower_bound"),
    Column("gap_exact", pa.string(), "the same as a fraction; at most `tolerance` if optimal"),
    Column("errors", pa.int64(), "misclassified weight on the training rows; null for regression"),
    Column("total_weight", pa.int64(), "weight of the training rows"),
    Column("train_accuracy", pa.float64(), "1 − errors / total_weight; null for regression"),
    Column(
        "test_accuracy",
        pa.float64(),
        "share of test rows predicted correctly; null without validation and for regression",
    ),
    Column("test_errors", pa.int64(), "test rows predicted wrongly; null as for test_accuracy"),
    Column("splits", pa.int32(), "splits of the tree; a multiway split counts as one"),
    Column("leaves", pa.int32(), "leaves of the tree"),
    Column("depth", pa.int32(), "splits on the longest path"),
    Column("iterations", pa.int64(), "passes of the solver's main loop"),
    Column("nodes", pa.int64(), "branches in the memo at the end"),
    Column("seconds", pa.float64(), "search time with earlier attempts, without compilation"),
    Column("compile_seconds", pa.float64(), "time for compiling kernels"),
    Column("peak_bytes", pa.int64(), "memory of the search's arrays"),
    Column("host", pa.string(), "machine that ran the task"),
    Column("worker", pa.string(), "address of the worker that ran it"),
    Column("attempt", pa.int32(), "1 for the first run of this key, then 2, …"),
    Column("started", _UTC, "when the run began"),
    Column("finished", _UTC, "when it ended"),
    Column("versions", pa.string(), "versions of Python and the libraries: JSON"),
    Column("git_revision", pa.string(), "revision of the code; null if not known"),
    Column("error", pa.string(), "the error with its traceback; null without one"),
    Column("trace", _TRACE, "progress of the search: seconds, objective, lower_bound"),
    Column("tree", pa.string(), "the tree: JSON, format treesweep-tree; null if there is none"),
    Column("path", _PATH, "steps of the λ-path, see below; null if not asked for"),
    Column("path_points", _POINTS, "proven lower bounds of the path and their λ; null as for path"),
    Column(
        "path_cut_by",
        pa.string(),
        "the limit that ended a search of the path, e.g. `node_limit`; null if none did",
    ),
    Column("proof", pa.string(), "path of the certificate in the sweep's folder; null if none"),
    Column("proof_bytes", pa.int64(), "size of that file"),
    Column("proof_seconds", pa.float64(), "time for making it, in addition to `seconds`"),
    Column("rashomon", pa.string(), "path of the file of all good trees; null if there is none"),
    Column("rashomon_bytes", pa.int64(), "size of that file"),
    Column("rashomon_trees", pa.string(), "number of good trees, as text: it may exceed 64 bits"),
    Column("rashomon_within", pa.string(), "the tolerance within which all trees are counted"),
    Column("rashomon_seconds", pa.float64(), "time for finding them, in addition to `seconds`"),
    Column("extra", pa.string(), "further results of the solver: JSON, sorted; null if none"),
    Column("task", pa.string(), "classification or regression"),
    Column("loss", pa.float64(), "misclassified share, or mean squared error, on training rows"),
    Column(
        "tolerance", pa.float64(), "two objectives count as equal if they differ by at most this"
    ),
    Column("train_r2", pa.float64(), "regression: share of the variance that is explained"),
    Column("train_rmse", pa.float64(), "regression: root mean squared error, in the target's unit"),
    Column("test_r2", pa.float64(), "the same on test rows; null if they all have the same target"),
    Column("test_rmse", pa.float64(), "the same on test rows; null without validation"),
    Column(
        "path_test_loss",
        pa.list_(pa.float64()),
        "regression: mean squared error on test rows, for each step of a path",
    ),
    Column(
        "path_test_r2",
        pa.list_(pa.float64()),
        "R² on test rows for each step, as in `test_r2`; null without test rows",
    ),
)

SCHEMA: pa.Schema = pa.schema(
    [pa.field(column.name, column.type) for column in COLUMNS],
    metadata={"treesweep": f"rows v{VERSION}"},
)


PROOF_CONTENT, RASHOMON_CONTENT = "proof_content", "rashomon_content"
"""The keys of the bytes of a row's files on its way to the store."""

FILES = {"proof": PROOF_CONTENT, "rashomon": RASHOMON_CONTENT}
"""The columns that name a file in the sweep's folder, and where its bytes are on the way."""
