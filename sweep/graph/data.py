"""The loaded and encoded data of a sweep, as futures that Dask places, moves and computes again."""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

from distributed import Client, Future

from solver.errors import InputError, one_line
from sweep.datasets import Dataset, load_dataset
from sweep.plan.plan import Node, Plan
from sweep.worker import steps
from sweep.worker.run_settings import Run
from sweep.worker.tasks import Prepared

_CACHE_BYTES = 2**30
_CACHE_NODES = 64
_CACHE_TABLES = 4


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
    """

    def __init__(self, client: Client, plan: Plan, run: Run, are_here: bool) -> None:
        self._client, self._plan, self._run, self._are_here = client, plan, run, are_here
        self._loaded: OrderedDict[str, Future[Dataset]] = OrderedDict()
        self._encoded: OrderedDict[int, Sources] = OrderedDict()
        self._nodes: dict[str, list[int]] = {}
        self._suspects: set[str | int] = set()
        self._unreadable: set[str] = set()
        self._numbers = itertools.count()
        self.notes: list[str] = []

    def of(self, node: Node, priority: int) -> Sources:
        """The encoded problem of a node, and its table."""
        found = self._encoded.get(node.number)
        if found is not None and found.has_lost_table:
            self.again(str(found.loaded.key))
            found = None
        if found is None:
            loaded = self._load(node, priority)
            key = f"encode-{node.number}-{next(self._numbers)}-{self._run.name}"
            encoded = self._client.submit(
                steps.encode,
                self._run,
                node.number in self._suspects,
                loaded,
                node,
                key=key,
                priority=priority,
            )
            self._encoded[node.number] = found = Sources(encoded, loaded)
            self._nodes[key] = [node.number]
        self._encoded.move_to_end(node.number)
        self._evict()
        return found

    def nodes_of(self, key: str) -> list[int]:
        """The nodes that need what a task of Dask makes; none if that is no step of the data."""
        return self._nodes.get(key, [])

    def again(self, key: str, suspect: bool = False) -> None:
        """Submit a step anew that has failed, when it is needed next."""
        for number in self._nodes.get(key, []):
            if suspect:
                digest = self._plan.nodes[number].info.data_hash
                self._suspects.add(digest if key.startswith("load-") else number)
            sources = self._encoded.get(number)
            if sources is None:
                continue
            if key in (sources.loaded.key, sources.encoded.key):
                del self._encoded[number]
        for digest in [d for d, future in self._loaded.items() if future.key == key]:
            del self._loaded[digest]

    def is_done(self, key: str) -> bool:
        """Whether a step has ended well."""
        return any(f.key == key and f.status == "finished" for f in self._known())

    def _known(self) -> list[Future[Any]]:
        return [*self._loaded.values(), *(sources.encoded for sources in self._encoded.values())]

    def send(self, node: Node) -> None:
        """Send a node's dataset from the driver from now on: a worker could not read it."""
        digest = node.info.data_hash
        self._unreadable.add(digest)
        for future in self._known():
            if future.status == "error" and node.number in self.nodes_of(str(future.key)):
                self.again(str(future.key))

    def _load(self, node: Node, priority: int) -> Future[Dataset]:
        digest, reference = node.info.data_hash, node.reference
        future = self._loaded.get(digest)
        if future is None:
            is_sent = digest in self._unreadable or (reference.is_fetched and not self._are_here)
            key = f"load-{digest[:12]}-{next(self._numbers)}-{self._run.name}"
            with warnings.catch_warnings():  # Dask warns of a graph that holds a large table
                warnings.simplefilter("ignore", UserWarning)
                future = self._client.submit(
                    steps.load,
                    self._run,
                    digest in self._suspects,
                    reference,
                    digest,
                    self._table(node) if is_sent else None,
                    key=key,
                    priority=priority,
                )
            self._loaded[digest] = future
            self._nodes[key] = [n.number for n in self._plan.nodes if n.info.data_hash == digest]
        self._loaded.move_to_end(digest)
        return future

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
        sizes = [*self._sizes()]
        while len(sizes) > 1 and (sum(sizes) > _CACHE_BYTES or len(sizes) > _CACHE_NODES):
            self._encoded.popitem(last=False)
            del sizes[0]
        # While a problem is held, so is its table: Dask may need it again, and may fail to load it.
        held = {self._plan.nodes[number].info.data_hash for number in self._encoded}
        spare = [digest for digest in self._loaded if digest not in held]
        for digest in spare[: max(0, len(self._loaded) - _CACHE_TABLES)]:
            del self._loaded[digest]

    def _sizes(self) -> Iterator[int]:
        for number in self._encoded:
            node = self._plan.nodes[number]
            yield 4 * node.info.n_rows * (node.n_features + 20)
