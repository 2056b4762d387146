"""results.json as text, at most 100 columns: `python benchmarks/table.py [FILE]`; `--markdown` is README's table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from textwrap import fill
from typing import Any

NAME, CELL = 15, 12  # columns
CLOCKS = {"cpu": "processor time", "wall": "wall time"}


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


def peers_of(works: dict[str, Any]) -> list[str]:
    """All names, in the order of the workload that has most of them."""
    return list(dict.fromkeys(peer for found in sorted(works.values(), key=len, reverse=True) for peer in found))


def ratios(works: dict[str, Any], kind: str) -> list[str]:
    """One line a peer; the first line is the time of a step of the peer that is the measure."""
    peers = peers_of(works)
    lines = [line("", list(works)), line(peers[0], [time_of(found[peers[0]][kind][0]) for found in works.values()])]
    for peer in peers[1:]:
        cells = [ratio_of(found[peer][f"{kind}_ratio"]) if peer in found else "" for found in works.values()]
        lines.append(line(peer, cells))
    return lines


def steps(threads: str, works: dict[str, Any], rounds: int) -> list[str]:
    """W1 to W7 beside the measure, W8 beside the bare loop."""
    lines = []
    beside = {name: found for name, found in works.items() if name != "W8"}
    for kind in ("cpu", "wall") if threads == "1" else ("wall",):
        head = f"{threads} thread{'s' * (threads != '1')}, {CLOCKS[kind]}"
        if beside:
            measure = next(iter(next(iter(beside.values()))))
            lines += ["", f"{head}: ratio to {measure}, median of {rounds} blocks ± half the quartiles' distance"]
            lines += ratios(beside, kind)
        if "W8" in works:
            bare, ratio = works["W8"]["bare loop"][kind][0], ratio_of(works["W8"]["Trainer"][f"{kind}_ratio"])
            lines.append(f"W8, an epoch: bare loop {time_of(bare)}; DataLoader and Trainer {ratio} times that")
    return lines


def cell_of(found: dict[str, Any] | None, scale: float) -> str:
    if found is None:
        return ""
    return "failed" if "failed" in found else f"{found['cpu'][0] * scale:.3g}"


def chains(results: dict[str, Any]) -> list[str]:
    """W5: medians of each engine."""
    labels = sorted((label for label in next(iter(results.values())) if label.startswith("chain")), key=len)
    heads = [f"10^{label.count('0')}{' off' * label.endswith('off')}" for label in labels]
    lines = ["", "W5, us a node, forward and backward (processor time), by length; off: no collector; resident bytes"]
    lines.append(line("", [*heads, "bytes"]))
    for engine, found in results.items():
        cells = [cell_of(found.get(label), 1e6) for label in labels]
        sizes = [str(chain["bytes"]) for chain in found.values() if "bytes" in chain]
        lines.append(line(engine, [*cells, *sizes[-1:]]))
    return lines


def networks(results: dict[str, Any]) -> list[str]:
    depths = ("depth 8", "depth 16", "depth 32")
    doubled = ("x + x, 22 times", "x + x, 1,000 times")
    lines = ["", "W5, ms (processor time): x = x + x in float64; residual networks 64 wide, 32 rows"]
    lines.append(line("", ["22 times", "1,000 times", *depths, "32 to 16"]))
    for engine, found in results.items():
        cells = [cell_of(found.get(label), 1e3) for label in (*doubled, *depths)]
        pair = [found.get(depth, {}).get("cpu", [0])[0] for depth in depths[1:]]
        lines.append(line(engine, [*cells, f"{pair[1] / pair[0]:.2f}" if all(pair) else ""]))
    failed = [f"failed: {engine}, {label}: {run['failed']}" for engine, found in results.items()
              for label, run in found.items() if "failed" in run]  # fmt: skip
    return [*lines, *failed]


def memory(results: dict[str, Any]) -> list[str]:
    lines = ["", "peak resident memory in MB, of it before the first array; ratio to the first"]
    for work, found in results.items():
        first = next(iter(found.values()))["peak"]
        cells = [
            f"{name} {m['peak'] / 1e6:.0f} ({m['start'] / 1e6:.0f}) {m['peak'] / first:.2f}"
            for name, m in found.items()
        ]
        lines.append(f"{work}: " + "; ".join(cells))
    return lines


def table(results: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    lines = [
        f"{results['processor']}, {results['cores']} cores, Python {results['python']}, {results['date']}",
        versions,
    ]
    lines.append(f"NumPy's BLAS: {results['kernel']}; load before: {results['load']}")
    for threads, works in results["threads"].items():
        lines += steps(threads, works, results["rounds"])
    if results.get("W5"):
        lines += [*chains(results["W5"]), *networks(results["W5"])]
    if "W9" in results:
        whole = results["W9"]
        took = time_of(whole["cpu"][0])
        lines += ["", f"W9, the third milestone's digits: {took} of processor time, {whole['accuracy']:.1%} right"]
    if results.get("memory"):
        lines += memory(results["memory"])
    reasons: dict[str, list[str]] = {}
    for name, reason in results["left_out"].items():
        reasons.setdefault(reason, []).append(name)
    lines += [f"left out: {'; '.join(names)}: {reason}" for reason, names in reasons.items()]
    return "\n".join(fill(text, 100, subsequent_indent="    ") if len(text) > 100 else text for text in lines)


def markdown(results: dict[str, Any]) -> str:
    """One thread, medians of processor time: the measure's time a step, and ratios to it."""
    works = {name: found for name, found in results["threads"]["1"].items() if name != "W8"}
    peers = peers_of(works)
    rows = [["", *works], ["---", *["---:"] * len(works)]]
    rows.append([peers[0], *(time_of(found[peers[0]]["cpu"][0]) for found in works.values())])
    for peer in peers[1:]:
        ratios = [found[peer]["cpu_ratio"][0] if peer in found else None for found in works.values()]
        rows.append([peer, *("" if ratio is None else f"{ratio:.2f}" for ratio in ratios)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    files = [Path(name) for name in sys.argv[1:] if name != "--markdown"]
    file = files[0] if files else Path(__file__).with_name("results.json")
    found = json.loads(file.read_text(encoding="utf-8"))
    print(markdown(found) if "--markdown" in sys.argv else table(found))
