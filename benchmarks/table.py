"""results.json as text, at most 100 columns: `python benchmarks/table.py [FILE]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

NAME, CELL = 15, 12  # columns


def time_of(seconds: float) -> str:
    """Three digits and a unit."""
    unit, scale = next((unit, scale) for unit, scale in (("us", 1e6), ("ms", 1e3), ("s", 1)) if seconds * scale < 1e3)
    return f"{seconds * scale:#.3g}".rstrip(".") + f" {unit}"


def ratio_of(spread: list[float]) -> str:
    """The median, and half of what lies between the quartiles."""
    digits = 2 if spread[0] < 10 else 1 if spread[0] < 100 else 0
    return f"{spread[0]:.{digits}f} ±{(spread[2] - spread[1]) / 2:.{digits}f}"


def line(name: str, cells: list[str]) -> str:
    return (f"{name:<{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)).rstrip()


def ratios(works: dict[str, Any], kind: str) -> list[str]:
    """One line a peer; the first line is the measure's own time a step."""
    peers = list(dict.fromkeys(peer for found in works.values() for peer in found))
    base = [time_of(next(iter(found.values()))[kind][0]) for found in works.values()]
    rows = [line(peers[0], base)]
    for peer in peers[1:]:
        cells = [ratio_of(found[peer][f"{kind}_ratio"]) if peer in found else "" for found in works.values()]
        rows.append(line(peer, cells))
    return rows


def table(results: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    lines = [f"{results['processor']}, {results['cores']} cores, Python {results['python']}, {results['date']}"]
    lines += [versions, f"BLAS of NumPy: {results['kernel']}; load before: {results['load']}"]
    for threads, works in results["threads"].items():
        for kind in ("cpu", "wall") if threads == "1" else ("wall",):
            clock = {"cpu": "processor time", "wall": "wall time"}[kind]
            lines += [
                "",
                f"{threads} thread{'s' * (threads != '1')}, {clock}: ratio to {first(works)}, "
                f"median of {results['rounds']} blocks ± half the quartiles' distance",
            ]
            lines += [line("", list(works)), *ratios(works, kind)]
    lines += [f"left out: {name}: {reason}" for name, reason in results["left_out"].items()]
    return "\n".join(lines)


def first(works: dict[str, Any]) -> str:
    return str(next(iter(next(iter(works.values())))))


if __name__ == "__main__":
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("results.json")
    print(table(json.loads(file.read_text(encoding="utf-8"))))
