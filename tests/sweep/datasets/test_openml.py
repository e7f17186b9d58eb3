"""OpenML: scikit-learn's own loader runs on a network that the test plays, then on none."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from urllib.error import HTTPError, URLError

import pytest
import sklearn.datasets._openml

from solver.errors import InputError
from sweep.datasets import cache_directory, load_dataset

ARFF = """@RELATION pets
@ATTRIBUTE weight NUMERIC
@ATTRIBUTE legs {2,4}
@ATTRIBUTE kind {cat,bird}
@DATA
3.5,4,cat
0.1,2,bird
?,4,cat
"""
FEATURES = [("weight", "numeric"), ("legs", "nominal"), ("kind", "nominal")]


class Network:
    """Answers like OpenML, and counts."""

    def __init__(self, targets: tuple[str, ...] = ("kind",)):
        self.targets = targets
        self.requests: list[str] = []
        self.cut = False

    def answer(self, url: str) -> bytes:
        if "/data/list/data_name/pets" in url:
            found = [{"did": 7, "version": 1, "status": "active", "name": "pets"}]
            return json.dumps({"data": {"dataset": found}}).encode()
        if "/data/features/7" in url:
            features = [
                {
                    "index": str(i),
                    "name": name,
                    "data_type": kind,
                    "is_target": str(name in self.targets).lower(),
                    "is_ignore": "false",
                    "number_of_missing_values": str(int(name == "weight")),
                    "is_row_identifier": "false",
                }
                for i, (name, kind) in enumerate(FEATURES)
            ]
            return json.dumps({"data_features": {"feature": features}}).encode()
        if "/data/qualities/7" in url:
            qualities = [{"name": "NumberOfInstances", "value": "3.0"}]
            return json.dumps({"data_qualities": {"quality": qualities}}).encode()
        if url.endswith("/data/7"):
            description = {
                "id": "7",
                "name": "pets",
                "version": "1",
                "status": "active",
                "format": "ARFF",
                "description": "pets",
                "file_id": "70",
                "url": "https://www.openml.org/data/v1/download/70/pets.arff",
                "md5_checksum": hashlib.md5(ARFF.encode()).hexdigest(),
            }
            return json.dumps({"data_set_description": description}).encode()
        if "/download/70" in url:
            return ARFF.encode()
        body = io.BytesIO(json.dumps({"error": {"code": "111", "message": "Unknown"}}).encode())
        raise HTTPError(url, 412, "Precondition Failed", None, body)  # type: ignore[arg-type]

    def __call__(self, request, *args, **more):
        self.requests.append(request.full_url)
        if self.cut:
            raise URLError("no network")
        response = io.BytesIO(gzip.compress(self.answer(request.full_url)))
        response.info = lambda: {"Content-Encoding": "gzip"}  # type: ignore[attr-defined]
        return response


@pytest.fixture
def network(monkeypatch, tmp_path):
    network = Network()
    monkeypatch.setenv("TREESWEEP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sklearn.datasets._openml, "urlopen", network)
    return network


@pytest.mark.parametrize("reference", ["openml:7", "openml:pets", "openml:Pets"])
def test_the_second_time_needs_no_network(network, reference):
    first = load_dataset(reference)
    assert first.name == reference
    assert first.target == "kind"
    assert first.classes == ("bird", "cat")
    assert first.frame.shape == (3, 3)
    assert first.frame["legs"].tolist() == ["4", "2", "4"]
    assert first.frame["weight"].isna().tolist() == [False, False, True]
    assert network.requests
    network.requests.clear()
    network.cut = True
    second = load_dataset(reference)
    assert network.requests == []
    assert second.digest == first.digest


def test_target_of_ones_own(network):
    dataset = load_dataset({"name": "openml:7", "target": "legs", "columns": {"kind": "drop"}})
    assert dataset.classes == ("2", "4")
    assert list(dataset.frame.columns) == ["weight", "legs"]


@pytest.mark.parametrize("targets", [(), ("kind", "legs")])
def test_no_single_target(network, targets):
    network.targets = targets
    with pytest.raises(InputError, match=f"has {len(targets)} targets on OpenML; choose one"):
        load_dataset("openml:7")


@pytest.mark.parametrize(
    "reference, message",
    [
        ("openml:8", "dataset 'openml:8' cannot be read: .*8"),
        ("openml:none", "dataset 'openml:none' cannot be read: .*none"),
        ("openml:7@2", "write openml:ID, openml:NAME or openml:NAME@2"),
        ("openml:pets@x", "write openml:ID, openml:NAME or openml:NAME@2"),
        ("openml:", "write openml:ID, openml:NAME or openml:NAME@2"),
    ],
)
def test_errors(network, reference, message):
    with pytest.raises(InputError, match=message):
        load_dataset(reference)


def test_offline_and_not_in_the_cache(monkeypatch, tmp_path):
    """A real attempt, through a proxy that is not there."""
    monkeypatch.setenv("TREESWEEP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(InputError, match=r"is not in the cache .*cache and OpenML cannot be reac"):
        load_dataset("openml:61")


def test_cache_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("TREESWEEP_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path
    monkeypatch.delenv("TREESWEEP_CACHE")
    assert cache_directory().name == "treesweep"
