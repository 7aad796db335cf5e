"""Records servers of the token service in the lab, and prints their messages for docs/token-service/messages.md.

scripts/capture calls this module. The decoder shares no code with ringd, so an error of ringd's codec cannot hide in
it. The decoder does not join messages in parts.

Three servers start. Client a holds the token abc, and client b waits for it. Node 1 leads and has the token: its server
is killed and started again. Each line is a datagram: milliseconds since the first datagram, sender and receiver,
message. If two datagrams of a step differ only in the numbers of rounds and messages, the second one is left out."""

import collections
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

from recording import frames, wait_for

DUMP = pathlib.Path(__file__).resolve().parent / "dump.py"
PORT = 7301
UDP = 17
SERVERS = 3
# Nanoseconds in which a server sends a message to all other servers.
AT_ONCE = 2_000_000
STATES = ("DOWN", "BOOTING", "READY")
# The number of lines that each step prints.
SHOWN = {"start": 26, "token": 14, "wait": 20, "crash": 42, "return": 8, "back": 24}


def record(lab_path, file):
    """Runs the steps while their frames are recorded, and returns the time at which each step began."""
    def lab(*arguments):
        subprocess.run([lab_path, *arguments], stdout=sys.stderr, check=True)

    def on_bridge(*command):
        # Process 1 of the lab is in the network of the bridge. There, the recording also has the clients' datagrams.
        return [lab_path, "exec", "1", "nsenter", "--net=/proc/1/ns/net", *command]

    def client(*command):
        token = ["ringctl", "token", "--servers", "/run/lab/servers", "--client-timeout", "5s"]
        return subprocess.Popen(on_bridge(*token, "run", "-w", "60", "abc", "--", *command), stderr=subprocess.DEVNULL)

    nodes, steps = ("1", "2", "3"), {}

    def begin(step):
        steps[step] = time.time_ns()

    lab("up", "3", "--system", "ftn")
    try:
        for node in nodes:
            lab("kill", node)
        subprocess.run(on_bridge("ip", "address", "add", "10.88.0.200/24", "dev", "br0"), check=True)
        recorder = subprocess.Popen(on_bridge("python3", str(DUMP), "br0", "--ethertype", "0x0800", "-w", file))
        wait_for(file, recorder)
        begin("start")
        starts = [subprocess.Popen([lab_path, "start", node], stdout=subprocess.DEVNULL) for node in nodes]
        for start in starts:
            start.wait()
        time.sleep(7)  # the grace lasts 5 s
        begin("token")
        held, over = file + ".held", file + ".over"
        holder = client("sh", "-c", f"touch {held}; until [ -e {over} ]; do sleep 0.01; done")
        wait_for(held, holder)
        time.sleep(0.5)
        begin("wait")
        waiter = client("true")
        time.sleep(0.7)
        begin("crash")
        lab("kill", "1")
        time.sleep(2.5)
        begin("return")
        pathlib.Path(over).touch()
        holder.wait()
        waiter.wait()
        time.sleep(0.5)
        begin("back")
        lab("start", "1")
        time.sleep(2.5)
        recorder.terminate()
        recorder.wait()
    finally:
        lab("down")
    for path in (held, over):
        os.remove(path)
    return steps


class Reader:
    """Reads the values of a datagram one after the other."""

    def __init__(self, data):
        self.data = data

    def take(self, count):
        if count < 0 or count > len(self.data):
            raise ValueError(f"{count} bytes of {len(self.data)}")
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def int(self):
        first = self.take(1)[0]
        if first < 0x80:
            return first - 0x80 if first & 0x40 else first
        rest = self.take((first >> 4 & 7) + 1)
        bits = 4 + 8 * len(rest)
        value = (first & 15) << 8 * len(rest) | int.from_bytes(rest, "big")
        return value - (1 << bits) if value >> bits - 1 else value

    def string(self):
        return self.take(self.int())

    def token(self):
        return self.string(), self.string()

    def array(self, read):
        return [read() for _ in range(self.int())]


