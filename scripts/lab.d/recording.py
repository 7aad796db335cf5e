"""Waits for the steps of a recording, and reads its frames. scripts/capture and the modules of its systems use it."""

import os
import struct
import time

# Seconds in which a file of a step must exist.
WAIT_LIMIT = 60


def wait_for(path, writer, size=0):
    """Waits until the process `writer` has written this many bytes to a file. Fails if the process ends before."""
    limit = time.monotonic() + WAIT_LIMIT
    while not os.path.exists(path) or os.path.getsize(path) < size:
        if writer.poll() is not None or time.monotonic() > limit:
            command = " ".join(map(str, writer.args))
            raise SystemExit(f"capture: {command!r} has not written {path}; exit code: {writer.poll()}")
        time.sleep(0.01)


def frames(file):
    """Yields the time in nanoseconds and the bytes of each frame of a recording."""
    with open(file, "rb") as recording:
        recording.read(24)
        while head := recording.read(16):
            seconds, nanos, length, _ = struct.unpack("=IIII", head)
            yield seconds * 10**9 + nanos, recording.read(length)
