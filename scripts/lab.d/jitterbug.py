"""Records a ring of Jitterbug in the lab, and prints its messages for docs/jitterbug/datagrams.md.

scripts/capture calls this module. The decoder shares no code with ringd, so an error of ringd's codec cannot hide in
it. The decoder needs whole messages in each TCP segment, as in a small ring.

Two nodes start at the same time, a third one joins, node 1 takes a lock, and its daemon is killed and started again.
Each line is a datagram or a TCP segment with data: milliseconds since the first datagram, sender, receiver, messages.
Series of similar lines are left out."""

import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from recording import frames, wait_for

DUMP = pathlib.Path(__file__).resolve().parent / "dump.py"
UDP_PORT = 57700
TCP, UDP = 6, 17
FIN, RST = 1, 4
TERMS_LEN = 33
# The number of lines that each step prints.
SHOWN = {"start": 14, "join": 10, "rest": 5, "lock": 8, "crash": 18, "back": 7}


def record(lab_path, file):
    """Runs the steps while their frames are recorded, and returns the time at which each step began."""
    def lab(*arguments):
        subprocess.run([lab_path, *arguments], stdout=sys.stderr, check=True)

    # Process 1 of the lab is in the network of the bridge.
    bridge = ["nsenter", "--net=/proc/1/ns/net", "python3", str(DUMP), "br0", "--ethertype", "0x0800", "-w", file]
    steps = {}

    def begin(step):
        steps[step] = time.time_ns()

    lab("up", "2", "--system", "jitterbug")
    try:
        for node in ("1", "2"):
            lab("kill", node)
        recorder = subprocess.Popen([lab_path, "exec", "1", *bridge])
        wait_for(file, recorder)
        begin("start")
        starts = [subprocess.Popen([lab_path, "start", node], stdout=subprocess.DEVNULL) for node in ("1", "2")]
        for start in starts:
            start.wait()
        time.sleep(1.2)
        begin("join")
        lab("add")
        time.sleep(1)
        begin("rest")
        time.sleep(0.5)
        locked = file + ".locked"
        work = ["ringctl", "-i", "jitterbug-eth0", "run", "-c", f"touch {locked}; exec sleep 30"]
        job = subprocess.Popen([lab_path, "exec", "1", *work], stderr=subprocess.DEVNULL)
        wait_for(locked, job)
        begin("lock")
        time.sleep(2.5)
        begin("crash")
        lab("kill", "1")
        job.wait()
        os.remove(locked)
        time.sleep(4)
        begin("back")
        lab("start", "1")
        time.sleep(1)
        recorder.terminate()
        recorder.wait()
    finally:
        lab("down")
    return steps


class Names:
    """Short names: n1 for a node, A for the first printed token_id."""

    def __init__(self):
        self.ids = collections.OrderedDict()

    def node(self, address):
        return "all" if address[3] == 255 else f"n{address[3]}"

    def letter(self, number):
        return self.ids.setdefault(number, chr(ord("A") + len(self.ids)))

    def token(self, data):
        number = int.from_bytes(data, "big", signed=True)
        return f"{'+' if number > 0 else '-'}{self.letter(abs(number))}"

    def terms(self, data):
        """Returns the words for the fields that differ between the messages of a recording."""
        follows, flags = int.from_bytes(data[20:24], "big"), data[32]
        words = [f" follows {self.letter(follows)}"] if follows else []
        return "".join(words + [text for bit, text in ((1, " followed"), (2, " asks")) if flags & bit])

    def datagram(self, data):
        kind, data = data[0], data[1:]
        length = {0x01: 6, 0x11: 4}[kind]
        if len(data) not in (length, length + TERMS_LEN):
            raise ValueError(f"a datagram of {len(data)} bytes")
        terms = self.terms(data[length:]) if data[length:] else " without terms"
        return f"TR{kind // 16 + 1} {self.token(data[:4])}{terms}"

    def segment(self, data):
        """Returns the messages in the data of a TCP segment."""
        words = []
        while data:
            kind, data = data[0], data[1:]
            if kind == 0x21:
                words.append(f"TP1 {self.token(data[:4])} list {data[4:6].hex()}")
                data = data[8:]
            elif kind in (0x31, 0x41):
                words.append("TP2" if kind == 0x31 else "TP3")
            elif kind == 0x51:
                count, data, nodes = int.from_bytes(data[:4], "big"), data[4:], []
                for _ in range(count):
                    nodes.append(self.node(data[1:5]))
                    data = data[7:]
                words.append(f"TP4 {', '.join(nodes)}")
            elif kind == 0x61:
                words.append(f"TP5 {self.token(data[:4])} data {data[4:].decode()}")
                data = b""
            elif kind == 0x71:
                words.append(f"TP6{self.terms(data[:TERMS_LEN])}")
                data = data[TERMS_LEN:]
            else:
                raise ValueError(f"an unknown message {kind:#04x}")
        return words

    def line(self, packet):
        """Returns the route and the messages of an IP packet. Most packets have no message."""
        header, body = packet[:20], packet[20:int.from_bytes(packet[2:4], "big")]
        if header[9] == UDP and int.from_bytes(body[2:4], "big") == UDP_PORT:
            words = [self.datagram(body[8:])]
        elif header[9] == TCP:
            words = self.segment(body[body[12] // 16 * 4:])
            words += [text for bit, text in ((FIN, "end"), (RST, "reset")) if body[13] & bit]
        else:
            words = []
        return f"{self.node(header[12:16])} > {self.node(header[16:20])}", words


def lines(file, names, since):
    """Returns the lines as lists: time, route, messages. The end of a stream stands in the line of its last message."""
    found = []
    for at, frame in frames(file):
        route, words = names.line(frame[14:]) if at >= since else ("", [])
        if words == ["end"] and found and found[-1][1] == route:
            found[-1][2].append("end")
        elif words:
            found.append([at, route, words])
    return found


def show(file, steps):
    names, marks = Names(), list(steps.items())
    found = lines(file, names, steps["start"])
    for place, (step, begun) in enumerate(marks):
        ends = marks[place + 1][1] if marks[place + 1:] else time.time_ns()
        # In these steps, a node starts. The lines before its first message show nothing new.
        first = {"join": "n3", "back": "n1"}.get(step, "")
        here = [line for line in found if begun <= line[0] < ends]
        while here and not here[0][1].startswith(first):
            here.pop(0)
        print(f"--- {step}")
        for at, route, words in here[:SHOWN[step]]:
            print(f"{(at - found[0][0]) / 1e6:8.1f}  {route:8}  {'  '.join(words)}")
        print(f"             … {max(0, len(here) - SHOWN[step])} more")
    for number, letter in names.ids.items():
        print(f"{letter} is {number}")


def capture(lab_path, file):
    """Records a run, and prints it. With `file`, the frames stay in this file."""
    with tempfile.TemporaryDirectory() as scratch:
        file = os.path.abspath(file or scratch + "/frames.pcap")
        show(file, record(lab_path, file))
