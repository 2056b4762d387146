"""Grading on a real Dask cluster: a scheduler and four workers as processes of their own, on loopback, with TLS."""

from __future__ import annotations

import base64
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import overhead
import psutil
import pytest

from tito.course import Course
from tito.errors import UserError
from tito.teach.assignments import course_folder
from tito.teach.folder import Folder
from tito.teach.grader import bundle, cluster, cluster_keys, cluster_worker
from tito.teach.grader.bundle import Bundle
from tito.teach.grader.cluster import Cluster
from tito.teach.grader.grading import Work
from tito.teach.grader.workers import Pool
from tito.teach.result import Result

SECRET = bytes(range(32))
SECONDS = 60.0
TITO_ON = Path(__file__).parents[1] / "fixtures" / "tito_on.py"
SLOW = "        import time\n        time.sleep(0.1)\n        return 2 * self.value"


class Nodes:
    """The processes of a cluster."""

    def __init__(self, folder: Path, workers: int = 4) -> None:
        self.folder, self.keys = folder, folder / "keys"
        cluster_keys.make(self.keys, SECRET)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tls://127.0.0.1:{free.getsockname()[1]}"
        self.scheduler = self._start("cluster-scheduler", "scheduler")
        self.worker = self._start("cluster-worker", "worker", "--workers", str(workers))
        self.await_workers(workers)

    def restart_scheduler(self) -> None:
        """As after a crash of its machine."""
        self.scheduler.kill()
        self.scheduler.wait()
        time.sleep(0.5)
        self.scheduler = self._start("cluster-scheduler", "scheduler")

    def await_workers(self, many: int) -> None:
        """Until so many have joined."""
        from distributed import Client

        with Client(self.address, security=self.security(), set_as_default=False) as client:
            client.wait_for_workers(many, timeout=SECONDS)

    def security(self) -> Any:
        return cluster_keys.security(self.address, self.keys / "client")

    def workers(self) -> list[int]:
        """Process numbers of those that run."""
        log = (self.folder / "cluster-worker.log").read_text(encoding="utf-8")
        return [
            pid for pid in map(int, dict.fromkeys(re.findall(r"^worker (\d+) ", log, re.M))) if psutil.pid_exists(pid)
        ]

    def all(self) -> list[psutil.Process]:
        ours = [psutil.Process(self.scheduler.pid), psutil.Process(self.worker.pid)]
        return [*ours, *ours[1].children(recursive=True)]

    def stop(self) -> None:
        for process in (self.worker, self.scheduler):
            process.terminate()
        for process in (self.worker, self.scheduler):
            assert process.wait(SECONDS) == 0

    def _start(self, command: str, role: str, *more: str) -> subprocess.Popen[bytes]:
        tito = str(Path(sys.executable).with_name("tito"))
        words = [tito, "teach", command, self.address, "--keys", str(self.keys / role), *more]
        with open(self.folder / f"{command}.log", "ab") as log:
            return subprocess.Popen(words, stdout=log, stderr=log, env={**os.environ, "TMPDIR": str(self.folder)})


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return overhead.course(tmp_path_factory.mktemp("toys"))


@pytest.fixture(scope="module")
def made(toys: Course) -> Bundle:
    return bundle.make(toys, toys.lesson("01"))


@pytest.fixture(scope="module")
def works(toys: Course) -> list[Work]:
    return list(overhead.works(toys.lesson("01"), 24))


@pytest.fixture(scope="module")
def slow(works: list[Work]) -> list[Work]:
    """The same class, each of whom takes a while."""
    made = []
    for work in works:
        text = (
            work.files["01_toy.ipynb"]
            .decode()
            .replace('"        return 2 * self.value', f'"{SLOW}'.replace("\n", "\\n"))
        )
        made.append(replace(work, files={"01_toy.ipynb": text.encode()}))
    assert sum("time.sleep" in work.files["01_toy.ipynb"].decode() for work in made) > 12
    return made