class Names:
    """Short names: n1 for a server, a for a client, C+3 for a configuration, a+2 for a msgnum of the client a."""

    def __init__(self):
        self.clients, self.ids, self.first, self.msgnums = {}, {}, None, {}

    def peer(self, address, port):
        if port == PORT:
            return f"n{address[3]}"
        return self.clients.setdefault((address, port), chr(ord("a") + len(self.clients)))

    def configuration(self, number):
        self.first = number if self.first is None else self.first
        return f"C{number - self.first:+d}" if number else "0"

    def msgnum(self, client, number):
        return f"{client}{number - self.msgnums.setdefault(client, number):+d}"

    def seq(self, reader):
        number, rounds = reader.int(), reader.int()
        if not number:
            return "seq 0"
        return f"{self.configuration(number)} round {rounds % 2**30}{' unproven' if rounds < 2**31 else ''}"

    def catalog(self, entries, client):
        number, part, parts, floor = (int(word) for word in entries[0][1].split())
        words = [f"{self.configuration(number)} part {part} of {parts} FLOOR {self.msgnum(client, floor)}"]
        for name, data in entries[1:]:
            words.append(f"{name.decode()} {data.decode()!r}" if name else data.decode())
        return " ".join(words)

    def grant(self, data):
        number, _, rest = data.partition(b" ")
        fence = int(number)
        return f"FENCE {self.configuration(fence >> 31)}:{fence % 2**31} data {rest.decode()!r}"

    def body(self, kind, reader, client, to):
        """Returns the words for the fields after the head. `client` is the name of the client among the two peers."""
        if kind == 11:
            reader.string()  # the port of the client
            return "LOGIN"
        if kind == 12:
            to = client if to else "0"
            number = self.configuration(reader.int())
            return f"CONFIG to {to} {number} {self.states(reader)}"
        if kind == 13:
            return f"CATALOG {self.catalog(reader.array(reader.token), client)}"
        if kind in (14, 15):
            return "ALIVE" if kind == 14 else "LOGOUT"
        if kind in (21, 22, 24):
            msgnum, (name, data) = self.msgnum(client, reader.int()), reader.token()
            if kind == 22:
                return f"GRANT {msgnum} {name.decode()} {self.grant(data)}"
            last = reader.int()
            if kind == 21:
                access = "shared" if last == 1 else "exclusive"
                return f"REQUEST {msgnum} {name.decode()} {access}" if name else f"introduction of {client}"
            if not name:
                return f"renewal {msgnum} {self.configuration(int(data))}"
            flags = " ".join(text for bit, text in ((1, "UPDATE"), (2, "DEASSIGN")) if last & bit)
            return f"RETURN {msgnum} {name.decode()} {flags}"
        if kind == 23:
            return f"REVOKE {reader.string().decode()}"
        if kind == 25:
            return f"CONFIRM {self.msgnum(client, reader.int())}"
        if kind == 31:
            seq, _, states = self.seq(reader), reader.int(), self.states(reader)
            sessions = reader.array(lambda: (reader.int(), reader.string()))
            return f"STATE {seq} {states} sessions {len(sessions)}"
        if kind == 32:
            return f"HEARTBEAT {self.seq(reader)} {STATES[reader.int()]}"
        if kind == 33:
            seq, vote = self.seq(reader), reader.int()
            return f"ELECT {seq} votes for {'no server' if vote < 0 else f'n{vote + 1}'}"
        if kind == 34:
            number, part, parts = reader.int(), reader.int(), reader.int()
            tokens = reader.array(lambda: (reader.token()[0].decode(), reader.int(), reader.array(reader.int))[0])
            return f"TRANSFER {self.configuration(number)} part {part} of {parts} tokens {' '.join(tokens) or 'none'}"
        if kind == 35:
            return f"TRANSFERRED {self.configuration(reader.int())} part {reader.int()}"
        raise ValueError(f"type {kind}")

    def states(self, reader):
        return " ".join(STATES[state] for state in reader.array(reader.int))

    def line(self, packet):
        """Returns the sender, the receiver and the message of an IP packet. Returns None for packets of other programs."""
        header, body = packet[:20], packet[20:int.from_bytes(packet[2:4], "big")]
        ports = struct.unpack("!HH", body[:4])
        if header[9] != UDP or PORT not in ports:
            return None
        peers = [self.peer(bytes(header[12:16]), ports[0]), self.peer(bytes(header[16:20]), ports[1])]
        client = next((peer for peer in peers if not peer.startswith("n")), "")
        reader = Reader(body[8:])
        kind, _, to, _ = (reader.int() for _ in range(4))
        text = self.body(kind, reader, client, to)
        if reader.data:  # the options of the server
            _ = [reader.int() for _ in range(2 if kind == 12 else 5)]
        if reader.data:
            raise ValueError(f"{len(reader.data)} bytes after {text}")
        return *peers, text


def news(text):
    """Returns a text without the numbers of rounds and messages."""
    words = text.split(" ")
    kept = [word for before, word in zip([""] + words, words) if before != "round"]
    if words[0] in ("renewal", "CONFIRM"):
        kept[1] = ""
    return " ".join(kept)


def lines(file):
    """Returns a list with time, sender, receivers and message. A message to several servers is one line."""
    names, found = Names(), []
    for at, frame in frames(file):
        line = names.line(frame[14:])
        if line is None:
            continue
        sender, receiver, text = line
        same = [it for it in found[-SERVERS:] if (it[1], it[3]) == (sender, text) and at - it[0] < AT_ONCE]
        if same and receiver not in same[0][2]:
            same[0][2].append(receiver)
        else:
            found.append((at, sender, [receiver], text))
    return names, found


def show(file, steps):
    names, found = lines(file)
    marks = list(steps.items())
    for place, (step, begun) in enumerate(marks):
        ends = marks[place + 1][1] if marks[place + 1:] else time.time_ns()
        seen, hidden = set(), collections.Counter()
        print(f"--- {step}")
        for at, sender, receivers, text in found:
            if not begun <= at < ends:
                continue
            line = (sender, *receivers, news(text))
            if line in seen or len(seen) == SHOWN[step]:
                hidden[text.split(" ")[0]] += 1
                continue
            seen.add(line)
            print(f"{(at - found[0][0]) / 1e6:8.1f}  {sender} > {' '.join(receivers):6}  {text}")
        print("             … " + ", ".join(f"{count} {kind}" for kind, count in hidden.most_common()))
    print(f"C+0 is {names.first}")


def capture(lab_path, file):
    """Records a run, and prints it. With `file`, the frames stay in this file."""
    with tempfile.TemporaryDirectory() as scratch:
        file = os.path.abspath(file or scratch + "/frames.pcap")
        show(file, record(lab_path, file))
