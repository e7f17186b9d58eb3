"""The models of ``validation``: how rows are held out for testing."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from sweep.spec.yaml_reader import Strict


class NoValidation(Strict):
    """Train and score on the whole table; repeat it to see how the time varies."""

    kind: Literal["none"]
    repeats: int = Field(default=1, ge=1, le=1000)  #: runs of each task, to see how times vary


class Holdout(Strict):
    """Hold out a share of the rows for testing."""

    kind: Literal["holdout"]
    test: float = Field(default=0.25, gt=0, lt=1)  #: share of the rows
    stratify: bool = False  #: keep the shares of the classes
    seed: int | None = Field(default=None, ge=0, lt=2**32)  #: by default the sweep's


class KFold(Strict):
    """Hold out each row once per repetition."""

    kind: Literal["kfold"]
    folds: int = Field(default=5, ge=2, le=1000)  #: parts of the rows
    repeats: int = Field(default=1, ge=1, le=1000)  #: new partitions of the rows
    stratify: bool = False  #: keep the shares of the classes
    seed: int | None = Field(default=None, ge=0, lt=2**32)  #: by default the sweep's


class Given(Strict):
    """Hold out the test rows that each dataset names (``test: {split: test}``)."""

    kind: Literal["given"]


Validation: TypeAlias = NoValidation | Holdout | KFold | Given