@pytest.fixture(scope="module")
def here(made: Bundle, works: list[Work], slow: list[Work]) -> dict[str, list[str]]:
    """What one machine makes of both."""
    with Pool(1, 2, SECRET) as pool:
        return {"works": texts(pool.grade_all(works, made)), "slow": texts(pool.grade_all(slow, made))}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    folder = tmp_path_factory.mktemp("nodes")
    folder.chmod(0o711)
    running = Nodes(folder)
    try:
        yield running
        processes = running.all()
    finally:
        running.stop()
    assert len(processes) >= 2 + 4  # two commands, four workers; and zygotes
    assert not psutil.wait_procs(processes, timeout=10)[1]
    assert not list(folder.glob("tito-*"))


def texts(results: Iterator[Result]) -> list[str]:
    return sorted(result.to_json() for result in results)


def client(nodes: Nodes, **more: Any) -> Cluster:
    return Cluster(**{"address": nodes.address, "keys": nodes.keys / "client", "level": 1, "secret": SECRET, **more})


def test_verdicts_are_those_of_one_machine(
    nodes: Nodes, made: Bundle, works: list[Work], here: dict[str, list[str]]
) -> None:
    with client(nodes) as there:
        assert texts(there.grade_all(works, made)) == here["works"]
    earned = {Result.from_json(text).earned for text in here["works"]}
    assert len(earned) > 2


def test_worker_killed_in_the_middle(nodes: Nodes, made: Bundle, slow: list[Work], here: dict[str, list[str]]) -> None:
    results = client(nodes).grade_all(slow, made)
    first = [next(results).to_json() for _ in range(3)]
    victim = nodes.workers()[-1]
    os.kill(victim, signal.SIGKILL)
    assert sorted(first + texts(results)) == here["slow"]
    nodes.await_workers(4)
    assert victim not in nodes.workers()


def test_scheduler_restarted_in_the_middle(
    nodes: Nodes, made: Bundle, slow: list[Work], here: dict[str, list[str]]
) -> None:
    results = client(nodes).grade_all(slow, made)
    first = [next(results).to_json() for _ in range(3)]
    nodes.restart_scheduler()
    assert sorted(first + texts(results)) == here["slow"]
    nodes.await_workers(4)


