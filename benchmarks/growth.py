"""Cost against size, where it bends and why: one double-logarithmic plot each.

    tito dev export && python benchmarks/growth.py    writes growth.json and plots/*.svg; wants PyTorch, an idle machine
    python benchmarks/growth.py --only width batch    these anew, the rest as it stands in growth.json
    python benchmarks/growth.py --draw                the plots alone, from growth.json

A step is forward, backward and Adam of a ReLU network in float32, on one thread. The loader goes through an epoch of
shuffled batches, 64 rows of 16 numbers in a memory-mapped file, or of 784 beside PyTorch's DataLoader, both without
workers. The export is `tito export` with all that it starts, of the course and of a course of small equal lessons. All
times are those of the processor, which other work on the machine disturbs less. Begin at `main`; what is said of each
plot is `told`, by the figures.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from loop import TITO, both, environment, facts, process, summary

from tito.dev.figures import Chart

HERE = Path(__file__).resolve().parent
REFERENCE, RESULT, PLOTS = HERE.parent / "build" / "reference", HERE / "growth.json", HERE / "plots"
TITO_ON = HERE.parent / "tests" / "fixtures" / "tito_on.py"
BLOCK, BLOCKS = 0.02, 9  # seconds at least, and how many
CLASSES, ROWS, WIDTH = 10, 64, 64
BATCH, FEATURES = 64, 16
MILLION = 10**6

Series = dict[str, dict[str, float]]  # size -> median and quartiles in seconds


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--draw", action="store_true")
    options.add_argument("--only", nargs="+", choices=MEASURES, default=list(MEASURES))
    options.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.measure:
        print(json.dumps(MEASURES[chosen.measure]()))
        return
    found = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    if not chosen.draw:
        found |= {**facts(), **{name: in_a_process(name) for name in chosen.only}}
    found["told"] = told(found)
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for name, text in drawn(found).items():
        (PLOTS / f"{name}.svg").write_text(text, encoding="utf-8", newline="\n")


def in_a_process(name: str) -> Any:
    print(f"{name} ...", file=sys.stderr, flush=True)
    env = {**environment(), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(REFERENCE)}
    done = subprocess.run([sys.executable, __file__, "--measure", name], env=env, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def timed(action: Callable[[], object], blocks: int = BLOCKS) -> dict[str, float]:
    """Seconds a call, in blocks of so many calls that a block lasts long enough; the first calls warm up."""
    began = time.perf_counter()
    action()
    action()
    calls = max(1, round(2 * BLOCK / (time.perf_counter() - began)))
    return summary([seconds(action, calls) / calls for _ in range(blocks)])


def seconds(action: Callable[[], object], calls: int = 1) -> float:
    began = time.process_time()
    for _ in range(calls):
        action()
    return time.process_time() - began


# Steps


def powers(first: int, last: int) -> list[int]:
    return [2**i for i in range(first, last + 1)]


def trained(sizes: list[int], rows: int) -> tuple[Callable[[], None], Any]:
    """A function that does one step, and the optimizer."""
    import tinytorch as tt

    rng = tt.Generator(0)
    layers = [tt.Linear(inputs, outputs, rng=rng) for inputs, outputs in zip(sizes, sizes[1:])]
    between = [layer for one in layers[:-1] for layer in (one, tt.ReLU())]
    model, loss_of = tt.Sequential(*between, layers[-1]), tt.CrossEntropyLoss()
    optimizer = tt.Adam(model.parameters(), lr=1e-5)
    x, y = tt.Tensor(rng.normal(0, 1, (rows, sizes[0]))), tt.Tensor(rng.integers(0, sizes[-1], (rows,)))

    def step() -> None:
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()

    return step, optimizer


def by_width() -> dict[str, Series]:
    return {"step": {str(w): timed(trained([w, w, w, CLASSES], ROWS)[0]) for w in powers(2, 12)}}


def by_batch() -> dict[str, Series]:
    return {"step": {str(rows): timed(trained([256, 256, 256, CLASSES], rows)[0]) for rows in powers(0, 14)}}


def by_depth() -> dict[str, Series]:
    return {"step": {str(n): timed(trained([WIDTH] * n + [CLASSES], 32)[0]) for n in powers(0, 10)}}


def by_parameters() -> dict[str, Series]:
    """One square layer and a batch of one row, so that the parameters are nearly all of it."""
    found: dict[str, Series] = {"whole step": {}, "Adam's part": {}}
    for width in powers(2, 13):
        step, optimizer = trained([width, width], 1)
        size = str(sum(weight.data.size for weight in optimizer.params))
        found["whole step"][size], found["Adam's part"][size] = timed(step), timed(optimizer.step)
    return found


# The loader


def by_samples() -> dict[str, Any]:
    """An epoch by the number of samples; and both loaders on 64,000 x 784."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = [10**n for n in range(2, 8)]
        ours = {str(n): epochs(our_loader(*mapped(Path(folder), n))) for n in sizes}
        theirs = {str(n): epochs(their_loader(*mapped(Path(folder), n))) for n in sizes if n <= MILLION}
    return {"TinyTorch": ours, "PyTorch": theirs, "64,000 x 784": beside_pytorch()}


