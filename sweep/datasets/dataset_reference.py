"""References to datasets, in a sweep's YAML and on the command line."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from solver.errors import InputError
from solver.features.text_parsing import PLAIN, TextFormat
from solver.features.unicode_check import is_storable
from sweep.datasets.builtin import BUILTINS
from sweep.datasets.files import READERS, UTF8, ending_of
from sweep.datasets.openml import PREFIX

ColumnKind: TypeAlias = Literal["category", "number", "date", "drop"]


class ColumnOverride(BaseModel):
    """How to read a column instead of the default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: ColumnKind | None = None  #: by default as the values look
    missing: list[str | int | float | bool] = Field(default_factory=list)
    """Values that mean missing."""
    decimal: str = PLAIN.decimal  #: the decimal point of numbers in text
    thousands: str = PLAIN.thousands  #: what separates thousands
    unit: str = PLAIN.unit  #: text next to each number, e.g. % or €
    format: str = PLAIN.format
    """The format of dates in text, as in ``strptime``, e.g. ``%d/%m/%Y``."""

    @property
    def form(self) -> TextFormat:
        """The format; one that is not the usual one needs the column as text."""
        return TextFormat(self.decimal, self.thousands, self.unit, self.format)


class DatasetRef(BaseModel):
    """A dataset by name or by file.

    Parameters
    ----------
    name : str
        A built-in dataset, ``openml:61``, ``openml:iris``, ``openml:iris@2``; or the name of the
        table at ``path`` (by default the file's name without its suffix).
    path : Path, optional
        A file. In a sweep's file, a relative path starts at the folder of that file; otherwise at
        the current directory.
    target : str or list of str, optional
        The target column. A file needs one. Regression may have several.
    task : {"classification", "regression"}
        Whether the target is a label or a number.
    test : mapping, optional
        For the validation ``given``: a column, and the value that it has on test rows, e.g.
        ``{split: test}``. The column is not used as a feature.
    columns : dict
        How columns are read: ``category``, ``number``, ``date``, ``drop``, or a mapping with
        ``kind``, ``missing`` and the format of numbers in text (``decimal``, ``thousands``,
        ``unit``) or of dates (``format``).
    separator : str, optional
        The delimiter of a text file; by default the one that its first lines have.
    charset : str
        The character encoding of a text file, e.g. ``latin-1``.
    sheet : str, optional
        The sheet of an Excel file; needed if it has several.
    source : str, optional
        The built-in dataset, or the one of OpenML, e.g. ``openml:61``. Needed only if ``name`` is a
        name of your own.
    features : list of str, optional
        The columns to use as features, in this order; by default all.
    first : int, optional
        Use only this many features.
    replicate : int
        The number of copies of the table, one after the other.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    path: Path | None = None
    target: str | list[str] | None = None
    task: Literal["classification", "regression"] = "classification"
    test: dict[str, str | int | float | bool] | None = Field(
        default=None, min_length=1, max_length=1
    )
    columns: dict[str, ColumnKind | ColumnOverride] = Field(default_factory=dict)
    separator: str | None = Field(default=None, min_length=1, max_length=1)
    charset: str = UTF8
    sheet: str | None = Field(default=None, min_length=1)
    source: str | None = None
    features: list[str] | None = Field(default=None, min_length=1)
    first: int | None = Field(default=None, ge=1, strict=True)
    replicate: int = Field(default=1, ge=1, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _spell_out(cls, value: Any) -> Any:
        return _fields(value) if isinstance(value, str) else value

    @field_validator("columns", mode="before")
    @classmethod
    def _none_yet(cls, value: Any) -> Any:
        return {} if value is None else value  # in YAML: nothing but comments below it

    @model_validator(mode="after")
    def _check(self) -> DatasetRef:
        if self.path is None:
            for name in ("separator", "charset", "sheet"):
                if name in self.model_fields_set:
                    raise ValueError(f"{name} is for a dataset with a path")
            if self.origin not in BUILTINS and not self.origin.startswith(PREFIX):
                raise ValueError(unknown_name(self.origin))
            if self.origin in BUILTINS and self.target is None:
                task = BUILTINS[self.origin].task
                if "task" in self.model_fields_set and self.task != task:
                    raise ValueError(f"the built-in dataset {self.origin!r} is for {task}")
                object.__setattr__(self, "task", task)
        elif self.source is not None:
            raise ValueError("a dataset has a path or a source, not both; leave one out")
        if isinstance(self.target, list) and self.task == "classification":
            raise ValueError("classification has one target; with several, task: regression")
        for column, value in (self.test or {}).items():
            if isinstance(value, float) and math.isnan(value):
                raise ValueError(
                    f"test: {column} is not a number; name the value that test rows have, not "
                    "one that is missing"
                )
        if not self.name:
            name = self.origin if self.path is None else self.path.name.removesuffix(".gz")
            object.__setattr__(self, "name", name if self.path is None else Path(name).stem)
        for text in (self.name, str(self.path or "")):
            if not is_storable(text):
                raise ValueError(f"the name {text!a} holds a lone surrogate; rename it")
        return self

    @property
    def origin(self) -> str:
        """The built-in dataset or that of OpenML, without a path."""
        return self.source or self.name

    @property
    def targets(self) -> tuple[str, ...]:
        """The named target columns."""
        if self.target is None:
            return ()
        return (self.target,) if isinstance(self.target, str) else tuple(self.target)

    @property
    def is_part(self) -> bool:
        """Whether rows are repeated or features dropped, see :meth:`Dataset.part`."""
        return (self.features, self.first, self.replicate) != (None, None, 1)

    @property
    def is_fetched(self) -> bool:
        """Whether it comes from OpenML."""
        return self.path is None and self.origin.startswith(PREFIX)

    def from_directory(self, directory: Path) -> DatasetRef:
        """The same dataset with an absolute path, starting at a directory."""
        if self.path is None:
            return self
        path = (directory / self.path.expanduser()).resolve()
        return self.model_copy(update={"path": path})

    @property
    def forms(self) -> dict[str, TextFormat]:
        """The columns of a text file that must stay text, since it has a format of its own."""
        wishes = self.columns.items()
        return {n: w.form for n, w in wishes if isinstance(w, ColumnOverride) and w.form}

    def overrides(self) -> dict[str, Any]:
        """The overrides for :func:`solver.features.column_inference.infer_columns`."""
        return {
            name: wish if isinstance(wish, str) else wish.model_dump(exclude_defaults=True)
            for name, wish in self.columns.items()
        }


def _fields(text: str) -> dict[str, Any]:
    """The field of a bare text: a name, or the path of a file."""
    known = text in BUILTINS or text.startswith(PREFIX)
    is_path = not known and ("/" in text or ending_of(Path(text)) in READERS)
    return {"path": text} if is_path else {"name": text}


def unknown_name(name: str) -> str:
    """The message about an unknown name."""
    if not name:
        return "a dataset needs a name or a path"
    close = difflib.get_close_matches(name, BUILTINS, 2)
    hint = f"did you mean {' or '.join(close)}? There" if close else "there"
    return (
        f"there is no dataset {name!r}; {hint} are: {', '.join(BUILTINS)}, {PREFIX}ID, "
        f"{PREFIX}NAME, and files ({', '.join(READERS)})"
    )


def parse_reference(value: str | Path | Mapping[str, Any] | DatasetRef, **more: Any) -> DatasetRef:
    """Read a name, a path, or the fields of :class:`DatasetRef`; ``more`` are further fields.

    Raises InputError if there is no such dataset, or a field is unknown or wrong.
    """
    if isinstance(value, DatasetRef):
        fields: Mapping[str, Any] = value.model_dump(exclude_defaults=True)
    elif isinstance(value, Path):
        fields = {"path": value}
    else:
        fields = _fields(value) if isinstance(value, str) else value
    try:
        return DatasetRef.model_validate({**fields, **more})
    except ValidationError as error:
        first = error.errors()[0]
        # The alternatives of a union are no part of what the user wrote.
        written = [str(part) for part in first["loc"] if not str(part).startswith("literal[")]
        where = ".".join(part for part in written if part != ColumnOverride.__name__)
        if first["type"] == "extra_forbidden":
            known = ", ".join(DatasetRef.model_fields)
            raise InputError(f"a dataset has no field {where!r}; it has: {known}") from None
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(f"dataset: {where}: {message}" if where else message) from None
