"""The colors and fonts of the pictures, in light and dark, and the last check of a picture."""

import sys
from xml.dom import minidom

SIZE_MAX = 200_000

STYLE = """
svg { --card: #ffffff; --edge: #d0d7de; --text: #1f2328; --dim: #59636e; --job: #0969da; --next: #1a7f37;
      --dead: #cf222e; --gap: #fff1c2; font: 14px ui-sans-serif, system-ui, sans-serif; }
@media (prefers-color-scheme: dark) {
  svg { --card: #0d1117; --edge: #3d444d; --text: #f0f6fc; --dim: #9198a1; --job: #4493f8; --next: #3fb950;
        --dead: #f85149; --gap: #3a2d0a; }
}
.card { fill: var(--card); stroke: var(--edge); }
.cover { fill: var(--card); transform: scaleX(0); }
.head { stroke: var(--dim); }
text { fill: var(--text); }
.dim { fill: var(--dim); font-size: 12px; }
.big { font-size: 16px; font-weight: 600; }
.wait { stroke: var(--edge); stroke-width: 2; stroke-dasharray: 2 5; }
.dead { stroke: var(--dead); stroke-width: 2; stroke-dasharray: 2 5; }
.cross { stroke: var(--dead); stroke-width: 3; }
.gap { fill: var(--gap); }
.first { fill: var(--job); stroke: var(--job); }
.second { fill: var(--next); stroke: var(--next); }
.bar { fill-opacity: 0.25; stroke: none; }
.axis { stroke: var(--edge); }
"""


def finish(drawn):
    """Returns the picture if it is well-formed and not too large."""
    minidom.parseString(drawn)
    if len(drawn.encode()) > SIZE_MAX:
        sys.exit(f"failover-picture: the picture has {len(drawn.encode())} bytes, more than {SIZE_MAX}")
    return drawn
