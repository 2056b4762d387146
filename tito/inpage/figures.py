"""Matplotlib's figures as pictures with words, when a cell has imported it; nothing here imports it."""

from __future__ import annotations

import base64
import io
import logging
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

DPI = 144  # twice the size at which it is shown, for sharp screens
LIBRARY = "matplotlib"
NO_TITLE = "A figure that this cell drew"


@dataclass(frozen=True)
class Figure:
    """A PNG in base64, its width on the page in pixels, and what it says in words: titles, axes, labels of lines."""

    png: str
    width: int
    alt: str


def prepare() -> None:
    """Before anything is drawn: no window, and no talk of fonts or of windows that do not open."""
    os.environ["MPLBACKEND"] = "Agg"
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")


def drawn(value: Any) -> list[Figure]:
    """All figures that pyplot holds, which are closed, and the cell's value when it is one."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    held = [pyplot.figure(number) for number in pyplot.get_fignums()] if pyplot else []
    others = [value] if _is(value, "figure", "Figure") and value not in held else []
    pictures = [_picture(figure) for figure in (*held, *others)]
    if pyplot:
        pyplot.close("all")
    return pictures


def is_part(value: Any) -> bool:
    """Whether the value is Matplotlib's own, or a list of such: the picture says more than its text."""
    items = list(value) if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray" else [value]
    return bool(items) and all(type(item).__module__.partition(".")[0] == LIBRARY for item in items[:100])


def _is(value: Any, module: str, name: str) -> bool:
    found = sys.modules.get(f"{LIBRARY}.{module}")
    return found is not None and isinstance(value, getattr(found, name))


def _picture(figure: Any) -> Figure:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, bbox_inches="tight")
    data = buffer.getvalue()
    width = int.from_bytes(data[16:20], "big")  # of a PNG's header
    return Figure(base64.b64encode(data).decode(), width // 2, ". ".join(_words(figure)) or NO_TITLE)


def _words(figure: Any) -> Iterator[str]:
    title = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
    if title:
        yield title
    for axes in figure.axes:
        titles = (axes.get_title(loc) for loc in ("left", "center", "right"))
        axis = (f"{name}: {text}" for name, text in (("across", axes.get_xlabel()), ("up", axes.get_ylabel())) if text)
        yield from filter(None, (" ".join(filter(None, titles)), ", ".join(axis), ", ".join(_labels(axes))))


def _labels(axes: Any) -> Iterable[str]:
    return [text for text in axes.get_legend_handles_labels()[1] if not text.startswith("_")]
