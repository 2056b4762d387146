"""What the milestones share: their options, their table, the look of their pictures. Nothing here learns."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#555555"  # told apart by the colour-blind too (Okabe and Ito, 2008)
GROUND = ["#A9D3EC", "#F9DFA6"]  # the two again, pale
STARTED = time.perf_counter()


class Row(NamedTuple):
    """One measured figure. With a pass line it is judged, without one it is shown."""

    name: str
    measured: float
    text: str
    line: str = ""
    passed: bool | None = None


def judge(name: str, measured: float, line: str, passed: bool, text: str = "") -> Row:
    """A row that decides; a number without `text` is shown as a percentage."""
    return Row(name, float(measured), text or percent(measured), line, bool(passed))


def at_least(name: str, measured: float, least: float) -> Row:
    """A row that demands a share of the spread."""
    return judge(name, measured, f"at least {least:.2f}", measured >= least, f"{measured:.3f}")


def below(name: str, measured: float, grown: float) -> Row:
    """A row that demands less than the grown network has."""
    return judge(name, measured, "below the network", measured < grown, f"{measured:.3f}")


def waits(name: str) -> Row:
    """A row that lessons open which are not in the package."""
    return Row(name, float("nan"), "not run", "opens with lesson 08")


def percent(fraction: float) -> str:
    """`0.9811 -> 98.1 %`"""
    return f"{100 * fraction:.1f} %"


def options(text: str, quick: str = "") -> argparse.Namespace:
    """Read --seed and --json, and --quick where it is told what that leaves out; `text` is the script's docstring."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=_seed, default=0, help="the first seed (0)")
    if quick:
        parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    return parser.parse_args()


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a seed is a whole number from 0 up, got {text!r}")
    return int(text)


def rank() -> int:
    """Which process of several this is, where mpirun started them (MPICH's name for it, then Open MPI's); else 0."""
    return int(os.environ.get("PMI_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK") or 0)


def world() -> Any:
    """The MPI communicator of all processes that mpirun started; None where it started none."""
    if not {"PMI_RANK", "OMPI_COMM_WORLD_RANK"} & set(os.environ):
        return None
    os.environ.setdefault("MPIR_CVAR_POLLS_BEFORE_YIELD", "10")  # MPICH: more ranks than cores get on with one another
    from mpi4py import MPI

    return MPI.COMM_WORLD


def report(title: str, rows: list[Row], pictures: list[str], chosen: argparse.Namespace) -> int:
    """Print the figures, of several processes the first; return the exit code, 1 when one misses its pass line."""
    passed = all(row.passed is not False for row in rows)
    if rank() > 0:
        return 0 if passed else 1
    seconds = round(time.perf_counter() - STARTED, 2)
    if chosen.json:
        figures = [{**row._asdict(), "measured": _finite(row.measured)} for row in rows]
        told = {"milestone": title.split()[0], "title": title, "seed": chosen.seed, "passed": passed}
        print(json.dumps({**told, "seconds": seconds, "figures": figures, "pictures": pictures}))
        return 0 if passed else 1
    print(f"{title}, seeds from {chosen.seed}")
    for row in rows:
        mark = {True: "ok", False: "FAIL", None: "--"}[row.passed]
        print(f"  {mark:5}{row.name:39}{row.text:>11}  {row.line}".rstrip())
    print(f"{'Passed' if passed else 'Not passed'} in {seconds:.1f} s.")
    print("Pictures:", " ".join(pictures))
    return 0 if passed else 1


def _finite(number: float) -> float | None:
    """JSON knows no nan and no infinity."""
    return number if np.isfinite(number) else None


def canvas(columns: int, caption: str, **sizes: Any) -> tuple[Any, Any]:
    """A figure with a row of `columns` pictures, and its axes; the caption stands below."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 10, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(1, columns, layout="constrained", **{"figsize": (4 * columns, 4.4), **sizes})
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    figure.supxlabel(caption, fontsize=8, color=GREY)
    return figure, axes


def place(name: str) -> Path:
    """plots/NAME.png, in a folder that is there."""
    path = Path("plots") / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    return path


def save(figure: Any, name: str) -> str:
    """Write plots/NAME.png, of several processes the first, and return its path."""
    path = place(name)
    if rank() == 0:
        figure.savefig(path, dpi=110)
    return path.as_posix()


def squares(axis: Any, numbers: np.ndarray, title: str, *, written: bool = False) -> None:
    """One square a number: orange positive, white zero, blue negative; `written` puts the value inside."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("signed", [BLUE, "white", ORANGE])
    size = np.abs(numbers).max() or 1.0
    axis.imshow(numbers, cmap=colours, vmin=-size, vmax=size)
    axis.set(title=title, xticks=[], yticks=[])
    axis.spines[:].set_visible(True)
    for row, column in np.ndindex(numbers.shape if written else (0, 0)):
        axis.text(column, row, str(round(float(numbers[row, column]))), ha="center", va="center", fontsize=7)


def regions(name: str, caption: str, networks: dict[str, Callable[[np.ndarray], np.ndarray]]) -> str:
    """By title, a function `(N, 2) -> (N,)`: orange where it is positive, and the four corners of XOR."""
    from matplotlib.colors import ListedColormap

    figure, axes = canvas(len(networks), f"{caption} Orange ground: it fires. Circles belong there, squares do not.")
    ticks = np.linspace(-0.5, 1.5, 201, dtype=np.float32)
    points = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    for axis, (title, answer) in zip(axes, networks.items(), strict=True):
        fires = answer(points).reshape(201, 201) > 0
        axis.imshow(fires, origin="lower", extent=(-0.5, 1.5, -0.5, 1.5), cmap=ListedColormap(GROUND), vmin=0, vmax=1)
        for x, y in np.ndindex(2, 2):
            marker, colour, text = ("o", ORANGE, "black") if x != y else ("s", BLUE, "white")
            axis.plot(x, y, marker, color=colour, markersize=15, markeredgecolor="black")
            axis.text(x, y, str(int(x != y)), ha="center", va="center", fontsize=9, color=text)
        axis.set(title=title, xlabel="first input", ylabel="second input", xticks=[0, 1], yticks=[0, 1])
    return save(figure, name)