def epochs(loader: Iterable[Any]) -> dict[str, float]:
    return timed(lambda: drained(loader), 3)


def mapped(folder: Path, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """So many rows and their labels, in memory-mapped files that are written once."""
    path = folder / f"{rows}.npy"
    if not path.exists():
        file = np.lib.format.open_memmap(path, "w+", np.float32, (rows, FEATURES))
        for start in range(0, rows, MILLION):
            file[start : start + MILLION] = np.arange(start, min(rows, start + MILLION))[:, None]
        file.flush()
    return np.load(path, mmap_mode="c"), np.zeros(rows, dtype=np.int64)


def beside_pytorch() -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    rows = np.random.Generator(np.random.Philox(0)).random((64_000, 784), dtype=np.float32)
    labels = np.zeros(len(rows), dtype=np.int64)
    loaders = {"TinyTorch": our_loader(rows, labels), "PyTorch": their_loader(rows, labels)}
    ways = {name: lambda loader=loader: drained(loader) for name, loader in loaders.items()}
    ways["np.take alone"] = lambda: taken(rows, labels)
    turns = [{name: seconds(way) for name, way in ways.items()} for _ in range(BLOCKS + 1)][1:]
    found = {name: summary([turn[name] for turn in turns]) for name in ways}
    ratios = {name: summary([turn[name] / turn["PyTorch"] for turn in turns]) for name in ways if name != "PyTorch"}
    return {**found, "to PyTorch": ratios}


def taken(rows: np.ndarray, labels: np.ndarray) -> None:
    """What no loader can do without: each row read in its shuffled place, and written."""
    order = np.random.Generator(np.random.Philox(0)).permutation(len(rows))
    for start in range(0, len(rows), BATCH):
        chosen = order[start : start + BATCH]
        np.take(rows, chosen, axis=0), np.take(labels, chosen)


def our_loader(rows: np.ndarray, labels: np.ndarray) -> Iterable[Any]:
    import tinytorch as tt

    return tt.DataLoader(tt.TensorDataset(tt.Tensor.wrap(rows), tt.Tensor.wrap(labels)), BATCH, shuffle=True)


def their_loader(rows: np.ndarray, labels: np.ndarray) -> Iterable[Any]:
    from torch import from_numpy
    from torch.utils.data import DataLoader, TensorDataset

    return DataLoader(TensorDataset(from_numpy(rows), from_numpy(labels)), batch_size=BATCH, shuffle=True)


def drained(loader: Iterable[Any]) -> None:
    for _ in loader:
        pass


# The export


def by_lessons() -> dict[str, Series]:
    """`tito export` of the last lesson, by the number of lessons."""
    with tempfile.TemporaryDirectory() as folder:
        return {"the course": exports_of_course(Path(folder) / "ours"), "small": exports_of_small(Path(folder))}


def runs(export: Callable[[], float]) -> dict[str, float]:
    """Seconds of the processor, of tito and all that it starts."""
    return summary([both(export)[1] for _ in range(6)][1:])


def exports_of_course(place: Path) -> Series:
    from tito.course import Course
    from tito.dev.demo import fill
    from tito.workspace import Workspace

    process(TITO, "init", place.name, cwd=place.parent)()
    found: Series = {}
    for n, lesson in enumerate(Course.find().lessons, 1):
        process(TITO, "open", lesson.id, "--no-launch", cwd=place)()
        fill(lesson, Workspace(place).file_of(lesson))
        found[str(n)] = runs(process(TITO, "export", lesson.id, cwd=place))
    return found


def exports_of_small(folder: Path) -> Series:
    """Lessons of one exercise and one check; the learner's file is the course's, with its marks."""
    counts = powers(0, 6)
    write_course(folder / "course", counts[-1])
    tito = (sys.executable, str(TITO_ON), str(folder / "course"))
    process(*tito, "init", "small", "--py", cwd=folder)()
    found: Series = {}
    for n in range(1, counts[-1] + 1):
        process(*tito, "open", f"{n:02}", "--no-launch", cwd=folder / "small")()
        path = folder / "small" / "modules" / f"{n:02}_part{n:02}.py"
        path.write_text(path.read_text(encoding="utf-8").replace(STUB, "return number"), encoding="utf-8")
        export = process(*tito, "export", f"{n:02}", cwd=folder / "small")
        export()
        if n in counts:
            found[str(n)] = runs(export)
    return found


STUB = "raise NotImplementedError"
HEADS = "# %% imports\nfrom tito.notebook import check, draw, patch, probe, raises\n"
SMALL = '''
# %% exercise="same{id}" points=1
def same{id}(number):
    """The number. About 1 line."""
    ### BEGIN SOLUTION
    return number
    ### END SOLUTION

# %% check="same{id}" points=1
def test_unit_same{id}():
    check("same{id}(3)", want=3)


test_unit_same{id}()
'''


def write_course(folder: Path, number: int) -> None:
    entries = ['title = "Small lessons"\n']
    for id in (f"{n:02}" for n in range(1, number + 1)):
        lesson = folder / "modules" / f"{id}_part{id}"
        lesson.mkdir(parents=True)
        (lesson / f"part{id}.py").write_text(HEADS + SMALL.format(id=id), encoding="utf-8")
        entries.append(f'[[lesson]]\nid = "{id}"\nname = "part{id}"\ntitle = "Part {id}"\nminutes = 1\nneeds = []\n')
    (folder / "course.toml").write_text("\n".join(entries), encoding="utf-8")


MEASURES: dict[str, Callable[[], Any]] = {
    "width": by_width,
    "batch": by_batch,
    "depth": by_depth,
    "parameters": by_parameters,
    "samples": by_samples,
    "lessons": by_lessons,
}

# What the figures say


def told(found: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Of each plot the title, where the line bends, and why."""
    return {name: dict(zip(("title", "bends", "why"), SAID[name](found[name]))) for name in MEASURES if name in found}


def ms(series: Series, size: int) -> float:
    return 1e3 * series[str(size)]["median"]


def doubled(series: Series) -> int:
    """The first size at which it takes twice what the smallest takes."""
    least = 2 * min(row["median"] for row in series.values())
    return next((int(size) for size, row in series.items() if row["median"] > least), int(list(series)[-1]))


def steepness(series: Series, first: int, last: int) -> float:
    """The exponent by which time grows from one size to the other."""
    return float(np.log(ms(series, last) / ms(series, first)) / np.log(last / first))


def of_width(found: dict[str, Series]) -> tuple[str, str, str]:
    step = found["step"]
    bend, power = doubled(step), steepness(step, 1024, 4096)
    return (
        f"A layer narrower than {bend} costs no less: {ms(step, 4):.2f} ms a step",
        f"at width {bend} the step takes twice what it takes at 4; from 1024 on time grows as width to the {power:.1f}",
        "below, the time is that of Python and of NumPy's calls, as many for all widths; above, that of the "
        "multiplications and of Adam, which both grow as the square",
    )


def of_batch(found: dict[str, Series]) -> tuple[str, str, str]:
    step = found["step"]
    bend, power = doubled(step), steepness(step, 1024, 16384)
    return (
        f"{bend} rows take only twice as long as one: {ms(step, bend):.1f} ms",
        f"at {bend} rows the step takes twice what one row takes; from 1024 on time grows as rows to the {power:.1f}",
        "below, the time is that of Adam and of Python's calls, the same for any rows; above, each row costs its "
        "multiplications",
    )


def of_depth(found: dict[str, Series]) -> tuple[str, str, str]:
    step = found["step"]
    first, last = (1e3 * (ms(step, 2 * n) - ms(step, n)) / n for n in (8, 512))
    return (
        f"A layer costs {first:.0f} us among ten, {last:.0f} us among a thousand",
        f"nowhere: time grows as depth to the {steepness(step, 16, 1024):.2f}",
        "forward and backward go through a list of operations once, and Adam through a list of parameters; the little "
        "more is that of weights, gradients and moments which no longer lie in the nearest cache",
    )


def of_parameters(found: dict[str, Series]) -> tuple[str, str, str]:
    step, adam = found["whole step"], found["Adam's part"]
    sizes = [int(size) for size in step]
    least = min(sizes, key=lambda n: ms(adam, n) / n)
    most = ms(adam, sizes[-1]) / sizes[-1] / (ms(adam, least) / least)
    return (
        f"From {doubled(step):,} parameters on they cost more than Python's calls",
        f"at {doubled(step):,} the step takes twice the least; a parameter is cheapest for Adam at {least:,}, "
        f"{1e6 * ms(adam, least) / least:.2f} ns, and takes {most:.1f} times that at {sizes[-1]:,}",
        "below, Python's and NumPy's calls, the same for all sizes; then each parameter costs; when weights, gradients,"
        " Adam's two moments and what it computes between leave the nearest cache, each of them is waited for",
    )


def of_samples(found: dict[str, Any]) -> tuple[str, str, str]:
    ours = found["TinyTorch"]
    shares = [1 / found["64,000 x 784"]["to PyTorch"][name]["median"] for name in ("TinyTorch", "np.take alone")]
    each = {n: 1e6 * ms(ours, n) / n for n in (10**5, 10**7)}
    return (
        f"64,000 x 784 takes 1/{shares[0]:.1f} of PyTorch's time, np.take alone 1/{shares[1]:.1f}",
        f"nowhere sharply: {each[10**5]:.0f} ns a sample at 100,000, {each[10**7]:.0f} ns at 10,000,000; "
        f"up to {doubled(ours):,} the start of an epoch shows",
        "a batch costs the same calls whatever the size; beyond the caches each row, read in shuffled order, is waited "
        "for, and so is its place in the order while that is shuffled",
    )


def of_lessons(found: dict[str, Series]) -> tuple[str, str, str]:
    small, course = found["small"], found["the course"]
    each = (ms(small, 64) - ms(small, 8)) / 56
    return (
        f"Exporting costs {ms(small, 1):.0f} ms, and {each:.0f} ms more a small lesson",
        f"at {doubled(small)} small lessons it takes twice what one takes; the course's eighth {ms(course, 8):.0f} ms",
        "below, the start of three processes and of NumPy in two of them; above, an export builds the whole package "
        "anew and runs the checks of every exported lesson on it",
    )


SAID: dict[str, Callable[[Any], tuple[str, str, str]]] = {
    "width": of_width,
    "batch": of_batch,
    "depth": of_depth,
    "parameters": of_parameters,
    "samples": of_samples,
    "lessons": of_lessons,
}
AXES = {
    "width": ("width of three layers, 64 rows", "ms a step"),
    "batch": ("rows of a batch, 256-256-256-10", "ms a step"),
    "depth": ("layers of width 64, 32 rows", "ms a step"),
    "parameters": ("parameters of one square layer, 1 row", "ms"),
    "samples": ("samples of 16 numbers, memory-mapped", "ms an epoch in batches of 64"),
    "lessons": ("lessons exported", "ms of processor to export the last"),
}


def drawn(found: dict[str, Any]) -> dict[str, str]:
    """The plots as SVG, by name; the same figures give the same text."""
    return {name: plot(said["title"], AXES[name], found[name]) for name, said in found["told"].items()}


def plot(title: str, axes: tuple[str, str], parts: dict[str, Any]) -> str:
    chart = Chart(title, *axes)
    lines = [line for part in parts.items() for line in plotted(chart, *part)]
    number_axes(chart)
    for i, line in enumerate(sorted(lines, key=lambda line: -line.get_ydata()[-1])):
        end, side = (line.get_xdata()[-1], line.get_ydata()[-1]), "top" if i else "bottom"
        chart.axis.annotate(line.get_label(), end, (4, 0), textcoords="offset points", va=side)
    return chart.svg()


def number_axes(chart: Chart) -> None:
    """10k and 10M across, plain numbers upwards; matplotlib's powers of ten would be black on dark ground."""
    from matplotlib.ticker import EngFormatter, LogLocator

    chart.axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    chart.axis.yaxis.set_major_formatter("{x:,.6g}")
    for axis in (chart.axis.xaxis, chart.axis.yaxis):
        axis.set_minor_formatter("")
    low, high = chart.axis.get_ylim()
    if high < 50 * low:
        chart.axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))


def plotted(chart: Chart, label: str, series: dict[str, Any]) -> list[Any]:
    """The line of one series, if it is one: its keys are sizes."""
    if not all(size.isdecimal() for size in series):
        return []
    return list(
        chart.axis.loglog([int(size) for size in series], [ms(series, int(n)) for n in series], ".-", label=label)
    )


if __name__ == "__main__":
    main()
