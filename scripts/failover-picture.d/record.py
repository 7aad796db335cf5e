#!/usr/bin/env python3
"""Kills the owner of the token in a lab, and prints the times of the job on each machine as JSON."""

import json
import subprocess
import sys
import threading
import time

LAB = sys.argv[1]
NODES = [1, 2, 3, 4]
PATIENCE = 60  # seconds
WORK = 2.2  # seconds for which the picture shows a job at work
# The job prints the time in a loop.
JOB = 'while :; do echo "$EPOCHREALTIME"; sleep 0.05; done'
# Prints the time, and kills the daemon whose pid is in the lab's file.
KILL = 'pid=$(</run/lab/node$1/pid); echo "$EPOCHREALTIME"; kill -KILL "$pid"'


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
            "runs": [{"node": job.node, "ticks": job.ticks} for job in (first, second)],
        },
        sys.stdout,
    )


main()
