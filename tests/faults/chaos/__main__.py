"""A sweep that is killed, stopped, cut off and damaged all the time loses nothing.

``python -m tests.faults.chaos --faults 200 --seed 1`` strikes real sweeps of short tasks at random
until 200 faults have hit something. It resumes the sweeps until they are done, and compares every
row with those of an undisturbed run. The last line says what is wrong; the exit code is 0 only if
nothing is. ``--sabotage`` shows that the comparison finds what it looks for.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pandas as pd

from benchmarks.harness import interruptible
from tests.faults.chaos.compare_stores import Damage, Ledger, compare, results
from tests.faults.chaos.damage_store import sabotage
from tests.faults.chaos.faults import BETWEEN, DURING, Fault, Target
from tests.faults.chaos.processes import Processes

SPEC = """
name: chaos
datasets: [monks-1, monks-2, balance-scale, tic-tac-toe]
encodings: [onehot]
lambdas: [0.05, 0.03, 0.025, 0.02, 0.015]
solvers:
  - branches
  - cart
  - {solver: branches, lam: path}
  - {solver: branches, lam: path, options: {slack: [0, 1, 2, 8]}}
  - {solver: branches, proof: true}
validation: {kind: kfold, folds: 5, seed: 0}
limits: {seconds: 600}
"""

DISK = 64
"""MiB of the disk that is filled."""

_PATIENCE = 180.0
_TRIES = 5


class Chaos:
    """Strikes sweeps until `n_faults` have hit.

    Parameters
    ----------
    folder : Path
    n_faults : int
    seed : int
    is_small_disk : bool
        Whether the folder ``disk`` in it is a disk of its own.
    """

    def __init__(self, folder: Path, n_faults: int, seed: int, is_small_disk: bool) -> None:
        self.folder, self.n_faults = folder, n_faults
        self.hits: Counter[str] = Counter()
        self.missed = self.n_sweeps = self.n_drivers = 0
        self.damage, self.began = Damage(), time.monotonic()
        self.random = random.Random(seed)
        self.is_small_disk = is_small_disk
        spec = folder / "spec.yaml"
        spec.write_text(SPEC)
        self.processes = Processes(folder, spec, folder / "disk" / "sweep")
        self.quiet = pd.DataFrame()

    @property
    def left(self) -> int:
        """Faults to go."""
        return self.n_faults - self.hits.total()

    def run_undisturbed(self) -> None:
        """What all rows must be like."""
        self.processes.mend()
        self.processes.start_driver(is_local=False)
        code = self.processes.wait_for_driver(10 * _PATIENCE)
        if code != 0:
            raise RuntimeError(
                f"the undisturbed run ended with {code}: {self.processes.told()[-1:]}"
            )
        self.quiet = results(self.processes.out)
        compare(self.quiet, self.processes.out, self.damage)
        shutil.rmtree(self.processes.out)

    def run_sweep(self) -> None:
        """One sweep, from its first driver to its last, and the comparison."""
        target = Target(self.processes, self.random, Ledger(), self.is_small_disk)
        tries = 0
        while True:
            is_local = self.left > 0 and self.random.random() < 0.1
            self.processes.mend()
            self.processes.start_driver(is_local)
            self.n_drivers += 1
            tries = 0 if self.left > 0 else tries + 1
            self.say(f"a driver begins, {'with workers of its own' if is_local else 'there'}")
            code = self._strike_driver(target)
            self.say(f"it ended with {code}: {' '.join(self.processes.told()[-1:])[:200]}")
            if code == 0:
                break
            if tries > _TRIES:
                raise TimeoutError(
                    f"left alone, the sweep does not end: {self.processes.told()[-1:]}"
                )
            target.ledger.look(self.processes.out, self.damage)
            for _ in range(self.random.choice([0, 1, 1, 2, 3])):
                self._strike(target, BETWEEN)
        target.ledger.look(self.processes.out, self.damage)
        compare(self.quiet, self.processes.out, self.damage)
        self.n_sweeps += 1

    def _strike_driver(self, target: Target) -> int:
        """Strike while a driver is at work; its exit code."""
        driver, began = self.processes.driver, time.monotonic()
        busy = began
        while self.left > 0 and driver is self.processes.driver and self.processes.is_running:
            target.nap(0.05, 0.35)
            if not self.processes.is_local:
                self.processes.mend()
            if self.processes.is_busy():
                self._strike(target, DURING)
                driver, busy = self.processes.driver, time.monotonic()
            elif time.monotonic() - busy > _PATIENCE:
                raise TimeoutError(f"nothing happens any more: {self.processes.told()[-3:]}")
        while self.processes.is_running:
            if not self.processes.is_local:
                self.processes.mend()
            with suppress(TimeoutError):
                self.processes.wait_for_driver(0.2)
            if time.monotonic() - began > 10 * _PATIENCE:
                raise TimeoutError(f"nothing happens any more: {self.processes.told()[-3:]}")
        return self.processes.wait_for_driver(1)

    def _strike(self, target: Target, faults: Sequence[Fault]) -> None:
        if self.left <= 0:
            return
        (fault,) = self.random.choices(faults, [fault.weight for fault in faults])
        began = time.monotonic()
        has_hit = fault.strike(target)
        if has_hit:
            self.hits[fault.name] += 1
        else:
            self.missed += 1
        took = time.monotonic() - began
        self.say(f"{fault.name}: {'hit' if has_hit else 'nothing to hit'}, {took:.1f} s")

    def say(self, text: str) -> None:
        """Leave a line in the log."""
        with self.processes.log.open("a") as log:
            log.write(f"chaos {time.monotonic() - self.began:8.1f} {text}\n")

    def report(self, seconds: float) -> None:
        """Say what was done."""
        width = max(map(len, self.hits), default=0)
        for name, number in self.hits.most_common():
            print(f"{name:<{width}}  {number:4d}")
        total = self.hits.total()
        print(
            f"{total} faults hit ({self.missed} found nothing to hit), {self.n_sweeps} sweeps of "
            f"{len(self.quiet)} tasks, {self.n_drivers} drivers, {seconds:.0f} s"
        )
        for key in sorted(self.damage.lost):
            print(f"lost: {key}")
        for key in sorted(self.damage.doubled):
            print(f"doubled: {key}")
        for key, what in sorted(self.damage.differing.items()):
            print(f"differing: {key}: {what}")


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """Mount a small disk on a folder, where that is allowed; whether it is."""
    folder.mkdir()
    if os.geteuid() != 0:
        yield False
        return
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}m", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.faults.chaos")
    parser.add_argument("--faults", type=int, default=200, help="how many must hit something")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="copy the last store to this folder")
    parser.add_argument("--sabotage", action="store_true", help="doctor a store; it must be found")
    asked = parser.parse_args(arguments)
    if asked.keep is not None and asked.keep.exists():
        parser.error(f"--keep {asked.keep} exists already; name a new folder")
    with interruptible(), tempfile.TemporaryDirectory(prefix="chaos-") as name:
        folder = Path(name)
        with small_disk(folder / "disk") as is_small:
            chaos = Chaos(folder, 0 if asked.sabotage else asked.faults, asked.seed, is_small)
            if not is_small:
                print("no disk is filled: mounting one takes root")
            try:
                return _run(chaos, asked.sabotage)
            finally:
                chaos.processes.close()
                if asked.keep:
                    shutil.copytree(chaos.processes.out, asked.keep, symlinks=True)
                    shutil.copy(chaos.processes.log, asked.keep / "chaos.log")


def _run(chaos: Chaos, is_sabotage: bool) -> int:
    began = time.monotonic()
    chaos.run_undisturbed()
    print(f"undisturbed: {len(chaos.quiet)} tasks in {time.monotonic() - began:.0f} s")
    try:
        while chaos.left > 0 or not chaos.n_sweeps:
            if chaos.processes.out.exists():
                shutil.rmtree(chaos.processes.out)
            chaos.run_sweep()
        if is_sabotage:
            sabotage(chaos.processes.out, chaos.random)
            compare(chaos.quiet, chaos.processes.out, chaos.damage)
    except TimeoutError as error:
        chaos.report(time.monotonic() - began)
        print(f"stuck: {error}")
        return 1
    chaos.report(time.monotonic() - began)
    print(chaos.damage.line(chaos.hits.total()))
    return 1 if chaos.damage else 0


if __name__ == "__main__":
    sys.exit(main())
