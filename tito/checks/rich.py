"""A failed check as a notebook shows it: the block of text, with arrays drawn as coloured squares.

One square a number: orange above zero, white for zero, blue below, the value inside; a frame where the two differ.
Styles stand in the elements, as editors of notebooks drop sheets; words take the page's colour, light or dark.
"""

from __future__ import annotations

import math
import sys
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from tito.checks import text

if TYPE_CHECKING:
    from tito.checks.compare import Pair
    from tito.checks.failure import CheckFailed

ROWS, COLUMNS = 8, 12
ORANGE, BLUE, GREY, PAPER = (230, 159, 0), (0, 114, 178), (187, 187, 187), (255, 255, 255)
FRAME = "#c0007a"
BLOCK = "font-family:monospace;font-size:13px;line-height:1.5;margin:4px 0"
LABEL = "width:1%;padding:3px 14px 3px 0;text-align:left;vertical-align:top;border:none;background:none"
VALUE = "padding:3px 0;text-align:left;vertical-align:top;border:none;background:none;white-space:pre-wrap"
SQUARE = "min-width:46px;height:34px;padding:0 3px;text-align:center;vertical-align:middle;border:1px solid #888"


def shown(failed: CheckFailed) -> list[str]:
    """Draw the failure in the notebook whose kernel this is -> the line that stands for its traceback; else []."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython else None
    if not hasattr(shell, "kernel"):
        return []
    views = {"text/html": html(failed), "text/plain": str(failed)}
    import_module("IPython.display").display(views, raw=True)
    return [
        f"check failed: {text.cut(failed.expression.splitlines()[0], text.WIDTH - 14) if failed.expression else ''}"
    ]


def html(failed: CheckFailed) -> str:
    """The block with squares where arrays were compared, else with the text of both."""
    rows = [_row("", f"<b>{escape(failed.expression)}</b>")] if failed.expression else []
    rows += _drawn(failed.pair) if failed.pair else [_row("want", escape(failed.want)), _row("got", escape(failed.got))]
    rows += [_row("in", escape(failed.origin))] if failed.origin else []
    rows += [_row("yours", escape(failed.where.text))] if failed.where else []
    rows += [_row("", escape(failed.says))] if failed.says else []
    return f'<table style="{BLOCK};border-collapse:collapse;border:none">{"".join(rows)}</table>'


def _row(label: str, content: str) -> str:
    both = f'<td style="{LABEL}">{label}</td><td style="{VALUE}">{content}</td>' if label else ""
    whole = both or f'<td colspan="2" style="{VALUE}">{content}</td>'
    return f'<tr style="background:none">{whole}</tr>'


def _drawn(pair: Pair) -> list[str]:
    """Both arrays, and where they differ first."""
    differ = None if pair.same is None else ~pair.same
    first = None if differ is None else np.unravel_index(int(np.argmax(differ)), differ.shape)
    largest = max(_largest(pair.want), _largest(pair.got)) or 1.0
    named = (("want", pair.want), ("got", pair.got))
    rows = [_row(label, _squares(array, differ, first, largest)) for label, array in named]
    if pair.same is not None:
        rows.append(_row("", escape(text.first_difference(pair.want, pair.got, pair.same))))
    return rows


def _squares(array: np.ndarray, differ: np.ndarray | None, first: Any, largest: float) -> str:
    """As many squares as there is room for, around the first difference; a caption says which, and the shape."""
    if array.size == 0:
        return _caption(array, "", "")
    rows, columns, above = _window(array, first)
    part = _flat(array, above)[rows, columns]
    frames = np.zeros(part.shape, bool) if differ is None else _flat(differ, above)[rows, columns]
    lines = [
        "".join(_square(value, bool(frame), largest) for value, frame in zip(*both))
        for both in zip(part.tolist(), frames)
    ]
    table = "".join(f'<tr style="background:none">{line}</tr>' for line in lines)
    shown_rows = f"rows {rows.start} to {rows.stop - 1}, " if part.shape[0] < _flat(array, above).shape[0] else ""
    cropped = shown_rows or part.shape[1] < _flat(array, above).shape[1]
    which = f"{shown_rows}columns {columns.start} to {columns.stop - 1}" if cropped else ""
    at = f"at [{', '.join(map(str, above))}]" if above else ""
    caption = _caption(array, at, which)
    return f'<table style="border-collapse:collapse;border:none;margin:0">{table}</table>{caption}'


def _caption(array: np.ndarray, at: str, which: str) -> str:
    about = ", ".join(filter(None, (f"shape {array.shape}", str(array.dtype), at, which)))
    return f'<span style="opacity:0.7">{about}</span>'


def _window(array: np.ndarray, first: Any) -> tuple[slice, slice, tuple[int, ...]]:
    """Rows and columns to draw, and the index of the matrix that they are of, where there are several."""
    place = tuple(int(i) for i in first) if first is not None else (0,) * array.ndim
    *above, row, column = (0, 0, *place)[-max(array.ndim, 2) :]
    height, width = _flat(array, tuple(above)).shape
    return _around(row, height, ROWS), _around(column, width, COLUMNS), tuple(above)


def _around(index: int, size: int, most: int) -> slice:
    start = max(0, min(index - most // 2, size - most))
    return slice(start, min(size, start + most))


def _flat(array: np.ndarray, above: tuple[int, ...]) -> np.ndarray:
    """The matrix at that index; a vector is one row, a number one square."""
    return np.atleast_2d(array[above])


def _largest(array: np.ndarray) -> float:
    sizes = np.abs(array[np.isfinite(array)].astype(np.float64))
    return float(sizes.max(initial=0.0))


def _square(value: float, frame: bool, largest: float) -> str:
    finite = math.isfinite(value)
    share = 0.9 * min(1.0, abs(value) / largest) if finite else 1.0
    colour = (ORANGE if value > 0 else BLUE) if finite else GREY
    ground = ",".join(str(round(paper + share * (full - paper))) for paper, full in zip(PAPER, colour))
    ink = "#fff" if value < 0 and finite and share > 0.6 else "#222"
    outline = f";outline:3px solid {FRAME};outline-offset:-3px;font-weight:bold" if frame else ""
    return f'<td style="{SQUARE};background:rgb({ground});color:{ink}{outline}">{_number(value)}</td>'


def _number(value: float) -> str:
    """At most six characters or so."""
    words = str(value) if isinstance(value, (bool, int)) else f"{value:.3g}"
    return words if len(words) <= 7 else f"{value:.2g}"
