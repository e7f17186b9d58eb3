"""Tests of sweep/clusters/kubernetes.py: the manifest, which is held against the operator's schema."""
# ruff: noqa: E501  a message is easier to read on one line

from __future__ import annotations

import importlib.resources
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dask
import jsonschema
import pytest
import yaml

from solver.errors import InputError
from sweep.clusters import load_cluster
from sweep.clusters.dask_settings import NEEDED
from sweep.clusters.kubernetes import Kubernetes, environment

LEAST = "image: example.org/treesweep:1.0\nworkers: 3\nmemory: 4GiB\n"
CRD = "operator/deployment/helm/dask-kubernetes-operator/crds/daskcluster.yaml"


def write(folder: Path, text: str) -> Path:
    path = folder / "cluster.yaml"
    path.write_text("kind: kubernetes\n" + text)
    return path


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """What the operator says of a DaskCluster."""
    pytest.importorskip("dask_kubernetes", reason="dask-kubernetes is not installed")
    text = importlib.resources.files("dask_kubernetes").joinpath(CRD).read_text()
    (version,) = yaml.safe_load(text)["spec"]["versions"]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return found


def unknown_keys(value: Any, schema: dict[str, Any], at: str = "") -> list[str]:
    """Keys that the schema does not name: Kubernetes would drop them without a word."""
    if isinstance(value, list):
        return [key for one in value for key in unknown_keys(one, schema.get("items", {}), at)]
    known = schema.get("properties")
    if not isinstance(value, dict) or known is None:
        return []
    found = [f"{at}.{key}" for key in value if key not in known]
    for key in value.keys() & known.keys():
        found += unknown_keys(value[key], known[key], f"{at}.{key}")
    return found


def test_the_manifest_is_what_the_operator_takes(tmp_path: Path, schema: dict[str, Any]) -> None:
    text = LEAST + (
        "insecure: true\nname: my-sweep\nnamespace: lab\ncpu: 0.5\nnode_selector: {disk: ssd}\n"
        "image_pull_secrets: [registry]\n"
    )
    config = load_cluster(write(tmp_path, text))
    assert isinstance(config, Kubernetes)
    manifest = config.manifest()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(manifest, schema)
    top = {"apiVersion", "kind", "metadata"}
    spec = {key: value for key, value in manifest.items() if key not in top}
    assert unknown_keys(spec, schema) == []
    assert yaml.safe_load(config.dry_run()) == manifest


def test_the_schema_would_find_a_mistake(tmp_path: Path, schema: dict[str, Any]) -> None:
    manifest = load_cluster(write(tmp_path, LEAST + "insecure: true\n")).manifest()  # type: ignore[attr-defined]
    container = manifest["spec"]["worker"]["spec"]["containers"][0]
    container["imagee"] = container.pop("image")
    assert unknown_keys(manifest["spec"], schema["properties"]["spec"]) == [
        ".worker.spec.containers.imagee"
    ]
    manifest["spec"]["worker"]["replicas"] = "three"
    with pytest.raises(jsonschema.ValidationError, match="'three' is not of type 'integer'"):
        jsonschema.validate(manifest, schema)


def test_workers_are_as_a_sweep_needs_them(tmp_path: Path) -> None:
    config = load_cluster(write(tmp_path, LEAST + "insecure: true\n"))
    assert isinstance(config, Kubernetes)
    spec = config.manifest()["spec"]
    assert spec["worker"]["replicas"] == 3
    for part in ("scheduler", "worker"):
        pod = spec[part]["spec"]
        assert pod["automountServiceAccountToken"] is False
        (container,) = pod["containers"]
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["image"] == "example.org/treesweep:1.0"
    arguments = " ".join(spec["worker"]["spec"]["containers"][0]["args"])
    assert "--nthreads 1 --nanny" in arguments
    assert f"--memory-limit {4 * 2**30}" in arguments
    assert spec["scheduler"]["service"]["type"] == "ClusterIP"


def test_settings_reach_the_pods_by_their_environment() -> None:
    variables = {entry["name"]: entry["value"] for entry in environment(NEEDED)}
    read = dask.config.collect_env(variables)
    for name, value in NEEDED.items():
        assert dask.config.get(name, config=read) == value


@pytest.mark.parametrize(
    "text, message",
    [
        (LEAST, "between the pods nothing is encrypted"),
        (LEAST.replace("memory: 4GiB\n", ""), "the key 'memory' is missing"),
        (LEAST + "insecure: true\nname: My_Sweep\n", "name: 'My_Sweep' is no name in Kubernetes"),
        (
            LEAST.replace("example.org/treesweep:1.0", "'a b'"),
            "image: 'a b' is no name of an image",
        ),
        (LEAST + "insecure: true\ncommand: [evil]\n", "unknown key 'command'"),
        (LEAST + "insecure: true\nnode_selector: {a: 'b c'}\n", "'a: b c' is no label"),
    ],
)
def test_bad_files_name_line_key_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_cluster(write(tmp_path, text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_where_there_is_no_kubernetes_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    config = load_cluster(write(tmp_path, LEAST + "insecure: true\nresource_timeout: 2\n"))
    with ExitStack() as stack, pytest.raises(InputError, match="cannot create the DaskCluster"):
        config.open(stack)
