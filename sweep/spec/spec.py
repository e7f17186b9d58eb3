"""The models of a sweep's YAML."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    StringConstraints,
    field_validator,
    model_validator,
)

from solver.catalogue import SOLVERS
from solver.encodings import ENCODINGS
from solver.encodings.auto_encoding import AUTO
from solver.errors import InputError
from solver.features.number_format import count
from solver.features.unicode_check import check_storable
from solver.limits import Limits
from solver.options import Option
from solver.search_shards import Shard
from solver.trees.tree import TaskType
from sweep.datasets.dataset_reference import DatasetRef
from sweep.spec.folds import NoValidation, Validation
from sweep.spec.lambda_axis import Axis, LambdaItem, as_items, depend_on_rows, expand
from sweep.spec.rashomon_entry import RashomonEntry
from sweep.spec.requested_outputs import (
    LAM,
    PATH,
    PROOF,
    RASHOMON,
    SHARDS,
    asked_shards,
    asks_division,
    own_options,
    with_asks,
)
from sweep.spec.shard_checks import MOST_SHARDS, check_shards, is_divided, solvers_that_can
from sweep.spec.yaml_reader import (
    Strict,
    YamlFile,
    parse_yaml,
    problem,
    read_yaml,
    unknown,
    validate,
)

Scalar: TypeAlias = str | int | float | bool | None

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]*$", max_length=100)]

UNCERTIFIED = ("splits", "min_leaf_size")
"""Limits without certificates: a certificate covers a limit on depth only."""

_SIZES = ("replicate", "first")
"""The sizes of a dataset that may be lists."""

_LIMIT_NAMES = ("seconds", "memory", "nodes", "depth", "splits", "min_leaf_size")


@dataclass(frozen=True)
class Choice:
    """One encoding or solver with its options."""

    name: str
    options: dict[str, Any]  # with defaults, and with those of sweep.spec.requested_outputs
    limits: dict[str, Any]  # of this choice alone, by the names of solver.limits.Limits

    @property
    def shards(self) -> int:
        """The number of shards of each task."""
        return asked_shards(self.options)

    def divides(self, lam: Fraction, task: TaskType) -> bool:
        """Whether a running task of this λ may be divided among idle workers."""
        if not asks_division(self.options) or "nodes" in self.limits:
            return False
        limits = Limits(**self.limits)
        return SOLVERS[self.name](**own_options(self.options)).divides(lam, limits, task)


class EncodingEntry(Strict):
    """``onehot`` or ``{encoding: quantiles, k: [4, 8]}``."""

    encoding: str  #: its name, or auto
    options: dict[str, list[Scalar]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _collect_options(cls, data: Any) -> Any:
        if isinstance(data, str):
            data = {"encoding": data}
        if not isinstance(data, dict) or "encoding" not in data:
            return data
        name = data["encoding"]
        if name not in (AUTO, *ENCODINGS):
            raise unknown(name, (*ENCODINGS, AUTO), "encoding", "encoding")
        given = {key: value for key, value in data.items() if key != "encoding"}
        if name == AUTO:
            if given:
                raise problem(f"encoding 'auto' has no options; name one of {', '.join(ENCODINGS)}")
            return {"encoding": AUTO}
        for key in given:
            if key not in ENCODINGS[name].options:
                raise unknown(key, ENCODINGS[name].options, f"option of encoding {name!r}:", key)
        options = {key: _as_list(value, key) for key, value in given.items()}
        for choice in _product(options):
            _checked(ENCODINGS[name].check_options, choice, None)
        return {"encoding": name, "options": options}

    def expand(self) -> Iterator[Choice]:
        """One choice for each combination of options."""
        if self.encoding == AUTO:
            yield Choice(AUTO, {}, {})
            return
        for options in _product(self.options):
            yield Choice(self.encoding, ENCODINGS[self.encoding].check_options(options), {})


class SolverEntry(Strict):
    """``branches`` or ``{solver: branches, options: {depth: [null, 4]}}``.

    Options may include limits, which then hold for this solver alone. ``lam: path`` asks for the
    λ-path from the least λ instead of a tree for each λ, ``proof: true`` for a certificate with
    each row, ``rashomon: {within: 0.05}`` for all good trees. ``ablate`` names switches of the
    solver, or ``all``: each choice is repeated with one of them flipped. ``shards`` divides each
    task among workers.
    """

    solver: str  #: its name, or auto
    options: dict[str, list[Scalar]] = Field(default_factory=dict)  #: its options, and limits
    ablate: list[str] = Field(default_factory=list)
    """Switches to flip, one at a time. ``all`` stands for all switches that are on by default."""
    lam: str | None = None  #: path: the exact λ-path instead of a tree for each λ
    proof: bool = False  #: store a certificate with each row
    rashomon: RashomonEntry | None = None  #: find all good trees of each task
    shards: Annotated[int, Field(ge=1, le=MOST_SHARDS)] | Literal["auto"] = 1
    """The number of parts that each task is divided into. With ``auto`` a task is divided while it
    runs, if workers are idle."""

    @model_validator(mode="before")
    @classmethod
    def _names_are_known(cls, data: Any) -> Any:
        if isinstance(data, str):
            data = {"solver": data}
        if not isinstance(data, dict) or "solver" not in data:
            return data
        name, given = data["solver"], data.get("options") or {}
        if name not in (AUTO, *SOLVERS):
            raise unknown(name, (*SOLVERS, AUTO), "solver", "solver")
        _check_asks(name, data)
        if not isinstance(given, dict):
            return data
        allowed = (*_options(name), *_LIMIT_NAMES)
        for key in given:
            if key not in allowed:
                raise problem_below("options", unknown(key, allowed, "option", key))
        options = {key: _as_list(value, "options", key) for key, value in given.items()}
        entry = {**data, "options": options, "ablate": _switches(name, data.get("ablate"))}
        for choice in _ablated(name, options, entry["ablate"]):
            _checked(lambda chosen: _split_options(name, chosen), choice, "options")
            if is_divided(data):
                _checked(lambda c: _check_part(name, c, asks_division(data)), choice, SHARDS)
        return entry

    def expand(self, seed: int) -> Iterator[Choice]:
        """One choice for each combination of options; ``seed`` is the sweep's."""
        if "seed" in _options(self.solver):
            seeded: dict[str, list[Scalar]] = {"seed": [seed], **self.options}
        else:
            seeded = self.options
        for given in _ablated(self.solver, seeded, self.ablate):
            settings, limits = _split_options(self.solver, given)
            good = None if self.rashomon is None else self.rashomon.model_dump()
            options = with_asks(settings, self.lam, self.proof, good, self.shards)
            yield Choice(self.solver, options, limits)


