"""The clients, and what has become of what they added."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

from faults import Nemesis
from segment import ADD, Node, send, wait_for
from services import Service

CLIENTS_PER_NODE = 2
CLIENTS_LOG = "clients.log"
#: How long a client mostly works on the set, in seconds, and how often it works for long.
SHORT, LONG_ONES = 0.05, 0.1
#: How long the last clients may take after the last fault.
LAST = 20.0


@dataclass
class Added:
    """An element that was acknowledged."""

    element: int
    node: int
    at: float


@dataclass
class Outcome:
    """What a trial with one kind of fault comes to."""

    kind: str
    faults: int = 0
    tried: int = 0
    acknowledged: list[Added] = field(default_factory=list)
    lost: list[Added] = field(default_factory=list)
    #: In the set, though the client was told that it failed. That is allowed.
    unconfirmed: int = 0
    stuck: int = 0


class Trial:
    """Clients on every node that add to one set for some time, while things go wrong."""

    def __init__(self, service: Service, kind: str, chance: random.Random):
        self.service, self.kind, self.chance = service, kind, chance
        self.file = os.path.join(service.folder, f"set.{kind}")
        self.elements = itertools.count(1)
        self.over = threading.Event()
        self.outcome = Outcome(kind)
        self.guard = threading.Lock()

    def run(self, seconds: float, nemesis: Nemesis) -> Outcome:
        """Runs it to its end."""
        with open(self.file, "w", encoding="utf-8"):
            pass
        clients = [
            threading.Thread(target=self.client, args=(node, random.Random(self.chance.random())), daemon=True)
            for node in self.service.segment.nodes
            for _ in range(CLIENTS_PER_NODE)
        ]
        for client in clients:
            client.start()
        before = len(nemesis.done)
        nemesis.run(self.kind, time.monotonic() + seconds)
        self.outcome.faults = len(nemesis.done) - before
        self.over.set()
        self.settle(clients)
        self.judge()
        return self.outcome

    def client(self, node: Node, chance: random.Random) -> None:
        while not self.over.is_set():
            with self.guard:
                element = next(self.elements)
                self.outcome.tried += 1
            work = chance.uniform(0, self.service.work if chance.random() < LONG_ONES else SHORT)
            command = [sys.executable, "-I", "-S", ADD, self.file, str(element), f"{work:.3f}"]
            with open(os.path.join(self.service.folder, CLIENTS_LOG), "a", encoding="utf-8") as log:
                code = subprocess.run(
                    [*node.enter(), *self.service.wrap(node, command)],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False,
                ).returncode
            if code == 0:
                with self.guard:
                    self.outcome.acknowledged.append(Added(element, node.number, time.monotonic()))
            else:
                self.over.wait(0.05)

    def settle(self, clients: list[threading.Thread]) -> None:
        """Waits until nobody can write any more."""
        deadline = time.monotonic() + LAST
        for client in clients:
            client.join(max(0.0, deadline - time.monotonic()))
        nodes = self.service.segment.nodes
        for node in nodes if any(client.is_alive() for client in clients) else []:
            daemon = self.service.daemons.get(node.number)
            own = {node.keeper.pid, daemon.pid if daemon else 0}
            self.outcome.stuck += sum(pid == node.working() for pid in node.processes())
            send(set(node.processes()) - own, signal.SIGKILL)
        for client in clients:
            client.join(LAST)
        wait_for("the last to end its work", lambda: all(node.working() is None for node in nodes))

    def judge(self) -> None:
        with open(self.file, encoding="utf-8") as file:
            there = set(map(int, file.read().split()))
        acknowledged = {added.element for added in self.outcome.acknowledged}
        self.outcome.lost = [added for added in self.outcome.acknowledged if added.element not in there]
        self.outcome.unconfirmed = len(there - acknowledged)
