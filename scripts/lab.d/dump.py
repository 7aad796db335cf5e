#!/usr/bin/env python3
"""Prints the ring's frames that pass an interface. It shares no code with ringd, so an error of ringd's codec cannot
hide in it. Needs only Python and permission to open a packet socket."""

import argparse
import signal
import socket
import struct
import sys
import time

ETH_P_ALL = 3
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 263, 1, 1
KINDS = {
    1: "TAKE_TOKEN", 2: "TOKEN_IS_HERE", 3: "PING", 4: "TOKEN_WAS_HERE_RECENTLY",
    5: "WHERE_IS_TOKEN", 6: "GENERATING_TOKEN", 7: "RING_MEMBERS", 8: "WANT_TOKEN", 9: "LEAVING",
    10: "STAMPS", 11: "FORGET", 12: "LOCKS", 13: "LOCKS_QUESTION",
    14: "SURVEY", 15: "REPORT", 16: "PROBE", 17: "MEASURES",
}
PURPOSES = ("more follows", "tell", "ask", "agree", "differ")
LOCKS_PURPOSES = ("request", "release", "change", "agree", "renew", "renewed", "part")
GRADES = ("alone", "all-heard", "quorum")
MODES = ("exclusive", "shared")
LOCK_STATES = ("waiting", "held", "gone", "refused")
BACKINGS = {1: "unused", 2: "used", 3: "confirmed", 4: "quorum"}
NEVER = 2**64 - 1
SIGNATURE_LEN = 44
SIGNED = (None, "CHALLENGE", "ANSWER")


def mac(data):
    return "broadcast" if data == b"\xff" * 6 else data.hex(":")


def ip(data):
    if not any(data):
        return "none"
    if data[:12] == b"\0" * 10 + b"\xff\xff":
        return socket.inet_ntop(socket.AF_INET, data[12:])
    return socket.inet_ntop(socket.AF_INET6, data)


