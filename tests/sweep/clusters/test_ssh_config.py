"""Clusters over SSH: what a file may say, and real servers on ports of this machine."""
# ruff: noqa: E501  a message is easier to read on one line

from __future__ import annotations

import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pandas as pd
import psutil
import pytest
from distributed import Client

from solver.errors import InputError
from sweep.clusters import load_cluster, open_cluster, reach_cluster
from sweep.clusters.base import needs
from sweep.clusters.ssh_config import Ssh
from sweep.clusters.tls import security_in, security_in_memory
from tests.helpers import PATIENCE, ssh_server
from tests.helpers.drivers import STEPS, Drive, alike, wait_for_done, wait_for_note
from tests.helpers.ports import free_port

NODE = "exec {} -P -m sweep.clusters.ssh_node"


def write(folder: Path, text: str) -> Path:
    path = folder / "cluster.yaml"
    path.write_text("kind: ssh\n" + text)
    return path


def test_hosts_share_what_they_do_not_say_themselves(tmp_path: Path) -> None:
    text = (
        "hosts: [a, {host: b, port: 2222, username: eve, python: /opt/python3, workers: 7}, a]\n"
        "username: adam\nworkers: 3\npython: python3.11\nmemory_limit: 2GiB\n"
    )
    config = load_cluster(write(tmp_path, text))
    assert isinstance(config, Ssh)
    named = config.named_hosts
    assert list(named) == ["a", "b", "a.2"]
    assert [config.login(host) for host in named.values()] == [
        (None, "adam"), (2222, "eve"), (None, "adam"),
    ]  # fmt: skip
    orders = [config.order(name, host) for name, host in named.items()]
    assert [order["workers"] for order in orders] == [3, 7, 3]
    assert {order["memory_limit"] for order in orders} == {2**31}
    shown = config.dry_run().splitlines()
    assert shown[0] == f"ssh adam@a '{NODE.format('python3.11')}'    # the scheduler"
    assert shown[2] == f"ssh -p 2222 eve@b '{NODE.format('/opt/python3')}'    # 7 workers"
    assert len(shown) == 5


