"""Writes the figures of grading.json into site/text/grading-at-scale.md: `python benchmarks/grading_page.py`.

`--check` writes nothing, and ends with 1 where they differ.
A figure stands between `<!-- NAME -->` and `<!-- end -->`; NAME is a function of this file. Begin at `filled`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "site" / "text" / "grading-at-scale.md"
FIGURES = HERE / "grading.json"
MARK = re.compile(r"(<!-- ([a-z_]+) -->\n).*?(<!-- end -->)", re.S)
CORES = 2
Table = dict[str, Any]


def filled(page: str, figures: Table) -> str:
    """The page with all figures as they are in the table."""
    return MARK.sub(lambda found: f"{found[1]}{PARTS[found[2]](figures)}\n{found[3]}", page)


def rate(figures: Table) -> str:
    found, about = _of(figures, "rate")
    calm = CORES / found["cpu_each"]
    rows = [
        ("submissions", f"{found['submissions']:,}"),
        ("a second, as it ran", f"{found['per_second']:.0f}"),
        ("processor time each", f"{1000 * found['cpu_each']:.1f} ms"),
        (f"a second if {CORES} cores had nothing else to do", f"{calm:.0f}"),
    ]
    return _table(("overhead alone, level 1, two workers", "measured"), rows) + _load(about)


def nbgrader(figures: Table) -> str:
    found, about = _of(figures, "nbgrader")
    times, many = found["times"], found["submissions"]
    rows = [
        ("`nbgrader autograde`, stock Execute", *_seconds(found["nbgrader"], many), "", ""),
        ("`tito teach grade`, the whole command", *_seconds(found["tito"], many), *_times(times, "command")),
        ("the same, workers warm", *_seconds(found["warm"], many), *_times(times, "warm")),
    ]
    head = (f"{many} submissions", "wall", "each", "processor", "times, wall", "times, processor")
    same = "Both gave the same marks." if found["same_marks"] else "The marks differed."
    return _table(head, rows) + f"\n{same}" + _load(about)


def lessons(figures: Table) -> str:
    found, about = _of(figures, "lessons")
    rows = [(name.replace("_", " "), str(one["checks"]), *_lesson(one)) for name, one in found.items()]
    head = ("lesson", "checks", "their own time", "sealed", "overhead", "ratio")
    return _table(head, rows) + "\nProcessor time, the reference's answers, one worker." + _load(about)


def memory(figures: Table) -> str:
    return _growth(figures, "memory")


def load(figures: Table) -> str:
    return _growth(figures, "load")


def cluster(figures: Table) -> str:
    found, about = _of(figures, "cluster")
    names = {"pool": "a pool of two workers", "cluster": "a Dask cluster of two workers, TLS on loopback"}
    cells = {key: (f"{one['per_second']:.0f}", f"{1000 * one['cpu_each']:.1f} ms") for key, one in found.items()}
    rows = [(names[key], *cells[key]) for key in names]
    return _table(("toy submissions", "a second", "processor time each, of who grades"), rows) + _load(about)


def needs(figures: Table) -> str:
    """What 50,000 submissions take: by processor time, as on machines that do nothing else."""
    per = {
        "a lesson that costs overhead alone": figures["rate"]["found"]["cpu_each"],
        "03 layers": _cpu_of_load(figures),
    }
    slowest = max(figures["lessons"]["found"].items(), key=lambda item: item[1]["sealed"]["cpu"])
    per[f"{slowest[0].replace('_', ' ')}, the dearest"] = slowest[1]["sealed"]["cpu"]
    rows = []
    for name, cpu in per.items():
        hours = [50_000 * cpu / cores / 3600 for cores in (2, 16, 64)]
        rows.append((name, f"{1000 * cpu:.0f} ms", *(_duration(one) for one in hours)))
    size = figures["load"]["found"]["store_bytes"] / figures["load"]["found"]["submissions"]
    said = f"\nThe store takes {size / 1000:.1f} kB for a result of 03, {50_000 * size / 1e9:.2f} GB for 50,000."
    return _table(("50,000 submissions of", "processor time each", "2 cores", "16 cores", "64 cores"), rows) + said


PARTS: dict[str, Callable[[Table], str]] = {
    part.__name__: part for part in (rate, nbgrader, lessons, memory, load, cluster, needs)
}


def _of(figures: Table, name: str) -> tuple[Table, Table]:
    return figures[name]["found"], figures[name]["about"]


def _growth(figures: Table, name: str) -> str:
    """Rows of memory and cost; cost is the processor time of the submissions since the row before."""
    found, about = _of(figures, name)
    kept = found["rows"]
    rows = []
    for before, now in zip(kept, kept[1:]):
        cost = 1000 * (now["cpu"] - before["cpu"]) / (now["done"] - before["done"])
        speed = (now["done"] - before["done"]) / (now["seconds"] - before["seconds"])
        sizes = (f"{now[part]:.0f}" for part in ("command", "workers", "zygotes"))
        rows.append((f"{now['done']:,}", *sizes, f"{cost:.0f} ms", f"{speed:.0f}", f"{now['load']:.0f}"))
    head = ("done", "command MB", "workers MB", "zygotes MB", "processor time each", "a second", "load")
    whole = f"\n`{found['said'][0]}`"
    return _table(head, rows) + whole + _load(about)


def _cpu_of_load(figures: Table) -> float:
    rows = figures["load"]["found"]["rows"]
    return float((rows[-1]["cpu"] - rows[0]["cpu"]) / (rows[-1]["done"] - rows[0]["done"]))


def _seconds(one: Table, many: int) -> tuple[str, str, str]:
    return f"{one['seconds']:.1f} s", f"{1000 * one['seconds'] / many:.0f} ms", f"{one['cpu']:.1f} s"


def _times(times: Table, name: str) -> tuple[str, str]:
    return f"{times[name]:.0f}", f"{times[f'{name}_cpu']:.0f}"


def _lesson(one: Table) -> tuple[str, ...]:
    own, sealed, over = (f"{1000 * one[part]['cpu']:.0f} ms" for part in ("own", "sealed", "overhead"))
    return own, sealed, over, f"{one['ratio']['cpu']:.1f}"


def _duration(hours: float) -> str:
    return f"{hours:.1f} h" if hours >= 1 else f"{60 * hours:.0f} min"


def _load(about: Table) -> str:
    low, high = about["load"]
    return f"\nLoad of the machine ({about['cores']} cores) before and after: {low:.1f}, {high:.1f}."


def _table(head: tuple[str, ...], rows: list[Any]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main() -> int:
    page, figures = PAGE.read_text(encoding="utf-8"), json.loads(FIGURES.read_text(encoding="utf-8"))
    fresh = filled(page, figures)
    if "--check" in sys.argv:
        return int(fresh != page)
    PAGE.write_text(fresh, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
