#!/usr/bin/env python3
"""Draws a recorded run, read from standard input, as an animated SVG without scripts."""

import json
import math
import sys

from style import STYLE, finish

WIDTH, LEFT, RIGHT = 840, 92, 820
TOP, LANE = 62, 40
HOLD = 4  # seconds for which the last frame stays
SETTLE = 0.05  # seconds of this time that have passed when the animation begins


class Picture:
    """The recorded run, the scale of its times, and the pieces that are already drawn."""

    def __init__(self, run):
        self.run = run
        self.zero = run["runs"][0]["ticks"][0]
        self.start = min(run["began"], self.zero) - self.zero
        self.end = run["ended"] - self.zero
        self.length = self.end - self.start
        self.parts = []
        self.style = [STYLE]
        self.bottom = TOP + LANE * len(run["nodes"])
        self.height = self.bottom + 152

    def x(self, seconds):
        return round(LEFT + (RIGHT - LEFT) * (seconds - self.start) / self.length, 1)

    def y(self, node):
        return TOP + LANE * self.run["nodes"].index(node) + LANE / 2

    def since(self, moment):
        return moment - self.zero

    def add(self, part):
        self.parts.append(part)

    def text(self, x, y, words, kind="", anchor="start"):
        self.add(f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{words}</text>')

    def line(self, kind, x1, y1, x2, y2):
        self.add(f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>')

    def percent(self, seconds):
        return round(100 * (seconds - self.start) / (self.length + HOLD), 2)

    def timing(self):
        """Returns the period and the delay of the animations. They begin with the finished picture, which a viewer
        without animations also shows."""
        return f"{self.length + HOLD:.2f}s {-self.length - SETTLE:.2f}s"

    def lanes(self):
        first, second = self.run["runs"]
        killed, back = self.since(self.run["killed"]), self.since(self.run["back"])
        for node in self.run["nodes"]:
            y = self.y(node)
            if node == first["node"]:
                self.line("wait", LEFT, y, self.x(killed), y)
                self.line("dead", self.x(killed), y, self.x(back), y)
                self.line("wait", self.x(back), y, RIGHT, y)
            else:
                self.line("wait", LEFT, y, RIGHT, y)
        for kind, run in (("first", first), ("second", second)):
            y, ticks = self.y(run["node"]), [self.since(it) for it in run["ticks"]]
            left, right = self.x(ticks[0]), self.x(ticks[-1])
            self.add(f'<rect class="{kind} bar" x="{left}" y="{y - 13}" width="{right - left + 3:.1f}" height="26" rx="4"/>')
            for tick in ticks:
                self.line(kind, self.x(tick), y - 8, self.x(tick), y + 8)
        x, y = self.x(killed), self.y(first["node"])
        self.line("cross", x - 7, y - 13, x + 7, y + 13)
        self.line("cross", x - 7, y + 13, x + 7, y - 13)

    def axis(self):
        y = self.bottom + 4
        self.line("axis", LEFT, y, RIGHT, y)
        for second in range(math.ceil(self.start), math.floor(self.end) + 1):
            self.line("axis", self.x(second), y, self.x(second), y + 5)
            self.text(self.x(second), y + 19, f"{second} s", "dim", "middle")

    def captions(self):
        first, second = self.run["runs"]
        killed, back = self.since(self.run["killed"]), self.since(self.run["back"])
        resumed = self.since(second["ticks"][0])
        captions = [
            (0, f'node{first["node"]} owns the token and runs the job; the others wait'),
            (killed, f'node{first["node"]} is killed (SIGKILL), and its job ends'),
            (resumed, f'node{second["node"]} owns the token and runs the job, {resumed - killed:.2f} s after the kill'),
            (back, f'node{first["node"]} runs again and waits'),
        ]
        for number, (moment, words) in enumerate(captions):
            y = self.bottom + 56 + 23 * number
            at = self.percent(moment)
            self.style.append(
                f"#c{number} {{ animation: c{number} {self.timing()} infinite; }}\n"
                f"@keyframes c{number} {{ 0%, {at}% {{ opacity: 0; }} {at + 0.5:.2f}%, 100% {{ opacity: 1; }} }}\n")
            self.add(f'<g id="c{number}">')
            self.text(LEFT - 12, y, f"{moment:.2f} s", "dim", "end")
            self.text(LEFT, y, words)
            self.add("</g>")

    def sweep(self):
        """Uncovers the lanes at the speed of the run."""
        period, end = self.timing(), self.percent(self.end)
        self.style.append(
            f".cover {{ transform-origin: {RIGHT + 6}px 0; animation: cover {period} linear infinite; }}\n"
            f"@keyframes cover {{ 0% {{ transform: scaleX(1); }} {end}%, 100% {{ transform: scaleX(0); }} }}\n"
            f".head {{ transform: translateX({RIGHT - LEFT}px); animation: head {period} linear infinite; }}\n"
            f"@keyframes head {{ 0% {{ transform: translateX(0); }} {end}%, 100% {{ transform: translateX({RIGHT - LEFT}px); }} }}\n"
            "@media (prefers-reduced-motion: reduce) { * { animation: none !important; } }\n")
        self.add(f'<rect class="cover" x="{LEFT}" y="{TOP - 8}" width="{RIGHT + 6 - LEFT}" height="{self.bottom - TOP + 10}"/>')
        self.line("head", LEFT, TOP - 8, LEFT, self.bottom + 4)

    def draw(self):
        first, second = self.run["runs"]
        killed, resumed = self.since(self.run["killed"]), self.since(second["ticks"][0])
        self.add(f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{self.height - 1}" rx="8"/>')
        self.text(20, 32, "One job, four machines: each runs “ringctl run -- job”", "big")
        gap = self.x(resumed) - self.x(killed)
        self.add(f'<rect class="gap" x="{self.x(killed)}" y="{TOP - 6}" width="{gap:.1f}" height="{self.bottom - TOP + 6}"/>')
        self.text(self.x(killed) + gap / 2, self.bottom - 4, f"{resumed - killed:.2f} s", "dim", "middle")
        self.lanes()
        self.sweep()
        for node in self.run["nodes"]:
            self.text(20, self.y(node) + 5, f"node{node}")
        self.axis()
        self.captions()
        title = f'The owner is killed, and another machine runs the job {resumed - killed:.2f} s later'
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
                f'width="{WIDTH}" height="{self.height}" role="img">\n<title>{title}</title>\n'
                f'<!-- Made by scripts/failover-picture from a run of scripts/lab. -->\n'
                f'<style>{"".join(self.style)}</style>\n' + "\n".join(self.parts) + "\n</svg>\n")


sys.stdout.write(finish(Picture(json.load(sys.stdin)).draw()))