def test_the_shell_of_a_host_replaces_the_tilde_of_a_python() -> None:
    config = Ssh(hosts=["a"], python="~/mine/bin/python")
    command = config.command(config.hosts[0])
    assert command.startswith("exec ~/mine/bin/python -P")
    shown = subprocess.run(
        ["bash", "-c", command.replace("exec", "echo")], capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith(f"{Path.home()}/mine/bin/python -P")


def test_by_default_hosts_have_this_python_and_a_worker_a_core(tmp_path: Path) -> None:
    config = load_cluster(write(tmp_path, "hosts: [a]\nscheduler: here\ncheck_host_keys: false\n"))
    shown = config.dry_run().splitlines()
    assert shown[0] == "the scheduler runs in this process"
    assert shown[1] == f"ssh a '{NODE.format(sys.executable)}'    # a worker a core"
    assert shown[2] == "host keys are NOT checked"


@pytest.mark.parametrize(
    "text, message",
    [
        ("workers: 2\n", "the key 'hosts' is missing"),
        ("hosts: []\n", "line 2: hosts: the list is empty; give it at least one entry"),
        ("hosts: a\n", "line 2: hosts: expected a list, got 'a'"),
        ("hosts: ['-oProxyCommand=evil']\n", "is no name or address of a machine"),
        ("hosts: ['a;evil']\n", "is no name or address of a machine"),
        ("hosts: [{host: a, prt: 2}]\n", "line 2: hosts[1].prt: unknown key 'prt' (did you mean 'port'?)"),
        ("hosts: [a]\npython: /bin/sh\n", "line 3: python: '/bin/sh' does not name a Python"),
        ("hosts: [a]\npython: 'python3 -c evil'\n", "has characters that are not safe in a command"),
        ("hosts: [a]\nusername: 'a b'\n", "line 3: username: 'a b' is no name"),
        ("hosts: [a]\nkeys: [no-such-key]\n", "line 3: keys[1]: cannot read 'no-such-key'"),
        ("hosts: [a]\nknown_hosts: no-such-file\n", "line 3: known_hosts: there is no file 'no-such-file'"),
        ("hosts: [a]\nscheduler: there\n", "line 3: scheduler: 'there' is not allowed here; allowed: 'first' or 'here'"),
        ("hosts: [a]\npassword: secret\n", "line 3: password: unknown key 'password'"),
        ("hosts: [a]\nlocal_directory: '$(evil)'\n", "has characters that are not safe"),
    ],
)  # fmt: skip
def test_bad_files_name_line_key_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_cluster(write(tmp_path, text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_private_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    key = tmp_path / "id"
    key.write_text("a key")
    key.chmod(0o640)
    with pytest.raises(InputError, match=r"keys\[1\]: .*can be read by other users.*chmod 600"):
        load_cluster(write(tmp_path, f"hosts: [a]\nkeys: [{key}]\n"))
    key.chmod(0o600)
    assert isinstance(load_cluster(write(tmp_path, f"hosts: [a]\nkeys: [{key}]\n")), Ssh)


def test_a_missing_package_is_one_line_with_the_command() -> None:
    with pytest.raises(InputError, match=r"needs asyncssh; run: pip install 'treesweep\[ssh\]'"):
        with needs("asyncssh", "ssh"):
            raise ImportError


def test_certificates_of_a_run_leave_no_key_that_signs(tmp_path: Path) -> None:
    security = security_in(tmp_path / "keys")
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == [
        "ca.pem", "client.key", "client.pem", "node.key", "node.pem",
    ]  # fmt: skip
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert security.get_connection_args("client")["require_encryption"]
    text = security_in_memory()
    assert "BEGIN PRIVATE KEY" in text.tls_worker_key
    assert text.get_listen_args("scheduler")["ssl_context"] is not None


def test_an_unknown_machine_is_not_trusted(ssh_servers: ssh_server.Servers, tmp_path: Path) -> None:
    nobody = tmp_path / "known_hosts"
    nobody.write_text("")
    config = Ssh.model_validate(ssh_servers.config(known_hosts=str(nobody)))
    with pytest.raises(InputError, match="its host key is not the one known here, or not known"):
        reach_cluster(config)
    trusting = ssh_servers.config(known_hosts=str(nobody), check_host_keys=False)
    reach_cluster(Ssh.model_validate(trusting))


def test_who_is_not_let_in_and_who_is_not_there_are_one_line(
    ssh_servers: ssh_server.Servers,
) -> None:
    stranger = Ssh.model_validate(ssh_servers.config(keys=[str(ssh_servers.stranger)]))
    with pytest.raises(InputError, match=r"host 127\.0\.0\.1:\d+: no key was accepted"):
        reach_cluster(stranger)
    nowhere = {"host": "127.0.0.1", "port": free_port()}
    with pytest.raises(InputError, match=r"host 127\.0\.0\.1:\d+: cannot connect") as caught:
        reach_cluster(Ssh.model_validate(ssh_servers.config(hosts=[nowhere])))
    assert "\n" not in str(caught.value)


def test_a_python_without_treesweep_is_named(
    ssh_servers: ssh_server.Servers, tmp_path: Path
) -> None:
    bare = tmp_path / "python3"
    bare.write_text("#!/bin/sh\necho 'No module named sweep' >&2\nexit 1\n")
    bare.chmod(0o755)
    config = Ssh.model_validate(ssh_servers.config(python=str(bare)))
    with pytest.raises(InputError, match=r"ended \(No module named sweep\); install treesweep"):
        with open_cluster(config):
            pass


def nodes_of(servers: ssh_server.Servers) -> list[psutil.Process]:
    """What these servers have started, and not those of a test beside this one."""
    found = []
    for server in servers.processes.values():
        for process in psutil.Process(server.pid).children(recursive=True):
            with suppress(psutil.Error):
                if "sweep.clusters.ssh_node" in process.cmdline():
                    found.append(process)
    return found


@pytest.mark.slow
def test_no_secret_is_seen_and_nobody_else_is_let_in(ssh_servers: ssh_server.Servers) -> None:
    with open_cluster(Ssh.model_validate(ssh_servers.config())) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        address = client.scheduler_info()["address"]
        nodes = nodes_of(ssh_servers)
        assert len(nodes) == 3
        for process in nodes:
            said = [*process.cmdline(), *process.environ().values()]
            assert not any("PRIVATE KEY" in text or "BEGIN CERTIFICATE" in text for text in said)
        with pytest.raises((OSError, TimeoutError)):
            Client(address, security=security_in_memory(), timeout=2)
        plain = address.replace("tls://", "tcp://")
        with pytest.raises((OSError, TimeoutError)):
            Client(plain, timeout=2)
    gone, alive = psutil.wait_procs(nodes, timeout=PATIENCE)
    assert len(gone) == 3
    assert alive == []


@pytest.mark.slow
def test_a_driver_that_is_killed_leaves_nobody_behind(
    own_servers: ssh_server.Servers, tmp_path: Path
) -> None:
    drive = drive_over(own_servers, tmp_path)
    drive.hold(passes=2)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        drive.wait_until_held()
        nodes = nodes_of(own_servers)
        assert len(nodes) == 3
        process.kill()
    assert psutil.wait_procs(nodes, timeout=PATIENCE)[1] == []


def drive_over(servers: ssh_server.Servers, folder: Path) -> Drive:
    lines = [f"{key}: {value}" for key, value in servers.config().items()]
    path = folder / "cluster.yaml"
    path.write_text("\n".join(lines) + "\n")
    return Drive(folder, str(path))


@pytest.mark.slow
@pytest.mark.faults
def test_a_machine_that_is_switched_off_and_on_again_costs_nothing(
    own_servers: ssh_server.Servers, tmp_path: Path, quiet: pd.DataFrame
) -> None:
    drive = drive_over(own_servers, tmp_path)
    off = own_servers.ports[1]  # the scheduler is on the other one
    drive.hold(passes=2)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        before = drive.wait_until_held()
        own_servers.stop(off)
        wait_for_note(process, "the workers on 127.0.0.1.2 have ended; starting them again")
        process.wait_for(lambda line: line.startswith("progress ") and line.endswith(" 1\n"))
        own_servers.start(off)
        after = drive.wait_until_held()
        assert (len(before.keys() & after.keys()), len(after)) == (1, 2)  # the new worker has work
        process.wait_for(lambda line: line.startswith("progress ") and line.endswith(" 2\n"))
        drive.release()
        out, err = process.communicate()
    assert process.returncode == 0, out + err
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)
