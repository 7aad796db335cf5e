#!/usr/bin/env python3
"""Kills the owner of the token in a lab, and prints the times of the job on each machine as JSON."""

import json
import struct
import subprocess
import sys
import threading
import time

LAB = sys.argv[1]
NODES = [1, 2, 3, 4]
PATIENCE = 60  # seconds
WORK = 2.2  # seconds for which the picture shows a job at work
MARGIN = 0.5  # seconds before the kill and after the job's return for which the frames are kept
# The job prints the time in a loop.
JOB = 'while :; do echo "$EPOCHREALTIME"; sleep 0.05; done'
# Prints the time, and kills the daemon whose pid is in the lab's file. Kills its guardian first, as if the machine died.
KILL = """pid=$(</run/lab/node$1/pid)
for child in $(</proc/$pid/task/$pid/children); do
    [ "$(<"/proc/$child/comm")" != ringd-guardian ] || kill -KILL "$child"
done
echo "$EPOCHREALTIME"
kill -KILL "$pid\""""


def lab(*arguments):
    done = subprocess.run([LAB, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


class Job:
    """The job on one machine: `ringctl run` waits for the token and works while this machine holds it."""

    def __init__(self, node):
        self.node = node
        self.ticks = []  # the times that the job has printed
        command = [LAB, "exec", str(node), "ringctl", "run", "--", "bash", "-c", JOB]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.ticks.append(float(line))

    def wait(self):
        code = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return code


class Capture:
    """All frames of the segment, as the bridge forwards them. The end of the lab also ends the capture."""

    def __init__(self):
        self.process = subprocess.Popen([LAB, "dump", "-w", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.pcap = b""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        while piece := self.process.stdout.read1():
            self.pcap += piece

    def frames(self, begin, end):
        """Returns the time, the sender, the kind, and whether it is a broadcast, of each frame."""
        pcap, at, frames = self.pcap, 24, []  # the head of a pcap file has 24 bytes
        while at + 16 <= len(pcap):
            seconds, nanos, length, _ = struct.unpack_from("=IIII", pcap, at)
            frame = pcap[at + 16:at + 16 + length]
            at += 16 + length
            moment = seconds + nanos / 1e9
            if len(frame) > 14 and begin <= moment <= end:
                # The last byte of a MAC address in the lab is the number of the node.
                frames.append([moment, frame[11], frame[14], frame[:6] == b"\xff" * 6])
        return frames


def wait_for_worker(jobs):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for job in jobs:
            if job.ticks:
                return job
        time.sleep(0.01)
    sys.exit(f"failover-picture: no machine started the job within {PATIENCE} s")


def main():
    print(lab("up", len(NODES)), file=sys.stderr)
    capture = Capture()
    began = time.time()
    jobs = [Job(node) for node in NODES]
    first = wait_for_worker(jobs)
    time.sleep(WORK)
    killed = float(lab("exec", first.node, "bash", "-c", KILL, "kill", first.node))
    code = first.wait()
    if code != 75:
        sys.exit(f"failover-picture: 'ringctl run' of the killed owner exited with {code}, not with 75")
    second = wait_for_worker([job for job in jobs if job is not first])
    time.sleep(WORK)
    lab("start", first.node)
    back = time.time()
    jobs.append(Job(first.node))
    time.sleep(WORK)
    ended = time.time()
    frames = capture.frames(killed - MARGIN, second.ticks[0] + MARGIN)
    lab("down")
    for job in jobs:
        job.wait()
        job.ticks = [it for it in job.ticks if it < ended]
    workers = [job for job in jobs if job.ticks]
    if len(workers) != 2 or first.ticks[-1] >= second.ticks[0]:
        sys.exit("failover-picture: the job did not run on one machine and later on another")
    json.dump(
        {
            "nodes": NODES,
            "began": began,
            "ended": ended,
            "killed": killed,
            "back": back,
            "frames": frames,
            "runs": [{"node": job.node, "ticks": job.ticks} for job in (first, second)],
        },
        sys.stdout,
    )


main()