class Reader:
    """Reads fields one after the other; raises ValueError at the end of the bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise ValueError(f"truncated: {count} bytes needed at offset {self.at}, {len(self.data) - self.at} left")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, count):
        return int.from_bytes(self.take(count), "big")

    def token(self):
        return f"token {self.number(8)}-{mac(self.take(6))}-{self.number(4)}"

    def digest(self):
        return f"ring {self.number(4)} members {self.take(8).hex()}"

    def tail(self):
        length = self.number(2)
        data = self.take(length)
        return f"data {data.hex()}" if length else "no data"

    def members(self):
        count = self.number(2)
        return ", ".join(f"{mac(self.take(6))} {ip(self.take(16))}" for _ in range(count))

    def stamps(self):
        serial, purpose, digest = self.number(4), self.number(1), self.take(8).hex()
        purpose = PURPOSES[purpose] if purpose < len(PURPOSES) else f"purpose {purpose}"
        names = [self.take(75)[:32].rstrip(b"\0").decode(errors="replace") for _ in range(self.number(2))]
        return f"serial {serial} {purpose} stamps {digest} {' '.join(names)}".rstrip()

    def locks(self):
        serial, purpose, grade = self.number(8), self.choice(LOCKS_PURPOSES), self.choice(GRADES)
        digest, first, last = self.take(8).hex(), self.take(8).hex(), self.take(8).hex()
        head = f"serial {serial} {purpose} grade {grade} locks {digest} keys {first}-{last}"
        return "  ".join([head] + [self.lock() for _ in range(self.number(2))])

    def lock(self):
        name, member, session = self.text(64), mac(self.take(6)), self.number(8)
        mode, grade, state = self.choice(MODES), self.choice(GRADES), self.choice(LOCK_STATES)
        ticket, fence, flag, age = self.number(8), self.token(), self.number(8), self.number(8)
        age = "unknown" if age == NEVER else milliseconds(age)
        return (
            f"{name} {state} by {member} session {session} {mode} grade {grade} ticket {ticket} fence {fence} "
            f"flag {flag} age {age} program {self.text(24) or 'unknown'}"
        )

    def sums(self):
        grade, first = self.choice(GRADES), self.take(8).hex()
        return f"grade {grade} from {first} sums {' '.join(self.take(8).hex() for _ in range(64))}"

    def choice(self, names):
        number = self.number(1)
        return names[number] if number < len(names) else str(number)

    def text(self, count):
        return self.take(count).rstrip(b"\0").decode(errors="replace")

    def trailer(self, mark, length):
        """Moves behind a trailer and returns its bytes without the mark, or returns None if there is no such trailer."""
        trailer = self.data[self.at:self.at + length]
        if len(trailer) < length or trailer[:4] != mark:
            return None
        self.at += length
        return Reader(trailer[4:])


def milliseconds(nanoseconds):
    return f"{nanoseconds / 1e6:g} ms"


def trailers(kind, reader):
    """Returns the words that describe the trailers after a message."""
    words, card = [], None
    if kind == 2 and (beat := reader.trailer(b"RGD1", 8)):
        words.append(f"beat {beat.number(4)}")
    if kind == 3 and (trailer := reader.trailer(b"RGD1", 35)):
        flags, token, beat, lasts = trailer.number(1), trailer.token(), trailer.number(4), trailer.number(8)
        if flags & 1:
            words.append(f"confirms {token} beat {beat} for {milliseconds(lasts)}")
        if flags & 2:
            words.append("paused")
    if kind in (2, 3, 5, 6, 8) and (profile := reader.trailer(b"RGD2", 43)):
        flags, mtu, constants = profile.number(1), profile.number(2), profile.take(8).hex()
        patience, shortest, take = (milliseconds(profile.number(8)) for _ in range(3))
        backing = BACKINGS.get(flags >> 5)
        words += [text for flag, text in ((1, "deaf"), (2, "unreached")) if flags & flag]
        words += [f"backing {backing}"] if backing else []
        words.append(
            f"profile mtu {mtu} constants {constants} patience {patience} shortest {shortest} take {take} "
            f"expect {profile.number(4)}"
        )
        if card := reader.trailer(b"RGD3", 25):
            version = ".".join(str(card.number(2)) for _ in range(3))
            unheard, held, length = card.take(6), card.number(8), card.number(1)
            words.append(f"card {version}")
            words += [f"unheard {mac(unheard)}"] if any(unheard) else []
            program = reader.take(length).decode(errors="replace")
            words += [f"held {milliseconds(held)} by {program or 'a program'}"] if held != NEVER else []
    if kind in (1, 2, 3) and (standing := reader.trailer(b"RGD4", 54)):
        token, change = standing.token(), standing.number(8)
        quorum, others, settles = standing.take(8).hex(), standing.take(8).hex(), standing.number(8)
        settles = "unknown" if settles == NEVER else milliseconds(settles)
        words.append(f"standing {token} change {change} quorum {quorum} others {others} settles {settles}")
    if card and (trailer := reader.trailer(b"RGD5", 5)):
        name = reader.take(trailer.number(1))
        words.append(f"host name {name.decode('ascii', errors='replace')!r}")
    if card and (trailer := reader.trailer(b"RGD6", 13)):
        left, length = trailer.number(8), trailer.number(1)
        reason = reader.take(length).decode(errors="replace")
        words.append(f"pause ends {'never' if left == NEVER else 'in ' + milliseconds(left)} reason {reason!r}")
    return words


def decode(payload):
    """Returns a frame's author and the words that describe its message (layouts: docs/reference/lab2/frames.md)."""
    reader = Reader(payload)
    kind, reserved, author = reader.number(1), reader.number(1), reader.take(6)
    words = [KINDS.get(kind, f"unknown kind {kind}")]
    if reserved:
        words.append(f"reserved byte {reserved}")
    if kind in (1, 2):
        words += [reader.token(), reader.digest(), reader.tail()]
    elif kind == 3:
        words += [reader.digest(), f"ip {ip(reader.take(16))}"]
    elif kind == 4:
        words += [reader.token(), f"holder {mac(reader.take(6))}"]
    elif kind == 6:
        words.append(reader.token())
    elif kind == 7:
        words += [reader.digest(), reader.members()]
    elif kind == 10:
        words += [reader.token(), reader.stamps()]
    elif kind == 11:
        words.append(", ".join(mac(reader.take(6)) for _ in range(reader.number(2))))
    elif kind == 12:
        words += [reader.token(), reader.locks()]
    elif kind == 13:
        words.append(reader.sums())
    return author, words + trailers(kind, reader)


