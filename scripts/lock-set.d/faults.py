"""What goes wrong, one at a time, and always where somebody is at work."""

from __future__ import annotations

import random
import signal
import time
from contextlib import contextmanager
from typing import Callable, Iterator

from segment import Node, Segment, arguments, parent, send
from services import Service

FAULTS = {
    "none": "nothing goes wrong",
    "pause-client": "SIGSTOP for the lock's client (ringctl, etcdctl, flock), not for the command",
    "pause-keeper": "SIGSTOP for the process behind ringctl that holds the lock, not for ringctl",
    "pause-daemon": "SIGSTOP for the daemon of the node that holds the lock",
    "pause-holder": "SIGSTOP for the whole node: command, client, daemon",
    "cut": "a part of the nodes hears nothing of the rest; no link goes down",
    "kill-client": "SIGKILL for the lock's client, not for the command",
    "kill-daemon": "SIGKILL for the daemon, which is started again later",
    "mixed": "any of them",
}


def is_keeper(pid: int) -> bool:
    """Whether it is the process that holds a lock for ringctl."""
    return arguments(pid)[:1] == ["ringd-keeper"]


class Nemesis:
    """Who brings the trouble."""

    def __init__(self, service: Service, chance: random.Random):
        self.segment: Segment = service.segment
        self.service = service
        self.chance = chance
        #: What was done: when it began, and what it was.
        self.done: list[tuple[float, str]] = []

    def run(self, kind: str, until: float) -> None:
        """Brings trouble of one kind until then."""
        if kind == "none":
            time.sleep(max(0.0, until - time.monotonic()))
        while time.monotonic() < until:
            time.sleep(self.chance.uniform(0.2, 0.8))
            kinds = [fault for fault in self.service.faults if fault != "none"]
            fault = self.chance.choice(kinds) if kind == "mixed" else kind
            lasting = self.chance.uniform(*self.service.lasting)
            holder = self.holder(until)
            if holder is None:
                return
            with self.trouble(fault, *holder):
                time.sleep(lasting)

    def holder(self, until: float) -> tuple[Node, int] | None:
        """A node that works on the set, and the process that does; None: time is up."""
        while time.monotonic() < until:
            for node in self.chance.sample(self.segment.nodes, len(self.segment.nodes)):
                pid = node.working()
                if pid is not None:
                    return node, pid
            time.sleep(0.002)
        return None

    def trouble(self, fault: str, node: Node, pid: int):
        """The fault, while the context lasts."""
        self.done.append((time.monotonic(), f"{fault} at node {node.number}"))
        if fault == "cut":
            return self.cut()
        if fault == "kill-daemon":
            return self.kill_daemon(node)
        client = parent(pid)
        daemon = self.service.daemons.get(node.number)
        targets: dict[str, Callable[[], list[int]]] = {
            # One that has just ended has left its command to the namespace's first process.
            "pause-client": lambda: [client] if client and client in node.processes() else [],
            "pause-keeper": lambda: [it for it in node.processes() if parent(it) == client and is_keeper(it)],
            "pause-daemon": lambda: [daemon.pid] if daemon else [],
            "pause-holder": node.processes,
        }
        if fault == "kill-client":
            return self.kill(targets["pause-client"]())
        return self.pause(targets[fault])

    @contextmanager
    def pause(self, targets: Callable[[], list[int]]) -> Iterator[None]:
        stopped = targets()
        send(stopped, signal.SIGSTOP)
        # What one of them has started just before it stopped.
        stopped += (late := sorted(set(targets()) - set(stopped)))
        send(late, signal.SIGSTOP)
        try:
            yield
        finally:
            self.chance.shuffle(stopped)
            send(stopped, signal.SIGCONT)

    @contextmanager
    def cut(self) -> Iterator[None]:
        nodes = self.segment.nodes
        self.segment.cut(self.chance.sample(nodes, len(nodes) // 2))
        try:
            yield
        finally:
            self.segment.heal()

    @contextmanager
    def kill(self, pids: list[int]) -> Iterator[None]:
        send(pids, signal.SIGKILL)
        yield

    @contextmanager
    def kill_daemon(self, node: Node) -> Iterator[None]:
        daemon = self.service.daemons.get(node.number)
        if daemon:
            daemon.kill()
            daemon.wait()
        try:
            yield
        finally:
            self.service.start(node)
