"""The command line, and the two halves of a run: outside and inside of namespaces of its own."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from faults import FAULTS, Nemesis
from segment import Segment
from services import SERVICES, Service
from trial import CLIENTS_LOG, CLIENTS_PER_NODE, Outcome, Trial

NAME = "lock-set"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = {"ip": "iproute2", "mount": "mount", **dict.fromkeys(("unshare", "nsenter", "setpriv"), "util-linux")}
NAMESPACES = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
#: How the inner half knows that it is: the folder that it works in.
INSIDE = "RINGD_LOCK_SET_FOLDER"

ABOUT = """\
Clients on every node add elements to one set in a shared file: each takes the lock,
reads the set, works for a while, writes it back with its element, gives the lock
back. Meanwhile things go wrong. At the end every element whose client was told that
all went well has to be in the set: one that is missing is a lost update, and the
lock was two clients' at a time. The test is Jepsen's for etcd's locks.

The nodes are network namespaces on a bridge, all made and removed by this command, and
nothing of it is seen on the machine's own network. Runs with sudo, and without where
the kernel lets users make namespaces.

What to run it with (--with):
  ringd         ringctl run --require quorum, a ringd --expect N on every node
  ringd-alone   ringctl run as it comes: each side of a cut has a lock of its own
  ringd-guard   the same, and the command behind ringctl guard
  token         ringctl token run, a ringd ftn --quorum majority on every node
  flock         flock of util-linux, all on one machine: has to lose nothing
  etcd          etcdctl lock, an etcd on every node (--nodes 3 is usual)
  nothing       no lock at all: has to lose updates, else this test finds nothing
"""

AFTER = (
    "What goes wrong (--faults, several with commas between; each gets its own set and SECONDS):\n"
    + "".join(f"  {name:<13} {what}\n" for name, what in FAULTS.items())
    + """
'all' is every one that means something with that lock. A pause or a cut lasts longer than every
timeout, and hits somebody at work.

