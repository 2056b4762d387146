"""`python -P pictured.py PROGRAM ...` runs a program as `python PROGRAM ...` does, and notes what its pictures say.

Beside each saved picture `NAME.png` lies `NAME.txt` with the titles in it, a line each: our titles are messages, so
they are what a reader who does not see the picture must be told. A figure that the program leaves open is saved too.
Without -P the modules beside this file would hide the standard library's.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.figure import Figure

save = Figure.savefig


def main() -> None:
    """Run the program that the first argument names; its exit code."""
    del sys.argv[0]
    program = Path(sys.argv[0]).resolve()
    sys.path.insert(0, str(program.parent))
    Figure.savefig = save_and_tell  # type: ignore[assignment]
    try:
        runpy.run_path(str(program), run_name="__main__")
    finally:
        save_open()


def save_and_tell(figure: Figure, name: Any, *rest: Any, **options: Any) -> None:
    """Save the picture, and its titles beside it."""
    save(figure, name, *rest, **options)
    Path(name).with_suffix(".txt").write_text("\n".join(titles(figure)), encoding="utf-8")
    figure.told = True  # type: ignore[attr-defined]


def titles(figure: Figure) -> list[str]:
    """The figure's own title and those of its axes, each in a line."""
    found = [figure.get_suptitle()]
    for axes in figure.axes:
        found += [axes.get_title(loc="left"), axes.get_title(), axes.get_title(loc="right")]
    return [in_a_line(title) for title in found if title]


def in_a_line(title: str) -> str:
    """`3 read as 5\\n99.8 % sure` -> `3 read as 5, 99.8 % sure`"""
    first, *rest = title.splitlines()
    return "".join([first, *((", " if first[-1].isalnum() else " ") + line for line in rest)])


def save_open() -> None:
    """Save the figures that nobody saved, as `figure-1.png` and so on."""
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    for number, figure in enumerate((each for each in figures if not hasattr(each, "told")), 1):
        figure.savefig(f"figure-{number}.png", dpi=110)


if __name__ == "__main__":
    main()
