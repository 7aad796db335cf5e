#!/usr/bin/env python3
"""Prints the messages of the board's nodes, and the changes of the database. It shares no code with ring-board, so an
error of ring-board's codec cannot hide in it. Layouts: docs/board/messages.md.

    board.py INTERFACE DATABASE      prints a line per message and per change until a signal ends it

scripts/lab calls it for 'dump', and scripts/capture calls capture() for a recording."""

import os
import pathlib
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import time

import dump

PORT = 7400
MESSAGES = {1: "JOIN", 2: "SUCCESSOR", 3: "SUCCESSOR_REQUEST", 4: "TOKEN", 5: "TOKEN_ACK", 6: "COORDINATOR_ELECTION"}
METHODS = {1: "RING_BASED", 2: "CHANG_ROBERTS", 3: "BULLY"}
STEPS = {1: "ELECTION", 2: "COORDINATOR", 3: "OK"}
TCP, UDP = 6, 17
FIN, SYN, RST = 1, 2, 4
HEADER = 12
SO_TIMESTAMPNS = 35  # Python's module socket has no such name


def number(data):
    return int.from_bytes(data, "big")


def sequence(value):
    return f"{value >> 32}:{value & 0xffffffff}"


def describe(frame):
    """Returns the words for a frame."""
    kind, payload = frame[1], frame[HEADER:]
    words = MESSAGES.get(kind, f"type {kind}")
    if kind == 2:
        words += f" {number(payload)}"
    elif kind in (4, 5):
        words += f" {sequence(number(payload))}"
    elif kind == 6:
        method, step = METHODS.get(payload[0]), STEPS.get(payload[1])
        rest = payload[8:] if (payload[0], payload[1]) == (1, 1) else payload[4:]
        ids = [number(rest[at:at + 4]) for at in range(0, len(rest), 4)]
        words = f"{step} {method} {' '.join(map(str, ids))}".rstrip()
    return words


class Streams:
    """Puts the bytes of each direction of each connection together, and takes frames from them. A connection without a
    frame is only for proof (rule A6), so its beginning and its end are no events."""

    def __init__(self):
        self.expected, self.bytes, self.asked, self.used = {}, {}, set(), set()

    def on_segment(self, key, flags, at, data):
        """Returns the texts of the events that this segment completes."""
        back, texts = (key[1], key[0]), []
        if flags & SYN:
            self.expected[key], self.bytes[key] = at + 1, b""
            (self.asked.discard(back) if back in self.expected else self.asked.add(key))
            return []
        repeated = (self.expected.get(key, at) - at) % 2**32
        if repeated < len(data):
            self.bytes[key] = self.bytes.get(key, b"") + data[repeated:]
            self.expected[key] = (at + len(data)) % 2**32
        while len(rest := self.bytes.get(key, b"")) >= HEADER + number(rest[8:12]):
            length = HEADER + number(rest[8:12])
            self.bytes[key] = rest[length:]
            texts.append(describe(rest[:length]))
            self.used |= {key, back}
        if flags & RST and back in self.asked:
            texts.append("refuses the connection")
        elif flags & (FIN | RST) and key in self.used:
            texts.append("ends the connection")
        if flags & (FIN | RST):
            for gone in (key, back):
                self.expected.pop(gone, None)
                self.bytes.pop(gone, None)
                self.asked.discard(gone)
                self.used.discard(gone)
        return texts

    def texts(self, frame):
        """Returns (sender, receiver, text) for each event of an Ethernet frame."""
        if frame[12:14] != b"\x08\x00" or frame[23] not in (TCP, UDP):
            return []
        packet = frame[14:14 + number(frame[16:18])]
        segment = packet[(packet[0] & 15) * 4:]
        ports = number(segment[:2]), number(segment[2:4])
        if PORT not in ports:
            return []
        ends = [(packet[at:at + 4], port) for at, port in zip((12, 16), ports)]
        if packet[9] == UDP:
            texts = [describe(segment[8:])]
        else:
            start = (segment[12] >> 4) * 4
            texts = self.on_segment(tuple(ends), segment[13], number(segment[4:8]), segment[start:])
        protocol = "udp" if packet[9] == UDP else "tcp"
        return [(f"n{ends[0][0][3]} > n{ends[1][0][3]}", protocol, text) for text in texts]


