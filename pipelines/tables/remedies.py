"""Remedies in messages as options of the command line."""

from __future__ import annotations

import shlex
from typing import Any

from solver.features.category_values import as_yaml
from sweep.spec.error_hints import LIMIT, with_overrides


def as_option(name: str, wish: Any) -> str:
    """A column's entry as an option of the command line."""
    return f"--column {shlex.quote(f'{name}={as_yaml(wish)}')}"


def as_options(message: str) -> str:
    """A message with options of the command line in place of arguments."""
    return LIMIT.sub(r"--max-\1 \2", with_overrides(message, as_option))
