"""Tables from OpenML. A cache makes the second time work without a network."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pandas as pd
import platformdirs

from solver.errors import InputError, one_line

PREFIX = "openml:"


def cache_directory() -> Path:
    """The folder of downloads: ``$TREESWEEP_CACHE``, or the platform's cache directory."""
    chosen = os.environ.get("TREESWEEP_CACHE")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("treesweep")


def read_openml(reference: str, target: str | None = None) -> tuple[pd.DataFrame, str]:
    """Fetch a table and its target's name from OpenML or from the cache.

    ``reference`` is ``openml:61``, ``openml:iris@2`` or ``openml:iris`` (oldest active version).
    ``target`` is by default the one that OpenML names. Raises InputError if the table is neither in
    the cache nor on OpenML, or has no single target and none is given.
    """
    name, at, version = reference.removeprefix(PREFIX).partition("@")
    which: dict[str, Any] = {"data_id": int(name)} if name.isdecimal() else {"name": name}
    if not name or at:
        if not (name and version.isdecimal()) or "data_id" in which:
            raise InputError(
                f"dataset {reference!r}: write openml:ID, openml:NAME or openml:NAME@2"
            )
        which["version"] = int(version)
    cache = cache_directory()
    from sklearn.datasets import fetch_openml  # slow to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            bunch = fetch_openml(
                **which,
                data_home=cache,
                target_column="default-target" if target is None else target,
                as_frame=True,
                # The default parser fails on labels such as 1 and 2.
                parser="liac-arff",
                n_retries=1,
            )
        except URLError as error:
            raise InputError(
                f"dataset {reference!r} is not in the cache {cache} and OpenML cannot be reached "
                f"({error.reason}); fetch it once with a network, or use a file"
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = one_line(error, 200)
            raise InputError(f"dataset {reference!r} cannot be read: {reason}") from None
    if target is None:
        names = list(bunch.target_names)
        if len(names) != 1:
            columns = ", ".join(map(str, bunch.frame.columns))
            raise InputError(
                f"dataset {reference!r} has {len(names)} targets on OpenML; choose one with "
                f"target, of: {columns}"
            )
        target = str(names[0])
    return bunch.frame, target
