"""The loaded and encoded data of a sweep, as futures that Dask places, moves and computes again."""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict
from collections.abc import Callable, MutableSequence
from typing import Any, NamedTuple

from distributed import Client, Future

from solver.errors import InputError, one_line
from sweep.datasets import Dataset, load_dataset
from sweep.plan.plan import Node, Plan
from sweep.worker import dask_steps
from sweep.worker.run_settings import Run
from sweep.worker.tasks import Prepared

_CACHE_BYTES = 2**30
_CACHE_NODES = 64


class Sources(NamedTuple):
    """The steps that a batch needs."""

    encoded: Future[Prepared]
    loaded: Future[Dataset]

    @property
    def will_never_come(self) -> bool:
        """Whether Dask lets a batch wait for a table that failed.

        A worker that dies may hold a problem whose table could not be loaded again before. Dask
        then neither computes the problem nor tells anybody; nor does it run a batch that is
        submitted just after the table has failed.
        """
        return self.loaded.status == "error" and self.encoded.status != "finished"

    @property
    def has_lost_table(self) -> bool:
        """Whether Dask is to refuse the next batch, although the problem is there.

        When something is submitted, a problem whose table could not be loaded again fails as well.
        """
        return self.loaded.status == "error" and self.encoded.status == "finished"


class Data:
    """Submits the steps load and encode once for each dataset and node.

    Futures that were not used for long are released. Dask keeps what a submitted batch needs.

    Parameters
    ----------
    client : Client
    plan : Plan
    run : Run
    are_here : bool
        Whether all workers run on this machine and so can read what the driver can.
    notes : list of str
        What is worth a line is added to it.
    """

    def __init__(
        self, client: Client, plan: Plan, run: Run, are_here: bool, notes: MutableSequence[str]
    ) -> None:
        self._client, self._plan, self._run = client, plan, run
        self._are_here, self.notes = are_here, notes
        self._held: OrderedDict[int, Sources] = OrderedDict()
        self._loaded: dict[str, Future[Dataset]] = {}
        self._suspects: set[str] = set()
        self._unreadable: set[str] = set()
        self._numbers = itertools.count()

    def of(self, node: Node, priority: int) -> Sources:
        """The encoded problem of a node, and its table."""
        found = self._held.get(node.number)
        if found is not None and found.has_lost_table:
            self.again(str(found.loaded.key))
            found = None
        if found is None:
            loaded = self._load(node, priority)
            name = f"encode-{node.number}"
            encoded = self._submit(dask_steps.encode, name, priority, loaded, node)
            found = self._held[node.number] = Sources(encoded, loaded)
        self._held.move_to_end(node.number)
        self._evict()
        return found

    def nodes_of(self, key: str, node: Node) -> list[int]:
        """The nodes that need what a step makes, of which one is known."""
        if key.startswith("encode-"):
            return [node.number]
        return [n.number for n in self._plan.nodes if n.info.data_hash == node.info.data_hash]

    def again(self, key: str, suspect: bool = False) -> None:
        """Submit a step anew when it is needed next."""
        if suspect:
            self._suspects.add("-".join(key.split("-")[:2]))  # the step, of whichever attempt
        for number in [n for n, found in self._held.items() if key in (s.key for s in found)]:
            del self._held[number]
        for digest in [d for d, loaded in self._loaded.items() if loaded.key == key]:
            del self._loaded[digest]

    def send(self, node: Node, loaded: Future[Dataset]) -> None:
        """Send a node's dataset from the driver from now on: a worker could not read it."""
        self._unreadable.add(node.info.data_hash)
        self.again(str(loaded.key))

    def _submit(
        self, step: Callable[..., Any], name: str, priority: int, *arguments: Any
    ) -> Future[Any]:
        key = f"{name}-{next(self._numbers)}-{self._run.name}"
        suspect = name in self._suspects
        with warnings.catch_warnings():  # Dask warns of a graph that holds a large table
            warnings.simplefilter("ignore", UserWarning)
            return self._client.submit(
                step, self._run, suspect, *arguments, key=key, priority=priority
            )

    def _load(self, node: Node, priority: int) -> Future[Dataset]:
        digest, reference = node.info.data_hash, node.reference
        if digest not in self._loaded:
            is_sent = digest in self._unreadable or (reference.is_fetched and not self._are_here)
            table = self._table(node) if is_sent else None
            name, arguments = f"load-{digest[:12]}", (reference, digest, table)
            self._loaded[digest] = self._submit(dask_steps.load, name, priority, *arguments)
        return self._loaded[digest]

    def _table(self, node: Node) -> Dataset | str:
        """A dataset to be sent, or why that cannot be done."""
        name = node.reference.name
        try:
            dataset = load_dataset(node.reference)
        except InputError as error:
            return str(error)
        except Exception as error:
            return f"dataset {name!r}: {one_line(f'{type(error).__name__}: {error}', 160)}"
        if dataset.digest != node.info.data_hash:
            return f"dataset {name!r} has changed since the sweep was planned; run the sweep again"
        self.notes.append(f"dataset {name!r} was sent to the workers")
        return dataset

    def _evict(self) -> None:
        nodes = [self._plan.nodes[number] for number in self._held]
        sizes = [4 * node.info.n_rows * (node.n_features + 20) for node in nodes]
        while len(sizes) > 1 and (sum(sizes) > _CACHE_BYTES or len(sizes) > _CACHE_NODES):
            self._held.popitem(last=False)
            del sizes[0]
        # While a problem is held, so is its table: Dask may need it again, and may fail to load it.
        needed = {self._plan.nodes[number].info.data_hash for number in self._held}
        for digest in self._loaded.keys() - needed:
            del self._loaded[digest]