Exit codes: 0 no update was lost, 1 some were, 2 the run itself failed."""
)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=NAME, description=ABOUT, epilog=AFTER, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--with", dest="service", choices=SERVICES, required=True, help="what keeps the clients apart")
    parser.add_argument("--nodes", type=int, default=5, help="how many nodes (5)")
    parser.add_argument("--seconds", type=float, default=20, help="for how long with each kind of fault (20)")
    parser.add_argument("--seed", type=int, default=0, help="the same chances again (0: from the clock)")
    parser.add_argument("--faults", default="all", help="what goes wrong (all)")
    parser.add_argument("--bin", metavar="DIR", help="ringd and ringctl from DIR instead of those built here")
    given = parser.parse_args()
    known = SERVICES[given.service].faults
    mixed = ("mixed",) if len(known) > 1 else ()
    given.kinds = [*known, *mixed] if given.faults == "all" else given.faults.split(",")
    for kind in given.kinds:
        if kind not in (*known, *mixed):
            parser.error(f"there is no fault '{kind}' with {given.service}: there are {', '.join((*known, *mixed))}")
    if not 2 <= given.nodes <= 200:
        parser.error("there are 2 to 200 nodes")
    given.seed = given.seed or time.time_ns() % 1_000_000
    return given


def fail(text: str, *more: str) -> int:
    print(f"{NAME}: {text}", *(f"  {line}" for line in more), sep="\n", file=sys.stderr)
    return 2


# --- outside ---------------------------------------------------------------------------------


def need_tools(service: type[Service]) -> None:
    needs = {**TOOLS, **service.needs}
    missing = [
        f"'{tool}' is not installed: install the package {package}"
        for tool, package in needs.items()
        if not shutil.which(tool)
    ]
    if missing:
        raise SystemExit(fail("some tools are missing", *missing))


def build() -> str:
    """The folder with the programs that are built here."""
    os.environ["PATH"] += os.pathsep + os.path.expanduser("~/.cargo/bin")
    if not shutil.which("cargo"):
        raise SystemExit(fail("cargo is not installed", "see https://rustup.rs, or give --bin DIR"))
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "ringd", "-p", "ringctl", "--bins"]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise SystemExit(fail("the build failed"))
    return os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "release")


def outside(given: argparse.Namespace) -> int:
    """Runs the inner half in namespaces that end with this process, in whatever way it ends."""
    need_tools(SERVICES[given.service])
    command = ["setpriv", "--pdeathsig", "KILL", *NAMESPACES]
    if os.geteuid() != 0:
        command += ["--user", "--map-root-user"]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        hint = "in a container, it needs to be a privileged one" if os.geteuid() == 0 else "with sudo it may work"
        return fail(f"cannot make namespaces: {tried.stderr.strip()}", hint)
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda number, _: sys.exit(128 + number))
    programs = given.bin or (build() if given.service.startswith("ringd") else ".")
    folder = tempfile.mkdtemp(prefix="ringd-lock-set.")
    inner = None
    try:
        arguments = [*sys.argv[1:], "--seed", str(given.seed), "--bin", os.path.abspath(programs)]
        # A session of its own: Ctrl-C is for this half, which ends the other.
        inner = subprocess.Popen(
            [*command, sys.executable, "-B", os.path.abspath(__file__), *arguments],
            env={**os.environ, INSIDE: folder}, start_new_session=True,
        )
        return inner.wait()
    finally:
        if inner and inner.poll() is None:
            inner.kill()
            inner.wait()
        shutil.rmtree(folder, ignore_errors=True)


# --- inside ----------------------------------------------------------------------------------


def collect_all_but(child: int) -> int:
    """The first process of a pid namespace collects those that end without a parent."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def inside(given: argparse.Namespace, folder: str) -> int:
    if child := os.fork():
        return collect_all_but(child)
    # In memory: a disk's speed is not what is tested.
    subprocess.run(["mount", "-n", "-t", "tmpfs", NAME, folder], check=True)
    os.chdir(folder)
    # For the locks of the daemons, where /run is closed to this user.
    runtime = os.path.join(folder, "run")
    os.mkdir(runtime, 0o700)
    os.environ["XDG_RUNTIME_DIR"] = runtime
    chance = random.Random(given.seed)
    service = SERVICES[given.service](Segment(given.nodes), folder, given.bin)
    began = time.monotonic()
    try:
        for node in service.segment.nodes:
            service.start(node)
        service.ready()
        nemesis = Nemesis(service, chance)
        title(given)
        outcomes = []
        for kind in given.kinds:
            service.ready()
            outcome = Trial(service, kind, chance).run(given.seconds, nemesis)
            print(row(outcome), flush=True)
            outcomes.append(outcome)
            if not outcome.acknowledged or (kind != "none" and not outcome.faults):
                said = tail(os.path.join(folder, CLIENTS_LOG))
                raise RuntimeError("\n  ".join(["nothing was tried: the clients said:", *said]))
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        return fail(str(error), *(line for node in service.segment.nodes for line in tail(service.log(node))))
    for outcome in outcomes:
        tell_lost(outcome, nemesis, began)
    lost = sum(len(outcome.lost) for outcome in outcomes)
    print(f"\n{lost or 'no'} update{'s' * (lost != 1)} lost")
    return 1 if lost else 0


def title(given: argparse.Namespace) -> None:
    clients = CLIENTS_PER_NODE * given.nodes
    print(f"{given.service}: {given.nodes} nodes, {clients} clients, {given.seconds:g} s a fault, seed {given.seed}\n")
    print("| fault | times | tried | acknowledged | lost | unconfirmed |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)


def row(it: Outcome) -> str:
    return f"| {it.kind} | {it.faults} | {it.tried} | {len(it.acknowledged)} | {len(it.lost)} | {it.unconfirmed} |"


def tell_lost(outcome: Outcome, nemesis: Nemesis, began: float) -> None:
    for added in outcome.lost[:3]:
        before = [what for at, what in nemesis.done if at < added.at]
        print(
            f"lost with {outcome.kind}: {added.element} of node {added.node}, acknowledged at {added.at - began:.1f} s;"
            f" the last fault before: {before[-1] if before else 'nothing'}"
        )


def tail(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return [line.rstrip() for line in file.readlines()[-3:]]
    except OSError:
        return []


def main() -> int:
    given = options()
    folder = os.environ.get(INSIDE)
    return inside(given, folder) if folder else outside(given)


if __name__ == "__main__":
    sys.exit(main())
