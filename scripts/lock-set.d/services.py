"""What can be put around a command so that it runs alone: one class for each `--with`."""

from __future__ import annotations

import json
import os
import subprocess

from segment import Node, Segment, wait_for

ANY = ("none", "pause-client", "pause-holder", "kill-client")
DAEMONS = ("pause-daemon", "cut", "kill-daemon")


class Service:
    """Nothing at all: what is to lose updates. Others replace what they do better."""

    #: The faults that mean something here.
    faults: tuple[str, ...] = ("none",)
    #: How long a fault lasts, in seconds: even the shortest is longer than every timeout.
    lasting = (1.5, 3.0)
    #: How long the longest work takes: longer than every timeout, too.
    work = 1.5
    #: Where Debian has what is needed: commands and their packages.
    needs: dict[str, str] = {}

    def __init__(self, segment: Segment, folder: str, programs: str):
        self.segment = segment
        self.folder = folder
        #: Where ringd and ringctl are.
        self.bin = programs
        self.daemons: dict[int, subprocess.Popen] = {}

    def wrap(self, node: Node, command: list[str]) -> list[str]:
        """The command that runs `command` under the lock, on `node`."""
        return command

    def daemon(self, node: Node) -> list[str] | None:
        """The command that is the service's daemon on `node`, if it has daemons."""
        return None

    def ready(self) -> None:
        """Waits until locks can be had."""

    def start(self, node: Node) -> None:
        """Starts a node's daemon."""
        command = self.daemon(node)
        if command is None:
            return
        with open(self.log(node), "a", encoding="utf-8") as log:
            self.daemons[node.number] = subprocess.Popen(
                [*node.enter(), *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def log(self, node: Node) -> str:
        """Where a node's daemon writes what it says."""
        return os.path.join(self.folder, f"node{node.number}.log")


class Flock(Service):
    """`flock` of util-linux: one machine, one kernel."""

    faults = ANY
    needs = {"flock": "util-linux"}

    def wrap(self, node: Node, command: list[str]) -> list[str]:
        return ["flock", os.path.join(self.folder, "lock"), *command]


class RingdAlone(Service):
    """`ringctl run` as it comes: each side of a cut has a lock of its own."""

    faults = ANY + DAEMONS + ("pause-keeper",)
    #: Further options of ringd and of `ringctl run`.
    daemon_options: tuple[str, ...] = ()
    run_options: tuple[str, ...] = ()

    def socket(self, node: Node) -> str:
        return os.path.join(self.folder, f"node{node.number}.sock")

    def ringctl(self, node: Node, *arguments: str) -> list[str]:
        return [os.path.join(self.bin, "ringctl"), "--socket", self.socket(node), *arguments]

    def wrap(self, node: Node, command: list[str]) -> list[str]:
        return self.ringctl(node, "run", *self.run_options, "--", *command)

    def daemon(self, node: Node) -> list[str]:
        state = os.path.join(self.folder, f"node{node.number}.state")
        os.makedirs(state, exist_ok=True)
        ringd = os.path.join(self.bin, "ringd")
        return [ringd, "eth0", "--state-dir", state, "--control", self.socket(node), *self.daemon_options]

    def ready(self) -> None:
        nodes = self.segment.nodes
        for node in nodes:
            wait_for("the ring to form", lambda n=node: self.members(n) == len(nodes))

    def members(self, node: Node) -> int:
        status = subprocess.run(self.ringctl(node, "status", "--json"), capture_output=True, check=False)
        return len(json.loads(status.stdout)["members"]) if status.returncode == 0 else 0


class Ringd(RingdAlone):
    """`ringctl run --require quorum`."""

    run_options = ("--require", "quorum")

    @property
    def daemon_options(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("--expect", str(len(self.segment.nodes)))


class RingdGuard(RingdAlone):
    """`ringctl guard` within `ringctl run`, at any grade."""

    def wrap(self, node: Node, command: list[str]) -> list[str]:
        fence = os.path.join(self.folder, "set.fence")
        guard = [os.path.join(self.bin, "ringctl"), "guard", fence, "--", *command]
        return super().wrap(node, guard)


class Token(Service):
    """`ringctl token run`, and a server of the token service on every node."""

    faults = ANY + DAEMONS + ("pause-keeper",)
    client_timeout = "5s"
    lasting = (6.0, 8.0)
    work = 7.0

    @property
    def list(self) -> str:
        return os.path.join(self.folder, "servers")

    def wrap(self, node: Node, command: list[str]) -> list[str]:
        token = [os.path.join(self.bin, "ringctl"), "token", "--servers", self.list]
        return [*token, "--client-timeout", self.client_timeout, "run", "set", "--", *command]

    def daemon(self, node: Node) -> list[str]:
        with open(self.list, "w", encoding="utf-8") as servers:
            servers.writelines(f"{other.address}:7301\n" for other in self.segment.nodes)
        state = os.path.join(self.folder, f"node{node.number}.state")
        os.makedirs(state, exist_ok=True)
        index = self.segment.nodes.index(node)
        return [
            os.path.join(self.bin, "ringd"), "ftn", "--servers", self.list, "--index", str(index),
            "--heartbeat", "300ms", "--server-timeout", "1s", "--client-timeout", self.client_timeout,
            "--quorum", "majority", "--state-dir", state, "--control", self.socket(node),
        ]

    def socket(self, node: Node) -> str:
        return os.path.join(self.folder, f"node{node.number}.sock")

    def ready(self) -> None:
        for node in self.segment.nodes:
            ask = [os.path.join(self.bin, "ringctl"), "--socket", self.socket(node), "status", "-q"]

            def serves(ask: list[str] = ask) -> bool:
                return subprocess.run(ask, capture_output=True, check=False).returncode == 0

            # Before the grace is over nobody is READY.
            wait_for("the servers to serve", serves, patience=30)


class Etcd(Service):
    """`etcdctl lock` and a daemon on every node, with all defaults but the session's length."""

    faults = ANY + DAEMONS
    lasting = (4.0, 6.0)  # a session of 2 s, an election of up to 2 s
    work = 6.0
    needs = {"etcd": "etcd-server", "etcdctl": "etcd-client"}

    def urls(self, port: int) -> list[str]:
        return [f"http://{node.address}:{port}" for node in self.segment.nodes]

    def etcdctl(self, node: Node, *arguments: str) -> list[str]:
        return ["etcdctl", "--endpoints", ",".join(self.urls(2379)), *arguments]

    def wrap(self, node: Node, command: list[str]) -> list[str]:
        # 2 s is the shortest that etcd grants with an election timeout of 1 s.
        return self.etcdctl(node, "lock", "--ttl", "2", "set", "--", *command)

    def daemon(self, node: Node) -> list[str]:
        names = [f"node{other.number}" for other in self.segment.nodes]
        members = ",".join(map("=".join, zip(names, self.urls(2380))))
        client, peer = (f"http://{node.address}:{port}" for port in (2379, 2380))
        return [
            "etcd", "--name", f"node{node.number}",
            "--data-dir", os.path.join(self.folder, f"node{node.number}.etcd"),
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", members,
        ]

    def ready(self) -> None:
        node = self.segment.nodes[0]
        ask = [*node.enter(), *self.etcdctl(node, "endpoint", "health")]

        def is_healthy() -> bool:
            return subprocess.run(ask, capture_output=True, check=False).returncode == 0

        wait_for("the cluster to form", is_healthy, patience=30)


SERVICES: dict[str, type[Service]] = {
    "ringd": Ringd,
    "ringd-guard": RingdGuard,
    "ringd-alone": RingdAlone,
    "token": Token,
    "flock": Flock,
    "etcd": Etcd,
    "nothing": Service,
}
