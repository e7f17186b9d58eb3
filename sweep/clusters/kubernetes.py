"""Workers in pods of a Kubernetes cluster that has Dask's operator."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Annotated, Any, Literal

import yaml
from distributed import Client
from pydantic import AfterValidator, Field, model_validator

from solver.errors import InputError
from sweep.clusters.base import Cluster, needs
from sweep.clusters.validators import Memory
from sweep.spec.yaml_reader import problem

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,45}[a-z0-9])?")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?")
_SCHEDULER_PORT, _DASHBOARD_PORT = 8786, 8787


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise problem(f"{value!r} is no name in Kubernetes: use a-z, 0-9 and -, at most 47 of them")
    return value


def _image(value: str) -> str:
    if not _IMAGE.fullmatch(value):
        raise problem(f"{value!r} is no name of an image; write e.g. example.org/treesweep:1.0")
    return value


def _labels(value: dict[str, str]) -> dict[str, str]:
    for name, setting in value.items():
        if not _LABEL.fullmatch(name) or not _LABEL.fullmatch(setting):
            raise problem(f"'{name}: {setting}' is no label")
    return value


ResourceName = Annotated[str, AfterValidator(_name)]
Labels = Annotated[dict[str, str], AfterValidator(_labels)]


class Kubernetes(Cluster):
    """A ``DaskCluster`` resource, which Dask's operator turns into pods.

    Parameters
    ----------
    image : str
        A container image that has treesweep, the same version as here.
    workers : int
        Pods with one worker each.
    memory : int
        Bytes of each worker.
    cpu : float
        Cores that each worker asks for.
    name, namespace : str, optional
        Of the resource; by default ``treesweep`` in the namespace of the current context.
    node_selector : dict
        Labels of the nodes that pods may be on.
    image_pull_secrets : list of str
        Names of secrets, for an image that is not public.
    resource_timeout : int
        Seconds to wait for the scheduler's pod.
    insecure : bool
        Must be true: between the pods nothing is encrypted, and whoever reaches the scheduler's
        port can run code.
    """

    kind: Literal["kubernetes"]
    image: Annotated[str, AfterValidator(_image)]
    workers: int = Field(ge=1, le=10_000)
    memory: Memory
    cpu: float = Field(default=1.0, gt=0, le=4096)
    name: ResourceName = "treesweep"
    namespace: ResourceName | None = None
    node_selector: Labels = Field(default_factory=dict)
    image_pull_secrets: list[ResourceName] = Field(default_factory=list)
    resource_timeout: int = Field(default=300, ge=1)
    insecure: bool = False

    @model_validator(mode="after")
    def _is_known_to_be_open(self) -> Kubernetes:
        if self.memory is None:
            raise problem("write how much memory a worker has, e.g. 4GiB", "memory")
        if not self.insecure:
            raise problem(
                "between the pods nothing is encrypted, and whoever reaches the scheduler's port "
                "can run code; write 'insecure: true' if a NetworkPolicy keeps others away"
            )
        return self

    def manifest(self) -> dict[str, Any]:
        """The ``DaskCluster`` resource."""
        metadata: dict[str, Any] = {"name": self.name}
        if self.namespace is not None:
            metadata["namespace"] = self.namespace
        return {
            "apiVersion": "kubernetes.dask.org/v1",
            "kind": "DaskCluster",
            "metadata": metadata,
            "spec": {
                "idleTimeout": 0,
                "scheduler": {"spec": self._pod(self._scheduler()), "service": self._service()},
                "worker": {"replicas": self.workers, "spec": self._pod(self._worker())},
            },
        }

    def _pod(self, container: dict[str, Any]) -> dict[str, Any]:
        pod: dict[str, Any] = {
            # No pod has business with the Kubernetes API.
            "automountServiceAccountToken": False,
            "containers": [
                {
                    **container,
                    "image": self.image,
                    "env": environment(self.settings()),
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
        }
        if self.node_selector:
            pod["nodeSelector"] = self.node_selector
        if self.image_pull_secrets:
            pod["imagePullSecrets"] = [{"name": name} for name in self.image_pull_secrets]
        return pod

    def _scheduler(self) -> dict[str, Any]:
        health = {"httpGet": {"port": "http-dashboard", "path": "/health"}}
        return {
            "name": "scheduler",
            "args": ["dask", "scheduler", "--host", "0.0.0.0", "--port", str(_SCHEDULER_PORT)],
            "ports": [
                {"name": "tcp-comm", "containerPort": _SCHEDULER_PORT, "protocol": "TCP"},
                # The operator asks here whether the scheduler is well.
                {"name": "http-dashboard", "containerPort": _DASHBOARD_PORT, "protocol": "TCP"},
            ],
            "readinessProbe": {**health, "periodSeconds": 1, "timeoutSeconds": 300},
            "livenessProbe": {**health, "initialDelaySeconds": 15, "periodSeconds": 20},
        }

    def _worker(self) -> dict[str, Any]:
        resources = {"cpu": f"{self.cpu:g}", "memory": str(self.memory)}
        return {
            "name": "worker",
            "args": [
                "dask", "worker", "--name", "$(DASK_WORKER_NAME)", "--nthreads", "1", "--nanny",
                "--memory-limit", str(self.memory), "--dashboard-address", "127.0.0.1:0",
            ],
            "resources": {"requests": resources, "limits": {"memory": resources["memory"]}},
        }  # fmt: skip

    def _service(self) -> dict[str, Any]:
        ports = {"tcp-comm": _SCHEDULER_PORT, "http-dashboard": _DASHBOARD_PORT}
        return {
            "type": "ClusterIP",  # reached from inside, and by the API server's port forwarding
            "selector": {
                "dask.org/cluster-name": self.name,
                "dask.org/component": "scheduler",
            },
            "ports": [
                {"name": name, "protocol": "TCP", "port": port, "targetPort": name}
                for name, port in ports.items()
            ],
        }

    def open(self, stack: ExitStack) -> Client:
        """Create the resource, and wait for the scheduler; the stack deletes it."""
        with needs("dask-kubernetes", "kubernetes"):
            from dask_kubernetes.operator import KubeCluster
        try:
            cluster = stack.enter_context(
                KubeCluster(
                    custom_cluster_spec=self.manifest(),
                    namespace=self.namespace,
                    resource_timeout=self.resource_timeout,
                    shutdown_on_close=True,
                    quiet=True,
                )
            )
        except Exception as error:  # of several libraries, which share no base
            why = " ".join(str(error).split())[:200] or type(error).__name__
            raise InputError(
                f"cannot create the DaskCluster {self.name!r}; is there a cluster in the current "
                f"context, with Dask's operator installed? ({why})"
            ) from None
        client: Client = stack.enter_context(Client(cluster, set_as_default=False))
        return client

    def dry_run(self) -> str:
        """The resource, as ``kubectl apply`` would take it."""
        text = yaml.safe_dump(self.manifest(), sort_keys=False, allow_unicode=True)
        return f"{text}# Between the pods nothing is encrypted: keep others away by a NetworkPolicy"


def environment(settings: Mapping[str, Any]) -> list[dict[str, str]]:
    """Settings of Dask as variables of a container's environment."""
    return [
        {"name": "DASK_" + name.upper().replace(".", "__").replace("-", "_"), "value": str(value)}
        for name, value in settings.items()
    ]
