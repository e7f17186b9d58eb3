"""Tests of pipelines/cli/cluster.py."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.pipelines.commands import refused, run


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
