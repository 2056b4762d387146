"""Cost against size, where it bends and why: one double-logarithmic plot each.

    tito dev export && python benchmarks/growth.py    writes growth.json and plots/*.svg; wants PyTorch, an idle machine
    python benchmarks/growth.py --only width batch    these anew, the rest as it stands in growth.json
    python benchmarks/growth.py --draw                the plots alone, from growth.json

A step is forward, backward and Adam of a ReLU network in float32, on one thread. The loader goes through an epoch of
shuffled batches, 64 rows of 16 numbers in a memory-mapped file, or of 784 beside PyTorch's DataLoader, both without
workers. The export is `tito export` with all that it starts, of the course and of a course of small equal lessons. All
times are those of the processor, which other work on the machine disturbs less.

Why a line bends is measured too: a step's matrix products and its Adam by themselves, page faults, the sizes of the
caches, and the same steps in a process whose C library keeps freed memory. Begin at `main`; what is said of each plot,
by the figures, is in growth_plots.py.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

import numpy as np
from growth_plots import Series, drawn, told
from loop import TITO, both, environment, facts, process, summary
from run import KEPT_HEAP

from tito.spare import TOOLS

HERE = Path(__file__).resolve().parent
REFERENCE, RESULT, PLOTS = HERE.parent / "build" / "reference", HERE / "growth.json", HERE / "plots"
TITO_ON = HERE.parent / "tests" / "fixtures" / "tito_on.py"
BLOCK, BLOCKS = 0.02, 9  # seconds at least, and how many
CLASSES, ROWS, WIDTH = 10, 64, 64
BATCH, FEATURES = 64, 16
MILLION = 10**6


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
        found |= {**facts(), "caches": caches(), **{name: measured(name) for name in chosen.only}}
    found["told"] = told(found)
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for name, text in drawn(found).items():
        (PLOTS / f"{name}.svg").write_text(text, encoding="utf-8", newline="\n")


def caches() -> dict[str, int]:
    """Bytes of the processor's caches for data, where Linux tells."""
    folders = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")
    told = [[(folder / name).read_text().strip() for name in ("type", "level", "size")] for folder in folders]
    return {f"L{level}": 1024 * int(size.rstrip("K")) for kind, level, size in sorted(told) if kind != "Instruction"}


def measured(name: str) -> Any:
    """A measure's series; of steps also with freed memory kept."""
    found = in_a_process(name)
    if name in STEPS:
        kept = in_a_process(name, KEPT_HEAP)
        found |= {f"{label}, memory kept": series for label, series in kept.items()}
    return found


def in_a_process(name: str, heap: dict[str, str] | None = None) -> Any:
    print(f"{name}{' with freed memory kept' * bool(heap)} ...", file=sys.stderr, flush=True)
    env = {**environment(), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(REFERENCE)}
    env |= heap or {}
    done = subprocess.run([sys.executable, __file__, "--measure", name], env=env, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def timed(action: Callable[[], object], blocks: int = BLOCKS) -> dict[str, float]:
    """Seconds and page faults a call, in blocks of so many calls that a block lasts long enough; the first warm up."""
    began = time.perf_counter()
    action()
    action()
    calls = max(1, round(2 * BLOCK / (time.perf_counter() - began)))
    faults = getrusage(RUSAGE_SELF).ru_minflt
    found = summary([seconds(action, calls) / calls for _ in range(blocks)])
    return {**found, "faults": (getrusage(RUSAGE_SELF).ru_minflt - faults) / (calls * blocks)}


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


def products(sizes: list[int], rows: int) -> Callable[[], None]:
    """The matrix products of such a step: a layer's, and two of its backward, of which the first layer needs one."""
    rng = np.random.Generator(np.random.Philox(0))

    def array(*shape: int) -> np.ndarray:
        return rng.random(shape, dtype=np.float32)

    layers = [(array(rows, n), array(n, m), array(rows, m)) for n, m in zip(sizes, sizes[1:])]

    def multiply() -> None:
        for x, weight, grad in layers:
            x @ weight, x.T @ grad
        for _, weight, grad in layers[1:]:
            grad @ weight.T

    return multiply


def by(cases: Iterable[tuple[int, list[int], int]]) -> dict[str, Series]:
    """The step, its Adam and its matrix products of each case: what counts as its size, the widths, the rows."""
    found: dict[str, Series] = {"step": {}, "Adam": {}, "products": {}}
    for size, sizes, rows in cases:
        step, optimizer = trained(sizes, rows)
        parts = {"step": step, "Adam": optimizer.step, "products": products(sizes, rows)}
        for name, action in parts.items():
            found[name][str(size)] = timed(action)
    return found


def by_width() -> dict[str, Series]:
    return by((w, [w, w, w, CLASSES], ROWS) for w in powers(2, 12))


def by_batch() -> dict[str, Series]:
    return by((rows, [256, 256, 256, CLASSES], rows) for rows in powers(0, 14))


def by_depth() -> dict[str, Series]:
    return by((n, [WIDTH] * n + [CLASSES], 32) for n in powers(0, 10))


def by_parameters() -> dict[str, Series]:
    """One square layer and a batch of one row, so that the parameters are nearly all of it."""
    return by((w * w + w, [w, w], 1) for w in powers(2, 13))


# The loader


def by_samples() -> dict[str, Any]:
    """An epoch by the number of samples; and both loaders on 64,000 x 784."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = [10**n for n in range(2, 8)]
        ours = {str(n): epochs(our_loader(*mapped(Path(folder), n))) for n in sizes}
        theirs = {str(n): epochs(their_loader(*mapped(Path(folder), n))) for n in sizes if n <= MILLION}
        alone = {str(n): timed(partial(taken, *mapped(Path(folder), n)), 3) for n in sizes}
    return {"TinyTorch": ours, "PyTorch": theirs, "np.take alone": alone, "64,000 x 784": beside_pytorch()}


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
        found = {"the course": exports_of_course(Path(folder) / "ours"), "small": exports_of_small(Path(folder))}
        return {**found, "starts": runs(lambda: sum(start() for start in starts(Path(folder) / "ours")))}


def runs(export: Callable[[], float]) -> dict[str, float]:
    """Seconds of the processor, of tito and all that it starts."""
    return summary([both(export)[1] for _ in range(6)][1:])


def starts(place: Path) -> list[Callable[[], float]]:
    """The three processes of an export, which import what they need and end: tito, and the two that run checks."""
    one = process(sys.executable, "-c", f"import {', '.join(TOOLS)}", cwd=place)
    return [process(sys.executable, "-c", "import tito.commands.export", cwd=place), one, one]


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


STEPS = ("width", "batch", "depth", "parameters")
MEASURES: dict[str, Callable[[], Any]] = {
    "width": by_width,
    "batch": by_batch,
    "depth": by_depth,
    "parameters": by_parameters,
    "samples": by_samples,
    "lessons": by_lessons,
}


if __name__ == "__main__":
    main()
