"""A sweep that is killed, stopped, cut off and damaged all the time loses nothing.

``python benchmarks/chaos.py --faults 200 --seed 1`` strikes real sweeps of short tasks at random
until so many faults have hit something, resumes them until they are done, and compares every row
with those of an undisturbed run. The last line says what is wrong; the exit code is 0 only if
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

from benchmarks.harness import interruptible
from benchmarks.torment.cast import Cast
from benchmarks.torment.check import Damage, Ledger, compare, results
from benchmarks.torment.faults import BETWEEN, DURING, Fault, Stage
from benchmarks.torment.sabotage import sabotage

SPEC = """
name: chaos
datasets: [monks-1, monks-2, balance-scale, tic-tac-toe]
encodings: [onehot]
lambdas: [0.05, 0.03, 0.02, 0.015, 0.01]
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


class Torment:
    """Strikes sweeps until so many faults have hit.

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
        self.cast = Cast(folder, spec, folder / "disk" / "sweep")
        self.quiet = pd.DataFrame()

    @property
    def left(self) -> int:
        """Faults to go."""
        return self.n_faults - self.hits.total()

    def run_undisturbed(self) -> None:
        """What all rows must be like."""
        self.cast.mend()
        self.cast.start_driver(is_local=False)
        code = self.cast.wait_for_driver(10 * _PATIENCE)
        if code != 0:
            raise RuntimeError(f"the undisturbed run ended with {code}: {self.cast.told()[-1:]}")
        self.quiet = results(self.cast.out)
        compare(self.quiet, self.cast.out, self.damage)
        shutil.rmtree(self.cast.out)

    def run_sweep(self) -> None:
        """One sweep, from its first driver to its last, and the comparison."""
        stage = Stage(self.cast, self.random, Ledger(), self.is_small_disk)
        tries = 0
        while True:
            is_local = self.left > 0 and self.random.random() < 0.1
            self.cast.mend()
            self.cast.start_driver(is_local)
            self.n_drivers += 1
            tries = 0 if self.left > 0 else tries + 1
            self.say(f"a driver begins, {'with workers of its own' if is_local else 'there'}")
            code = self._torment(stage)
            self.say(f"it ended with {code}: {' '.join(self.cast.told()[-1:])[:200]}")
            if code == 0:
                break
            if tries > _TRIES:
                raise TimeoutError(f"left alone, the sweep does not end: {self.cast.told()[-1:]}")
            stage.ledger.look(self.cast.out, self.damage)
            for _ in range(self.random.choice([0, 1, 1, 2, 3])):
                self._strike(stage, BETWEEN)
        stage.ledger.look(self.cast.out, self.damage)
        compare(self.quiet, self.cast.out, self.damage)
        self.n_sweeps += 1

    def _torment(self, stage: Stage) -> int:
        """Strike while a driver is at work; its exit code."""
        driver, began = self.cast.driver, time.monotonic()
        busy = began
        while self.left > 0 and driver is self.cast.driver and self.cast.is_running:
            stage.nap(0.05, 0.35)
            if not self.cast.is_local:
                self.cast.mend()
            if self.cast.is_busy():
                self._strike(stage, DURING)
                driver, busy = self.cast.driver, time.monotonic()
            elif time.monotonic() - busy > _PATIENCE:
                raise TimeoutError(f"nothing happens any more: {self.cast.told()[-3:]}")
        while self.cast.is_running:
            if not self.cast.is_local:
                self.cast.mend()
            with suppress(TimeoutError):
                self.cast.wait_for_driver(0.2)
            if time.monotonic() - began > 10 * _PATIENCE:
                raise TimeoutError(f"nothing happens any more: {self.cast.told()[-3:]}")
        return self.cast.wait_for_driver(1)

    def _strike(self, stage: Stage, faults: Sequence[Fault]) -> None:
        if self.left <= 0:
            return
        (fault,) = self.random.choices(faults, [fault.weight for fault in faults])
        began = time.monotonic()
        has_hit = fault.strike(stage)
        if has_hit:
            self.hits[fault.name] += 1
        else:
            self.missed += 1
        took = time.monotonic() - began
        self.say(f"{fault.name}: {'hit' if has_hit else 'nothing to hit'}, {took:.1f} s")

    def say(self, text: str) -> None:
        """Leave a line in the log."""
        with self.cast.log.open("a") as log:
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
    parser = argparse.ArgumentParser(description=__doc__)
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
            torment = Torment(folder, 0 if asked.sabotage else asked.faults, asked.seed, is_small)
            if not is_small:
                print("no disk is filled: mounting one takes root")
            try:
                return _run(torment, asked.sabotage)
            finally:
                torment.cast.close()
                if asked.keep:
                    shutil.copytree(torment.cast.out, asked.keep, symlinks=True)
                    shutil.copy(torment.cast.log, asked.keep / "chaos.log")


def _run(torment: Torment, is_sabotage: bool) -> int:
    began = time.monotonic()
    torment.run_undisturbed()
    print(f"undisturbed: {len(torment.quiet)} tasks in {time.monotonic() - began:.0f} s")
    try:
        while torment.left > 0 or not torment.n_sweeps:
            if torment.cast.out.exists():
                shutil.rmtree(torment.cast.out)
            torment.run_sweep()
        if is_sabotage:
            sabotage(torment.cast.out, torment.random)
            compare(torment.quiet, torment.cast.out, torment.damage)
    except TimeoutError as error:
        torment.report(time.monotonic() - began)
        print(f"stuck: {error}")
        return 1
    torment.report(time.monotonic() - began)
    print(torment.damage.line(torment.hits.total()))
    return 1 if torment.damage else 0


if __name__ == "__main__":
    sys.exit(main())