def _options(solver: str) -> Mapping[str, Option]:
    """A solver's own options: none of one that is to be chosen."""
    return {} if solver == AUTO else SOLVERS[solver].options


def _switches(solver: str, given: Any) -> list[str]:
    """The switches of a solver that an entry ablates."""
    known = {k: v.default for k, v in _options(solver).items() if isinstance(v.default, bool)}
    if given is None:
        return []
    if not known:
        raise problem(f"solver {solver!r} has no switches to ablate", "ablate")
    if given == "all":
        return [key for key, default in known.items() if default]
    names = given if isinstance(given, list) else [given]
    for name in names:
        if name not in known:
            raise unknown(name, (*known, "all"), f"switch of solver {solver!r}:", "ablate")
    return names


def _ablated(
    solver: str, options: Mapping[str, list[Any]], switches: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Every combination of options, and each again with one switch flipped."""
    usual = _options(solver)
    for choice in _product(options):
        yield choice
        for name in switches:
            yield {**choice, name: not choice.get(name, usual[name].default)}


def _check_asks(solver: str, data: Mapping[str, Any]) -> None:
    """Refuse a λ or a proof that the solver cannot give."""
    if LAM in data and data[LAM] != PATH:
        raise problem(
            f"{data[LAM]!r} cannot stand here; write 'lam: path' for the whole λ-path, and single "
            "λ under 'lambdas'",
            LAM,
        )
    if data.get(PROOF) is True and (solver == AUTO or not SOLVERS[solver].certifies):
        able = solvers_that_can(name for name, kind in SOLVERS.items() if kind.certifies)
        raise problem(f"solver {solver!r} cannot give a proof; {able}", PROOF)
    if data.get(RASHOMON) is not None:
        _check_rashomon(solver, data)
    check_shards(solver, data)


def _check_rashomon(solver: str, data: Mapping[str, Any]) -> None:
    """Refuse good trees where no optimum is proven, or another one than that of the whole task."""
    if solver == AUTO or not SOLVERS[solver].capabilities.proves:
        able = solvers_that_can(name for name, kind in SOLVERS.items() if kind.capabilities.proves)
        why = f"solver {solver!r} cannot prove which trees are good; {able}"
    elif LAM in data:
        why = "good trees are counted at single λ, not along a λ-path; leave out one of the two"
    elif is_divided(data):
        why = "good trees are not counted in shards; leave out one of the two"
    else:
        return
    raise problem(why, RASHOMON)


def _check_part(solver: str, given: Mapping[str, Any], at_work: bool) -> None:
    """Let a solver refuse shards with these options, or its division at work."""
    settings, _ = _split_options(solver, given)
    part = SOLVERS[solver](**settings).part(Shard(0, 2))
    if at_work and not part.divides(Fraction(1), Limits()):
        raise InputError(
            f"solver {solver!r} with these options cannot be divided while it runs; write the "
            "number of shards"
        )


def _split_options(solver: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A solver's own options with their defaults, and the limits among the options."""
    own = {key: value for key, value in given.items() if key in _options(solver)}
    limits = LimitsEntry.model_validate({k: v for k, v in given.items() if k not in own})
    return {} if solver == AUTO else SOLVERS[solver].check_options(own), limits.given()


def _as_list(value: Any, *at: str) -> list[Any]:
    values = value if isinstance(value, list) else [value]
    if not values:
        raise problem("the list is empty; give it at least one entry", *at)
    for item in values:
        if isinstance(item, (list, dict)):
            raise problem(
                "an option is a word, a number, true, false or null, or a list of them", *at
            )
    return values


def one_or_more(value: Any) -> Any:
    """A single entry as a list of one; nothing stays nothing."""
    return value if value is None or isinstance(value, list) else [value]


def _product(options: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*options.values()):
        yield dict(zip(options, values, strict=True))


def _checked(check: Any, options: dict[str, Any], at: str | None) -> None:
    try:
        check(options)
    except InputError as error:
        raise problem(str(error), at) from None


def problem_below(part: str, error: Any) -> Any:
    """The same error, one key deeper."""
    return problem(error.context["message"], part, *error.context["at"])


class LimitsEntry(Strict):
    """``{seconds: 300, memory: 4GiB, depth: 5}``: limits of each run and of its tree."""

    seconds: float | None = None  #: search time, including interrupted attempts
    memory: int | None = None  #: bytes of the search's arrays, also as 512MiB or 4GiB
    nodes: int | None = None  #: branches in the search's memo
    depth: int | None = None  #: splits on the longest path of the tree
    splits: int | None = None  #: splits of the tree
    min_leaf_size: int | None = None  #: the least weight of a leaf

    @field_validator("seconds", "memory", "nodes", "depth", "splits", "min_leaf_size")
    @classmethod
    def _not_negative(cls, value: float | None) -> float | None:
        if value is not None and not 0 <= value < float("inf"):
            raise problem(f"a limit must be 0 or more, got {value}")
        return value

    @field_validator("memory", mode="before")
    @classmethod
    def _bytes(cls, value: Any) -> Any:
        return read_bytes(value)

    def given(self) -> dict[str, Any]:
        """The limits in the file, null included, by the names of ``Limits``."""
        names = {name: getattr(self, name) for name in self.model_fields_set}
        return {"bytes" if name == "memory" else name: value for name, value in names.items()}


def read_bytes(value: Any) -> Any:
    """Bytes from a number or from text with a unit such as ``4GiB``."""
    if not isinstance(value, str):
        return value
    from dask.utils import parse_bytes  # slow to import

    try:
        return int(parse_bytes(value))
    except ValueError:
        raise problem(f"{value!r} is no amount of memory; write e.g. 512MiB or 4GiB") from None


class DatasetEntry(DatasetRef):
    """A dataset, with its own encodings and λ, if it has any.

    These two do not describe the table, so a dump of the reference excludes them. If ``replicate``
    or ``first`` is a list, there is a dataset for each combination, see :attr:`series`.
    """

    _series: tuple[DatasetEntry, ...] = PrivateAttr(default=())

    encodings: list[EncodingEntry] | None = Field(default=None, min_length=1, exclude=True)
    """Encodings of this dataset alone, in place of the sweep's."""
    lambdas: list[LambdaItem] | None = Field(default=None, min_length=1, exclude=True)
    """λ of this dataset alone, in place of the sweep's."""

    _one_or_more = field_validator("encodings", mode="before")(one_or_more)

    @field_validator("lambdas", mode="before")
    @classmethod
    def _lambdas(cls, value: Any) -> Any:
        return None if value is None else as_items(value)

    @model_validator(mode="wrap")
    @classmethod
    def _each(cls, data: Any, validate: ModelWrapValidatorHandler[DatasetEntry]) -> DatasetEntry:
        """Check every combination of listed sizes. The first one holds them all as its series."""
        lists = {key: data[key] for key in _SIZES if isinstance(data.get(key), list)} if (
            isinstance(data, dict)
        ) else {}  # fmt: skip
        if not lists:
            return validate(data)
        found = []
        for choice in _product({key: _as_list(value, key) for key, value in lists.items()}):
            entry = validate({**data, **choice})
            name = f"{entry.name} {', '.join(_size_words(key, choice[key]) for key in lists)}"
            source = None if entry.path is not None else entry.origin
            found.append(entry.model_copy(update={"name": name, "source": source}))
        found[0]._series = tuple(found)
        return found[0]

    @property
    def series(self) -> tuple[DatasetEntry, ...]:
        """The datasets of the entry: itself, or one for each size."""
        return self._series or (self,)


def _size_words(key: str, size: int) -> str:
    """The suffix of a dataset's name for a size."""
    if key == "replicate":
        return f"x{size}"
    return count(size, "feature")


class Spec(Strict):
    """A sweep. Every combination of its axes is a task."""

    name: Name  #: letters, digits, spaces and ._-
    datasets: list[DatasetEntry] = Field(min_length=1)  #: the tables
    encodings: list[EncodingEntry] = Field(default=[], min_length=1)
    """What turns columns into features; needed unless each dataset has its own."""
    lambdas: list[LambdaItem] = Field(default=[], min_length=1)
    """The prices of a split; needed unless each dataset has its own."""
    solvers: list[SolverEntry] = Field(min_length=1)  #: the searches
    validation: Validation = Field(default=NoValidation(kind="none"), discriminator="kind")
    """How rows are held out for testing."""
    limits: LimitsEntry = LimitsEntry()  #: of each task
    seed: int = Field(default=0, ge=0, lt=2**32)  #: used wherever no other seed is given

    @field_validator("datasets", mode="before")
    @classmethod
    def _datasets(cls, value: Any) -> Any:
        entries = one_or_more(value)
        for i, item in enumerate(entries or ()):
            for key in item if isinstance(item, dict) else []:
                if key not in DatasetEntry.model_fields:
                    at = (i, key) if entries is value else (key,)
                    raise unknown(key, DatasetEntry.model_fields, "key", *at)
        return entries

    _one_or_more = field_validator("encodings", "solvers", mode="before")(one_or_more)
    _lambdas = field_validator("lambdas", mode="before")(as_items)

    @field_validator("validation", mode="before")
    @classmethod
    def _validation(cls, value: Any) -> Any:
        if value is None or isinstance(value, str):
            value = {"kind": value or "none"}
        return value

    @model_validator(mode="after")
    def _names_are_distinct(self) -> Spec:
        found: dict[str, DatasetEntry] = {}
        for i, entry in enumerate(self.datasets):
            for dataset in entry.series:
                if dataset.name in found:
                    raise problem(f"the dataset {dataset.name!r} is duplicated", "datasets", i)
                found[dataset.name] = dataset
        object.__setattr__(self, "datasets", [*found.values()])
        return self

    @model_validator(mode="after")
    def _datasets_have_all_axes(self) -> Spec:
        for key in ("encodings", "lambdas"):
            for dataset in self.datasets:
                if not getattr(self, key) and getattr(dataset, key) is None:
                    raise problem(
                        f"the key {key!r} is missing, and the dataset {dataset.name!r} has none "
                        "of its own"
                    )
        return self

    @model_validator(mode="after")
    def _paths_are_found_once(self) -> Spec:
        if isinstance(self.validation, NoValidation) and self.validation.repeats > 1:
            for i, entry in enumerate(self.solvers):
                if entry.lam == PATH:
                    raise problem(
                        "a λ-path is not repeated; leave it out, or repeats of the validation",
                        "solvers",
                        i,
                        LAM,
                    )
        return self

    @model_validator(mode="after")
    def _proofs_are_possible(self) -> Spec:
        for i, entry in enumerate(self.solvers):
            for choice in self._merged(entry) if entry.proof else ():
                for name in UNCERTIFIED:
                    if name in choice.limits:
                        raise problem(
                            f"there is no proof under the limit {name!r}, only under 'depth'; "
                            f"leave one of the two out (options: {{{name}: null}} takes the "
                            "limit away from this solver)",
                            "solvers",
                            i,
                            PROOF,
                        )
        return self

    def encoding_choices(self, dataset: DatasetEntry) -> list[Choice]:
        """The encodings of a dataset, each choice once."""
        entries = self.encodings if dataset.encodings is None else dataset.encodings
        return _distinct(c for entry in entries for c in entry.expand())

    def lams(self, dataset: DatasetEntry, n_train: int, others: Collection[int] = ()) -> Axis:
        """The λ of a dataset for ``n_train`` training rows; ``others`` as in ``expand``."""
        items = self.lambdas if dataset.lambdas is None else dataset.lambdas
        return expand(items, n_train, others)

    def lams_depend_on_rows(self, dataset: DatasetEntry) -> bool:
        """Whether the λ depend on the number of training rows."""
        return depend_on_rows(self.lambdas if dataset.lambdas is None else dataset.lambdas)

    def solver_choices(self) -> list[Choice]:
        """The solvers, each choice once, with the sweep's limits unless it has its own."""
        return _distinct(choice for entry in self.solvers for choice in self._merged(entry))

    def _merged(self, entry: SolverEntry) -> Iterator[Choice]:
        for choice in entry.expand(self.seed):
            limits = Limits(**{**self.limits.given(), **choice.limits}).to_dict()
            yield replace(choice, limits=limits)


def _distinct(choices: Iterator[Choice]) -> list[Choice]:
    found: dict[str, Choice] = {}
    for choice in choices:
        found.setdefault(repr(choice), choice)
    return list(found.values())


@dataclass(frozen=True)
class SweepFile:
    """A sweep's file: its model, its text, and its lines for messages.

    Relative paths start at the folder ``base``.
    """

    spec: Spec
    text: str
    base: Path
    file: YamlFile


_EXACT = {("lambdas",), ("datasets", "lambdas")}
"""The keys of λ: their numbers are read exactly."""


def load_spec(path: str | Path, base: str | Path | None = None) -> SweepFile:
    """Read and check a sweep's file.

    Parameters
    ----------
    path : str or Path
    base : str or Path, optional
        Folder that relative paths start from; by default the file's own.

    Raises
    ------
    InputError
        If the file cannot be read, or something in it is wrong. The message names the file, the
        line and the key, and what is allowed there.

    Examples
    --------
    >>> import pathlib
    >>> import treesweep
    >>> _ = pathlib.Path("sweep.yaml").write_text(
    ...     "{name: first, datasets: iris, encodings: onehot, lambdas: 0.02, solvers: cart}"
    ... )
    >>> treesweep.load_spec("sweep.yaml").spec.name
    'first'
    """
    path = Path(path)
    file = read_yaml(path)
    return read_spec(file, path.read_text(encoding="utf-8"), base or path.parent)


def parse_spec(text: str, base: str | Path = ".", name: str = "sweep.yaml") -> SweepFile:
    """Read a sweep from text. Raises as :func:`load_spec`.

    Examples
    --------
    >>> import treesweep
    >>> file = treesweep.parse_spec(
    ...     "{name: first, datasets: iris, encodings: onehot, lambdas: 0.02, solvers: cart}"
    ... )
    >>> file.spec.solvers[0].solver
    'cart'
    """
    return read_spec(parse_yaml(text, Path(name)), text, base)


def read_spec(file: YamlFile, text: str, base: str | Path) -> SweepFile:
    """Check the content of a sweep's file, whose text is given. Raises as :func:`load_spec`."""
    spec = validate(Spec, file, exact=_EXACT)
    folder = Path(base).resolve()
    check_storable(str(folder), "the folder")
    return SweepFile(spec, text, folder, file)