def test_the_command_grades_on_the_cluster(nodes: Nodes, toys: Course, works: list[Work], tmp_path: Path) -> None:
    folder = Folder(tmp_path / "course")
    course_folder.make(folder, toys, "toys")
    (folder.private / "secret").write_bytes(SECRET)
    for work in works[:6]:
        place = folder.submitted / work.student / work.assignment
        place.mkdir(parents=True)
        (place / "01_toy.ipynb").write_bytes(work.files["01_toy.ipynb"])
    words = [sys.executable, str(TITO_ON), str(toys.root), "teach", "grade", "01"]
    there = [*words, "--scheduler", nodes.address, "--keys", str(nodes.keys / "client")]
    done = subprocess.run(there, cwd=folder.root, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0 and "6 graded, 0 refused" in done.stdout, done.stdout + done.stderr
    here = subprocess.run(words, cwd=folder.root, capture_output=True, encoding="utf-8", check=False)
    assert "0 graded, 0 refused, 6 graded before" in here.stdout


def test_only_bytes_cross_and_no_secret(
    nodes: Nodes, made: Bundle, works: list[Work], monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client, Future

    sent: list[Any] = []
    submit = Client.submit

    def recorded(self: Client, call: Any, *given: Any, **more: Any) -> Any:
        sent.append((call, given, more))
        return submit(self, call, *given, **more)

    monkeypatch.setattr(Client, "submit", recorded)
    assert len(list(client(nodes).grade_all(works[:4], made))) == 4
    assert {call for call, _, _ in sent} == {cluster_worker.hold, cluster_worker.grade}
    for _, given, more in sent:
        assert {type(one) for one in given} <= {bytes, Future} and set(more) == {"key"}
        for text in (SECRET, SECRET.hex().encode(), base64.b64encode(SECRET)):
            assert not any(text in one for one in given if type(one) is bytes)
    assert not any(work.student in more["key"] for work in works for _, _, more in sent)


@pytest.mark.parametrize("keys", ["none", "other"])
def test_client_without_our_certificate_is_refused(
    nodes: Nodes, tmp_path: Path, made: Bundle, works: list[Work], keys: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if keys == "none":
        with (
            pytest.raises(OSError),
            socket.create_connection(("127.0.0.1", cluster_keys.split(nodes.address)[2])) as raw,
        ):
            import ssl

            context = ssl.create_default_context(cafile=str(nodes.keys / "client" / "ca.pem"))
            context.check_hostname = False
            with context.wrap_socket(raw) as talk:
                if not talk.recv(1):
                    raise ConnectionError("closed")
        return
    cluster_keys.make(tmp_path / "keys", SECRET)
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1.0)
    began = time.monotonic()
    with pytest.raises(UserError, match=r"does not answer .*cluster-scheduler"):
        list(client(nodes, keys=tmp_path / "keys" / "client").grade_all(works[:1], made))
    assert time.monotonic() - began < 10


def test_another_secret_is_noticed(nodes: Nodes, made: Bundle, works: list[Work]) -> None:
    with pytest.raises(UserError, match=r"a worker's secret is 630dcd2966c43366, here it is [0-9a-f]{16}; make them"):
        list(client(nodes, secret=b"y" * 32).grade_all(works[:1], made))


def test_workers_grade_nothing_unsealed(nodes: Nodes, made: Bundle, works: list[Work]) -> None:
    with pytest.raises(UserError, match="s00000 has no result: a cluster's machines grade at level 1 or 2 alone"):
        list(client(nodes, level=3).grade_all(works[:1], made))


def test_workers_listen_with_tls_alone(nodes: Nodes) -> None:
    """Dask's port for pages is open on loopback in any case, and has no page."""
    import urllib.error
    import urllib.request

    for pid in nodes.workers() + [nodes.scheduler.pid]:
        for port in {one.laddr.port for one in psutil.Process(pid).net_connections() if one.status == "LISTEN"}:
            for page in ("status", "info/main/workers.html", "metrics", "json/counts.json"):
                with pytest.raises(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=5)
        outside = [one.laddr.ip for one in psutil.Process(pid).net_connections() if one.status == "LISTEN"]
        assert set(outside) == {"127.0.0.1"}


@pytest.mark.parametrize(
    "address, says",
    [
        ("tcp://10.0.0.5:8786", "is not encrypted, which only a loopback address may be; use: tls://10.0.0.5"),
        ("tcp://example.org:8786", "is not encrypted"),
        ("tls://127.0.0.1:8786", "tls needs keys"),
        ("127.0.0.1:8786", "is no address of a scheduler"),
        ("tls://127.0.0.1", "is no address of a scheduler"),
        ("tls://127.0.0.1:port", "is no address of a scheduler"),
        ("http://127.0.0.1:80", "is no address of a scheduler"),
    ],
)
def test_addresses_that_are_refused(address: str, says: str) -> None:
    with pytest.raises(UserError) as refused:
        Cluster(address, None, 1, SECRET)
    assert says in refused.value.message


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1"])
def test_plain_tcp_on_loopback(address: str) -> None:
    assert Cluster(address, None, 1, SECRET).security is None


def test_keys_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    cluster_keys.make(tmp_path / "keys", SECRET)
    files = [path for path in (tmp_path / "keys").rglob("*") if path.is_file()]
    assert len(files) == 10
    for path in (tmp_path / "keys").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o600 if path.is_file() else 0o700)
    assert [path.parent.name for path in files if path.name == "secret"] == ["worker"]
    authority = {path.read_bytes() for path in files if path.name == "ca.pem"}
    assert len(authority) == 1 and b"PRIVATE" not in authority.pop()
    with pytest.raises(UserError, match="no key is written over"):
        cluster_keys.make(tmp_path / "keys", SECRET)


def test_a_work_comes_back_as_it_was(works: list[Work]) -> None:
    odd = Work("Zoë", "01_toy", {"01_toy.ipynb": bytes(range(256)), "empty": b""}, "own")
    for work in (odd, works[0]):
        assert cluster_worker.unpacked(cluster_worker.packed(work)) == work
