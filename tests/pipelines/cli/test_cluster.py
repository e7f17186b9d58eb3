"""Tests of pipelines/cli/cluster.py."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.helpers.commands import refused, run


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("lab") / "certs"
    result = run("cluster", "certs", folder, "--host", "n1.lab", "--host", "n2.lab")
    assert result.exit_code == 0, result.output
    return folder, result.stdout


def test_every_file_is_explained(said: tuple[Path, str]) -> None:
    folder, text = said
    listed, _, _ = text.partition("\n\n")
    for path in folder.iterdir():
        assert path.name in listed
    assert "off the cluster" in listed
    assert "n1.lab:8786" in text


def test_no_key_is_shown(said: tuple[Path, str]) -> None:
    folder, text = said
    for path in folder.glob("*.key"):
        assert not any(line in text for line in path.read_text().splitlines())


def test_the_lines_for_the_cluster_file_are_right(said: tuple[Path, str], tmp_path: Path) -> None:
    folder, text = said
    _, _, rest = text.partition("cluster.yaml:\n")
    lines, _, _ = rest.partition("\n\n")
    found = yaml.safe_load(lines)
    assert (found["kind"], found["address"]) == ("address", "tls://n1.lab:8786")
    assert {Path(p).parent for p in found["security"].values()} == {folder}
    assert all(Path(path).is_file() for path in found["security"].values())


def test_certificates_of_a_ca_that_is_there(said: tuple[Path, str], tmp_path: Path) -> None:
    result = run("cluster", "certs", tmp_path / "more", "--ca", said[0])
    assert result.exit_code == 0, result.output
    assert "ca.key" not in result.stdout
    assert not (tmp_path / "more" / "ca.key").exists()


def test_bad_input_is_one_line(said: tuple[Path, str], tmp_path: Path) -> None:
    assert "is there already" in refused("cluster", "certs", said[0])
    assert "is no name or address" in refused("cluster", "certs", tmp_path / "a", "--host", "a b")
    assert "cannot read the CA" in refused("cluster", "certs", tmp_path / "a", "--ca", tmp_path)
    assert "see 'treesweep cluster certs --help'" in refused("cluster", "certs")


def test_check_says_who_works_there(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("kind: local\nworkers: 2\nmemory_limit: 1GiB\n")
    result = run("cluster", "check", file)
    assert result.exit_code == 0, result.output
    assert result.stdout == "127.0.0.1: 2 workers, 2 GiB, the same versions as here\n"


def test_a_dry_run_of_check_starts_nothing(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("kind: ssh\nhosts: [nowhere.invalid]\n")
    result = run("cluster", "check", file, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "ssh nowhere.invalid 'exec " in result.stdout
    assert "host nowhere.invalid: cannot connect" in refused("cluster", "check", file)


def test_a_dry_run_of_a_sweep_shows_its_cluster(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(
        "name: s\ndatasets: [monks-1]\nencodings: [onehot]\nlambdas: [0.1]\nsolvers: [cart]\n"
    )
    file = tmp_path / "cluster.yaml"
    file.write_text("kind: slurm\njobs: 3\nmemory: 2GiB\nwalltime: 01:00:00\n")
    result = run("run", tmp_path / "sweep.yaml", "--cluster", file, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "1 task" in result.stdout
    assert "#SBATCH -t 01:00:00" in result.stdout
    assert "PRIVATE" not in result.stdout
