"""Draws the lessons' figures: SVG made from data, legible on light and dark ground.

A lesson's `figures/draw.py` has FIGURES, a dict from file name (`01_broadcast`) to a function that returns a `Sheet`
or a `Chart`. `tito dev figures` writes each to `figures/<name>.svg`; the same data give the same bytes.
"""

from __future__ import annotations

import argparse
import io
import re
import runpy
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

from tito.course import Course, Lesson

ORANGE, BLUE = "#e69f00", "#0072b2"
CELL = 40
STYLE = """
text { font: 14px sans-serif; fill: #222 } .title { font-weight: bold }
.number { text-anchor: middle; dominant-baseline: central }
.line { stroke: #222; fill: none } .plain { fill: #fff }
@media (prefers-color-scheme: dark) { text { fill: #eee } .line { stroke: #eee } }
.on { fill: #222 !important } .strong { fill: #fff !important }
"""
GROUNDS = "svg { color: #222 } @media (prefers-color-scheme: dark) { svg { color: #eee } }"


def run(args: argparse.Namespace) -> int:
    """`tito dev figures [NN]`: draw the figures of one lesson, or of all."""
    course = Course.find()
    for lesson in [course.lesson(args.lesson)] if args.lesson else course.lessons:
        for name, text in drawn(lesson).items():
            path = lesson.folder / "figures" / f"{name}.svg"
            path.write_text(text, encoding="utf-8", newline="\n")
            print(path.relative_to(course.root).as_posix())
    return 0


def drawn(lesson: Lesson) -> dict[str, str]:
    """The lesson's figures as SVG text, by name."""
    source = lesson.folder / "figures" / "draw.py"
    figures = runpy.run_path(str(source))["FIGURES"] if source.exists() else {}
    return {name: figure().svg() for name, figure in figures.items()}


class Sheet:
    """A drawing of squares, arrows and words on a sheet of so many units; one square is `CELL` units wide."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.parts: list[str] = []

    def grid(self, numbers: Any, x: float, y: float, label: str = "", form: str = "g") -> Sheet:
        """One square a number, as a matrix whose upper left corner is (x, y): orange above zero, blue below.

        A vector is one row. The darkest square is the largest in size; `label` stands above.
        """
        rows = numbers if len(numbers) and hasattr(numbers[0], "__len__") else [numbers]
        largest = max((abs(float(v)) for row in rows for v in row), default=0.0) or 1.0
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                self._square(float(value), x + j * CELL, y + i * CELL, abs(float(value)) / largest, form)
        return self.words(label, x, y - 8) if label else self

    def words(self, text: str, x: float, y: float, anchor: str = "start", kind: str = "") -> Sheet:
        """Text whose baseline is at (x, y); `anchor` is start, middle or end; kind "title" is bold."""
        self.parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>')
        return self

    def arrow(self, x1: float, y1: float, x2: float, y2: float, label: str = "") -> Sheet:
        """A line from (x1, y1) with a head at (x2, y2); the label stands above its middle."""
        self.parts.append(f'<path class="line" marker-end="url(#head)" d="M{x1:g} {y1:g} L{x2:g} {y2:g}"/>')
        return self.words(label, (x1 + x2) / 2, (y1 + y2) / 2 - 6, "middle") if label else self

    def box(self, text: str, x: float, y: float, width: float, height: float = CELL) -> Sheet:
        """A frame with text in its middle."""
        self.parts.append(f'<rect class="line" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4"/>')
        middle = f'x="{x + width / 2:g}" y="{y + height / 2:g}"'
        self.parts.append(f'<text class="number" {middle}>{escape(text)}</text>')
        return self

    def svg(self) -> str:
        """The drawing as the text of an SVG file."""
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        head = '<marker id="head" markerWidth="9" markerHeight="9" refX="8" refY="4" orient="auto">'
        head += '<path class="line" d="M0 0 L8 4 L0 8"/></marker>'
        inside = "\n".join([f"<style>{STYLE}</style>", f"<defs>{head}</defs>", *self.parts])
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{inside}\n</svg>\n'

    def _square(self, value: float, x: float, y: float, share: float, form: str) -> None:
        colour = ORANGE if value > 0 else BLUE
        place = f'x="{x:g}" y="{y:g}" width="{CELL}" height="{CELL}"'
        self.parts.append(f'<rect class="plain" {place}/>')
        self.parts.append(f'<rect {place} fill="{colour}" fill-opacity="{share * 0.9:.2f}"/>')
        self.parts.append(f'<rect class="line" {place}/>')
        ink = "strong" if value < 0 and share > 0.5 else "on"
        middle = f'x="{x + CELL / 2:g}" y="{y + CELL / 2:g}"'
        self.parts.append(f'<text class="number {ink}" {middle}>{format(value, form)}</text>')


class Chart:
    """A matplotlib figure with one axis, `axis`, in the house's colours; the title is its message."""

    def __init__(self, title: str, x: str, y: str, size: tuple[float, float] = (6.4, 3.6)) -> None:
        import matplotlib
        from cycler import cycler
        from matplotlib.figure import Figure

        matplotlib.rcParams.update({"svg.hashsalt": "tinytorch", "svg.fonttype": "none", "font.size": 11})
        matplotlib.rcParams["axes.prop_cycle"] = cycler(color=[ORANGE, BLUE, "#009e73", "#cc79a7"])
        self.figure = Figure(figsize=size, layout="constrained")
        self.axis: Any = self.figure.subplots()
        self.axis.set(title=title, xlabel=x, ylabel=y)
        self.axis.spines[["top", "right"]].set_visible(False)

    def name_ends(self, lines: Sequence[Any]) -> Chart:
        """Write each line's label at its right end."""
        for line in lines:
            x, y = line.get_xdata()[-1], line.get_ydata()[-1]
            self.axis.annotate(line.get_label(), (x, y), (4, 0), textcoords="offset points", va="center")
        return self

    def svg(self) -> str:
        """The chart as the text of an SVG file, on a ground of no colour."""
        buffer = io.StringIO()
        self.figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        text = re.sub(r"#(000000|262626)", "currentColor", buffer.getvalue())
        text = re.sub(r"<text ", '<text fill="currentColor" ', text)
        return text.replace("<defs>", f'<style type="text/css">{GROUNDS}</style>\n <defs>', 1)