def separate(payload):
    """Returns the message, its kind and its key, without the signature (layout: docs/reference/trust.md)."""
    signature = payload[-SIGNATURE_LEN:]
    if len(signature) < SIGNATURE_LEN or signature[20:23] != b"RKT" or signature[23] >= len(SIGNED):
        return payload, None, []
    key = int.from_bytes(signature[24:28], "big")
    return payload[:-SIGNATURE_LEN], SIGNED[signature[23]], [f"key {key}"]


def describe(frame):
    message, kind, key = separate(frame[14:])
    if kind:
        return "  ".join([kind, f"nonce {message.hex()}"] + key)
    try:
        author, words = decode(message)
    except ValueError as error:
        return f"malformed ({error}): {frame[14:].hex()}"
    if author != frame[6:12]:
        words.insert(0, f"author {mac(author)}!")
    return "  ".join(words + key)


class Pcap:
    """A capture file for tcpdump and Wireshark, with nanosecond timestamps."""

    def __init__(self, path):
        self.file = sys.stdout.buffer if path == "-" else open(path, "wb")
        self.file.write(struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))

    def write(self, now, frame):
        seconds, nanos = divmod(now, 10**9)
        self.file.write(struct.pack("=IIII", seconds, nanos, len(frame), len(frame)) + frame)
        self.file.flush()


def arguments():
    parser = argparse.ArgumentParser(prog="dump", description="Print the ring's frames as they pass.")
    parser.add_argument("interface", help=argparse.SUPPRESS)
    parser.add_argument("-c", "--count", type=int, help="stop after COUNT frames")
    parser.add_argument("-k", "--kind", choices=KINDS.values(), metavar="KIND", help="print only this kind: " + " ".join(KINDS.values()))
    parser.add_argument("-w", "--write", metavar="FILE", help="write a pcap file instead ('-': standard output)")
    parser.add_argument("--ethertype", type=lambda text: int(text, 0), default=0x88B5, help="the ring's EtherType [default: 0x88b5]")
    return parser.parse_args()


def open_socket(interface):
    # The socket is for all EtherTypes: a bridge takes the frames of a port before a socket for a single EtherType sees
    # them.
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    tap.bind((interface, ETH_P_ALL))
    # Only a promiscuous bridge delivers the unicast frames between its ports to this socket.
    request = struct.pack("=iHH8s", socket.if_nametoindex(interface), PACKET_MR_PROMISC, 0, b"")
    tap.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)
    return tap


def main():
    options = arguments()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        tap = open_socket(options.interface)
        pcap = Pcap(options.write) if options.write else None
    except OSError as error:
        sys.exit(f"dump: cannot listen on {options.interface}: {error}")
    wanted, seen = options.ethertype.to_bytes(2, "big"), 0
    while options.count is None or seen < options.count:
        frame = tap.recv(65535)
        now = time.time_ns()
        if frame[12:14] != wanted or options.kind and KINDS.get(frame[14] if len(frame) > 14 else 0) != options.kind:
            continue
        seen += 1
        if pcap:
            pcap.write(now, frame)
        else:
            clock = time.strftime("%H:%M:%S", time.localtime(now // 10**9))
            print(f"{clock}.{now // 1000 % 10**6:06}  {mac(frame[6:12])} > {mac(frame[:6]):17}  {describe(frame)}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
