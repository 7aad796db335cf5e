"""A segment: a bridge and a network namespace a node, in the namespace of whoever makes it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import Iterable

PATIENCE = 10.0


def wait_for(what: str, done, patience: float = PATIENCE) -> None:
    """Waits until `done()`, and fails with `what` was waited for."""
    deadline = time.monotonic() + patience
    while not done():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited in vain for {what}")
        time.sleep(0.01)


def ip(commands: Iterable[str], *within: str) -> None:
    """Has `ip` carry commands out, behind the command `within`."""
    batch = "\n".join(commands) + "\n"
    subprocess.run([*within, "ip", "-batch", "-"], input=batch, text=True, check=True)


class Node:
    """A machine, as far as the network and its processes go."""

    def __init__(self, number: int):
        self.number = number
        self.address = f"10.88.0.{number}"
        self.keeper = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.path = f"/proc/{self.keeper.pid}/ns/net"
        outside = os.readlink("/proc/self/ns/net")
        wait_for("a namespace", lambda: os.readlink(self.path) != outside)
        self.name = os.readlink(self.path)

    def enter(self) -> list[str]:
        """The command prefix that runs something on this node, as the same process."""
        return ["nsenter", f"--net={self.path}"]

    def processes(self) -> list[int]:
        """All that runs here."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{entry}/ns/net") == self.name:
                    found.append(int(entry))
            except OSError:
                pass  # has ended meanwhile
        return found

    def working(self) -> int | None:
        """The process that reads and writes the set here, if one does."""
        for pid in self.processes():
            if arguments(pid)[3:4] == [ADD]:
                return pid
        return None


ADD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "add")


def arguments(pid: int) -> list[str]:
    """The command line of a process; empty if it has ended."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read().split("\0")[:-1]
    except OSError:
        return []


def parent(pid: int) -> int | None:
    """The parent of a process, unless that has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rsplit(") ", 1)[1].split()[1])
    except OSError:
        return None


def send(pids: Iterable[int], what: signal.Signals) -> None:
    """Signals processes. One that has ended needs none."""
    for pid in pids:
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            pass


class Segment:
    """Nodes that hear each other, unless they are cut."""

    def __init__(self, count: int):
        self.nodes = [Node(number) for number in range(1, count + 1)]
        bridges = ("br0", "br1")  # the second is where the other side of a cut is
        ip(f"link add {bridge} type bridge forward_delay 0 mcast_snooping 0" for bridge in bridges)
        ip(["link set lo up", *(f"link set {bridge} up" for bridge in bridges)])
        for node in self.nodes:
            n = node.number
            ip([
                f"link add port{n} type veth peer name eth0 address 02:00:00:00:00:{n:02x} netns {node.keeper.pid}",
                f"link set port{n} master br0 up",
            ])
            ip(["link set lo up", f"address add {node.address}/24 dev eth0", "link set eth0 up"], *node.enter())

    def cut(self, side: Iterable[Node]) -> None:
        """Cuts some nodes off from the others, but not from each other. No link goes down."""
        ip(f"link set port{node.number} master br1" for node in side)

    def heal(self) -> None:
        """Undoes all cuts."""
        ip(f"link set port{node.number} master br0" for node in self.nodes)
