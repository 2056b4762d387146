"""Plain values as short text: at most four lines, each narrow enough to stand behind a label and an indent of eight."""

from __future__ import annotations

import re

import numpy as np

from tito.checks.values import Plain

WIDTH = 70  # of a block's line: with the report's indent of 8 it ends in column 78
VALUE = WIDTH - 6  # behind "want  "
LINES = 4
SHOWN = 60  # numbers of an array that are printed; a longer one is summed up
OPTIONS = np.get_printoptions()  # as they were before a student's np.set_printoptions


def brief(value: Plain) -> str:
    """Any plain value in at most LINES lines."""
    if type(value) is np.ndarray:
        return array(value) or f"array of shape {value.shape}"
    return cut(_repr(value), VALUE)


def array(value: np.ndarray) -> str | None:
    """`[11 22 33]`, rows under rows; None when it is too long to show."""
    if value.ndim == 0:
        return number(value[()])
    if value.size > SHOWN:
        return None
    if value.size == 0:
        return f"empty array of shape {value.shape}"
    with np.printoptions(**OPTIONS):
        text = np.array2string(value, max_line_width=VALUE, precision=6, sign="-", threshold=SHOWN)
    lines = text.splitlines()
    return text if len(lines) <= LINES and max(map(len, lines)) <= VALUE else None


def number(value: Plain) -> str:
    if isinstance(value, int) and value.bit_length() > 4 * VALUE:
        return f"an integer of {value.bit_length()} bits"
    if not isinstance(value, (float, np.floating)):
        return str(value)
    words = f"{value:.7g}"
    return f"{words}.0" if words.lstrip("-").isdigit() else words


def numbers(want: Plain, got: Plain) -> tuple[str, str]:
    """Both numbers, with as many digits as it takes to tell them apart."""
    pair = number(want), number(got)
    return pair if pair[0] != pair[1] else (str(want), str(got))


def arrays(want: np.ndarray, got: np.ndarray, same: np.ndarray) -> tuple[str, str]:
    """Both arrays in full where they are short and look different, else where they differ first and how often."""
    pair = array(want), array(got)
    if pair[0] and pair[1] and pair[0] != pair[1]:
        return pair[0], pair[1]
    summary = f"array of shape {want.shape}"
    one, other = (line if line and "\n" not in line else summary for line in pair)
    return one, f"{other}\n{first_difference(want, got, same)}"


def first_difference(want: np.ndarray, got: np.ndarray, same: np.ndarray) -> str:
    """`first differs at [3, 17]: want 0.25, got 0.5; 12 of 600 differ`"""
    index = tuple(int(i) for i in np.unravel_index(int(np.argmin(same)), same.shape))
    one, other = numbers(want[index], got[index])
    return f"first differs at {list(index)}: want {one}, got {other}; {int((~same).sum())} of {same.size} differ"


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 4] + " ..."


def _repr(value: Plain) -> str:
    """repr on one line, arrays inside as `[1 2 3]`."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_repr(item)}" for key, item in list(value.items())[:SHOWN]) + "}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_repr(item) for item in value[:SHOWN])
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, np.ndarray):
        return re.sub(r"\s*\n\s*", " ", brief(value))
    return repr(value[: 2 * WIDTH]) if isinstance(value, (str, bytes)) else number(value)
