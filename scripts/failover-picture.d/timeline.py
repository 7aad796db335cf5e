#!/usr/bin/env python3
"""Draws the frames and the job around the kill, from a recorded run on standard input, as an SVG."""

import json
import math
import sys

from style import STYLE, finish

WIDTH, LEFT, RIGHT = 840, 92, 820
TOP, LANE = 66, 40
BEFORE, AFTER = 0.27, 0.13  # seconds before the kill and after the job's return
HEARTBEAT, QUESTION, CANDIDACY = 2, 5, 6  # kinds of frame: TOKEN_IS_HERE, WHERE_IS_TOKEN, GENERATING_TOKEN


def join(names):
    """Returns the names as part of a sentence."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


class Timeline:
    """The recorded run, with times relative to the kill."""

    def __init__(self, run):
        self.nodes = run["nodes"]
        self.killed = run["killed"]
        self.first, self.second = run["runs"]
        self.frames = [(at - self.killed, node, kind) for at, node, kind, to_all in run["frames"] if to_all]
        self.resumed = self.second["ticks"][0] - self.killed
        self.start, self.end = -BEFORE, self.resumed + AFTER
        self.bottom = TOP + LANE * len(self.nodes)
        self.parts = []

    def moment(self, kind, after, sender=None):
        """Returns the time of the first broadcast of this kind, and its sender."""
        found = [(at, node) for at, node, its, in self.frames if its == kind and at > after and sender in (None, node)]
        if not found:
            sys.exit(f"failover-picture: no frame of kind {kind} was captured {after:.2f} s after the kill")
        return found[0]

    def x(self, seconds):
        return round(LEFT + (RIGHT - LEFT) * (seconds - self.start) / (self.end - self.start), 1)

    def y(self, node):
        return TOP + LANE * self.nodes.index(node) + LANE / 2

    def add(self, part):
        self.parts.append(part)

    def text(self, x, y, words, kind="", anchor="start"):
        self.add(f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{words}</text>')

    def line(self, kind, x1, y1, x2, y2):
        self.add(f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>')

    def jobs(self):
        for kind, run in (("first", self.first), ("second", self.second)):
            ticks = [tick - self.killed for tick in run["ticks"] if self.start <= tick - self.killed <= self.end]
            left, right, y = self.x(ticks[0]), self.x(ticks[-1]), self.y(run["node"])
            left = LEFT if kind == "first" else left
            right = RIGHT if kind == "second" else right
            self.add(f'<rect class="{kind} bar" x="{left}" y="{y - 13}" width="{right - left:.1f}" height="26" rx="4"/>')
            self.text(left + 6, y - 16, "job", "dim")

    def marks(self):
        for at, node, kind in self.frames:
            if not self.start <= at <= self.end:
                continue
            x, y = self.x(at), self.y(node)
            if kind == HEARTBEAT:
                self.line("first" if node == self.first["node"] else "second", x, y - 9, x, y + 9)
            elif kind == QUESTION:
                self.add(f'<circle class="question" cx="{x}" cy="{y}" r="5"/>')
            elif kind == CANDIDACY:
                self.add(f'<path class="candidate" d="M{x} {y - 6}l6 11h-12z"/>')

    def legend(self):
        y, x = 52, LEFT
        self.line("first", x, y - 9, x, y + 3)
        self.text(x + 8, y, "heartbeat (TOKEN_IS_HERE)", "dim")
        self.add(f'<circle class="question" cx="{x + 196}" cy="{y - 4}" r="5"/>')
        self.text(x + 206, y, "question (WHERE_IS_TOKEN)", "dim")
        self.add(f'<path class="candidate" d="M{x + 392} {y - 10}l6 11h-12z"/>')
        self.text(x + 404, y, "candidate (GENERATING_TOKEN)", "dim")

    def axis(self):
        y = self.bottom + 4
        self.line("axis", LEFT, y, RIGHT, y)
        for tenth in range(math.ceil(self.start * 10), math.floor(self.end * 10) + 1):
            self.line("axis", self.x(tenth / 10), y, self.x(tenth / 10), y + 5)
            self.text(self.x(tenth / 10), y + 19, f"{tenth / 10:.1f} s", "dim", "middle")

    def steps(self):
        old, new = self.first["node"], self.second["node"]
        last = [at for at, node, kind in self.frames if kind == HEARTBEAT and node == old][-1]
        asked, _ = self.moment(QUESTION, 0)
        stood, _ = self.moment(CANDIDACY, asked)
        owned, owner = self.moment(HEARTBEAT, stood)
        candidates = sorted({node for at, node, kind in self.frames if kind == CANDIDACY and at <= owned})
        stand = "stands" if len(candidates) == 1 else "stand"
        names = join([f"node{node}" for node in candidates])
        steps = [
            (last, f"node{old} sends its last heartbeat"),
            (0, f"node{old} is killed (SIGKILL), and its job ends"),
            (asked, f"no heartbeat for {asked - last:.2f} s: the others ask for the token"),
            (stood, f"no answer for {stood - asked:.2f} s: {names} {stand} for election"),
            (owned, f"no objection for {owned - stood:.2f} s: node{owner} owns the new token"),
            (self.resumed, f"node{new} runs the job"),
        ]
        for number, (at, words) in enumerate(steps, 1):
            y = self.bottom + 52 + 22 * number - 22
            self.line("step", self.x(at), TOP - 2, self.x(at), self.bottom + 4)
            self.text(LEFT - 12, y, f"{at:.3f} s", "dim", "end")
            self.text(LEFT, y, words)
        return self.bottom + 52 + 22 * len(steps)

    def draw(self):
        self.add("<!-- the steps of the failover -->")
        height = self.steps()
        for node in self.nodes:
            y = self.y(node)
            self.line("wait", LEFT, y, RIGHT, y)
            self.text(20, y + 5, f"node{node}")
        self.line("dead", self.x(0), self.y(self.first["node"]), RIGHT, self.y(self.first["node"]))
        self.jobs()
        self.marks()
        x, y = self.x(0), self.y(self.first["node"])
        self.line("cross", x - 7, y - 13, x + 7, y + 13)
        self.line("cross", x - 7, y + 13, x + 7, y - 13)
        self.legend()
        self.axis()
        style = STYLE + """
.first, .second { stroke-width: 2; }
.step { stroke: var(--edge); }
.question { fill: var(--card); stroke: var(--text); stroke-width: 2; }
.candidate { fill: var(--dead); }
"""
        title = f"A failover in a ring of {len(self.nodes)}: {self.resumed:.2f} s from the kill to the next job"
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
                f'width="{WIDTH}" height="{height}" role="img">\n<title>{title}</title>\n'
                f'<!-- Made by scripts/failover-picture from a run of scripts/lab. -->\n<style>{style}</style>\n'
                f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>\n'
                f'<text x="20" y="30" class="big">{title}</text>\n' + "\n".join(self.parts) + "\n</svg>\n")


sys.stdout.write(finish(Timeline(json.load(sys.stdin)).draw()))
