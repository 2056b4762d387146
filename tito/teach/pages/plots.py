"""Small SVG plots as text, for a page that allows no style attribute: colours come from the page's style sheet.

Each has a title and a description that are read aloud; the numbers behind it stand in a table beside it. Sizes are in
the units of a view box 480 wide, which a narrow page shows at three quarters and a wide one at five quarters.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from markupsafe import Markup, escape

from tito.teach.pages import pages

WIDTH = 480
ROW = 30  # a bar of `bars`
HEIGHT = 170  # of the tallest column

SVG = Markup(
    '<svg class="plot" role="img" aria-labelledby="{id}-t {id}-d" viewBox="0 0 480 {height}">'
    '<title id="{id}-t">{title}</title><desc id="{id}-d">{about}</desc>{parts}</svg>'
)
TEXT = Markup('<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{words}</text>')
RECT = Markup('<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>')
LINE = Markup('<path class="{kind}" d="M{x:.1f} {y:.1f} L{to_x:.1f} {to_y:.1f}"/>')

Part = Markup


def columns(id: str, title: str, about: str, counts: Sequence[int], at: float, label: str) -> Markup:
    """A histogram of parts of the points: ten columns from 0 to 100 %, one for what is all; a line `at` a share."""
    step, base, top = WIDTH / len(counts), HEIGHT + 44.0, max(counts, default=0) or 1
    parts = _marker(min(at * 10 + (at >= 1) * 0.5, len(counts) - 0.5) * step, base, label)
    for i, n in enumerate(counts):
        tall = HEIGHT * n / top
        kind = "fill all" if i == len(counts) - 1 else "fill"
        parts.append(RECT.format(kind=kind, x=i * step + 2, y=base - tall, width=step - 4, height=tall))
        parts.append(_text("middle", (i + 0.5) * step, base - tall - 5, f"{n:,}" if n else ""))
        parts.append(_text("middle quiet", (i + 0.5) * step, base + 17, bin_name(i)))
    parts.append(LINE.format(kind="axis", x=0, y=base, to_x=WIDTH, to_y=base))
    parts.append(_text("middle quiet", WIDTH / 2, base + 38, "share of the points (%); above each column: submissions"))
    return _svg(id, title, about, base + 46, parts)


def bars(id: str, title: str, about: str, rows: Sequence[tuple[str, float]]) -> Markup:
    """A horizontal bar for each name and share, 0 to 1."""
    left, room = 150.0, WIDTH - 150.0 - 52
    parts: list[Part] = []
    for y, (name, share) in zip(count(0, ROW), rows):
        parts.append(_text("end", left - 8, y + 20, name if len(name) < 19 else name[:17] + "..."))
        parts.append(RECT.format(kind="ground", x=left, y=y + 6, width=room, height=ROW - 12))
        parts.append(RECT.format(kind="fill", x=left, y=y + 6, width=room * share, height=ROW - 12))
        parts.append(_text("", left + room + 6, y + 20, pages.percent(share)))
    foot = len(rows) * ROW
    parts.append(_text("middle quiet", left + room / 2, foot + 16, "share of its points that the class earned (%)"))
    return _svg(id, title, about, foot + 24, parts)


def _svg(id: str, title: str, about: str, height: float, parts: Sequence[Part]) -> Markup:
    return SVG.format(id=id, title=title, about=about, height=round(height), parts=Markup("").join(parts))


def _text(kind: str, x: float, y: float, text: str) -> Part:
    return TEXT.format(kind=kind, x=x, y=y, words=escape(pages.visible(text))) if text else Markup("")


def _marker(x: float, base: float, label: str) -> list[Part]:
    side, shift = ("end", -6) if x > WIDTH / 2 else ("", 6)
    return [
        LINE.format(kind="marker", x=x, y=4, to_x=x, to_y=base),
        _text(f"strong {side}".strip(), x + shift, 14, label),
    ]


def bin_name(i: int) -> str:
    """`40-49`: the percents of a column of `columns`."""
    return "all" if i == 10 else f"{10 * i}-{10 * i + 9}"