class Rows:
    """The rows of the database. A change is a text with the new values."""

    def __init__(self, file):
        # The values of a new database are no changes.
        self.file, self.before = file, ["coordinator None, term 0", "no members", "no token"]
        self.database, self.read_at = None, time.time_ns()

    def read(self):
        if not self.database and os.path.exists(self.file):
            self.database = sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)
        if not self.database:
            return self.before
        query = self.database.execute
        ring = dict(query("SELECT id, successor FROM nodes WHERE successor IS NOT NULL"))
        (id, term, acting), = query("SELECT id, term, acting FROM coordinator")
        (used, holder), = query("SELECT sequence, holder FROM token")
        order = [min(ring)] if ring else []
        while order and (following := ring.get(order[-1])) not in (None, *order):
            order.append(following)
        return [
            f"coordinator {id}, term {term}{', acting' if acting else ''}",
            f"ring {' → '.join(map(str, [*order, order[0]]))}" if order else "no members",
            f"token used {sequence(used)} by {holder}" if holder else "no token",
        ]

    def changes(self):
        """Returns the changes, and the time of the last read that did not show them."""
        earlier, self.read_at = self.read_at, time.time_ns()
        try:
            now = self.read()
        except (sqlite3.Error, ValueError):
            return earlier, []  # the tables do not exist
        changed = [text for text in now if text not in self.before]
        self.before = now
        return earlier, changed


def main():
    interface, file = sys.argv[1:]
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    tap = dump.open_socket(interface)
    tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    tap.settimeout(0.0005)
    streams, rows = Streams(), Rows(file)
    while True:
        events = []
        try:
            # The time is the time of arrival, even if this program is late.
            frame, ((_, _, stamp),), *_ = tap.recvmsg(65535, 64)
            seconds, nanos = struct.unpack("qq", stamp)
            events = [(seconds * 10**9 + nanos, *event) for event in streams.texts(frame)]
        except socket.timeout:
            pass
        at, changes = rows.changes()
        events += [(at, "database", "rows", text) for text in changes]
        for at, route, protocol, text in sorted(events, key=lambda event: event[0]):
            print(f"{at} {route:9}  {protocol:4}  {text}", flush=True)


# --- the recording ---------------------------------------------------------------------------

# The number of lines that each step prints.
SHOWN = {"found": 3, "join": 10, "third": 9, "post": 6, "crash": 12, "return": 13}
BODY = '{"author":"a","text":"hello"}'
REQUEST = (
    "POST /posts HTTP/1.1\\r\\nHost: 127.0.0.1:8080\\r\\nConnection: close\\r\\nContent-Type: application/json\\r\\n"
    f"Content-Length: {len(BODY)}\\r\\n\\r\\n{BODY}"
)
POST = f"exec 3<>/dev/tcp/127.0.0.1/8080; printf '%b' '{REQUEST}' >&3; head -n 1 <&3"


def run(lab):
    """Runs the steps while their messages are recorded. Returns the lines of each step."""

    def call(*arguments):
        subprocess.run([lab, *arguments], stdout=sys.stderr, check=True)

    call("up", "3", "--system", "board")
    try:
        # The first nodes of the lab have a database. These nodes have an empty one.
        for node in "123":
            call("kill", node)
        call("exec", "1", "bash", "-c", "rm -f /run/lab/board.db*")
        recorder = subprocess.Popen([lab, "dump"], stdout=subprocess.PIPE, text=True)
        time.sleep(1)
        steps = []
        for name, command, pause in [
            ("found", ("start", "3"), 0.6),
            ("join", ("start", "1"), 0.6),
            ("third", ("start", "2"), 0.6),
            ("post", ("exec", "2", "bash", "-c", POST), 0.3),
            ("crash", ("kill", "3"), 3),
            ("return", ("start", "3"), 3),
        ]:
            steps.append((time.time_ns(), name))
            call(*command)
            time.sleep(pause)
    finally:
        call("down")
    lines = recorder.communicate()[0].splitlines()
    return steps, sorted(lines, key=lambda line: int(line.split(" ", 1)[0]))


def capture(lab, file):
    steps, lines = run(lab)
    start, shown, hidden = 0, 0, {}
    if file:
        pathlib.Path(file).write_text("\n".join(lines) + "\n")

    def end_step():
        if hidden:
            print(f"            … {', '.join(f'{count} {kind}' for kind, count in hidden.items())}")
        hidden.clear()

    for line in lines:
        at, text = line.split(" ", 1)
        at = int(at)
        if not start and at < steps[0][0]:
            continue
        start = start or at
        while steps and at >= steps[0][0]:
            end_step()
            name, shown = steps.pop(0)[1], 0
            print(f"--- {name}")
        shown += 1
        if shown > SHOWN[name]:
            kind = text[17:].split(" ")[0]
            hidden[kind] = hidden.get(kind, 0) + 1
            continue
        print(f"{(at - start) / 1e6:9.2f}  {text}")
    end_step()


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"board.py: {os.strerror(error.errno)}")
    except KeyboardInterrupt:
        sys.exit(130)
