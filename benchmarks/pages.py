"""What README.md and site/text/speed.md say of the results: tables, plots and sentences, from the JSON files.

    python benchmarks/pages.py      writes both, and plots/steps.svg

On a page, the text between `<!-- from results: NAME -->` and the next `<!-- end -->` is made by BLOCKS[NAME]; the rest
is written by hand and holds no measured number. Begin at `made`; how far what is asked for was reached is `aims.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from aims import Aim, aims, reasons
from growth_plots import name_apart
from table import peers_of, ratio_of, time_of
from workloads import TITLES

from tito.dev.figures import Chart

HERE = Path(__file__).resolve().parent
PAGES = (HERE.parent / "README.md", HERE.parent / "site" / "text" / "speed.md")
BLOCK = re.compile(r"(<!-- from results: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
NAMES = {
    "by hand": "NumPy by hand",
    "tuned": "NumPy by hand, outputs made before",
    "by hand, fused": "NumPy by hand, fused",
    "ours": "TinyTorch",
    "ours, fast": "TinyTorch, supplied fast parts",
    "torch": "PyTorch",
    "torch, fused": "PyTorch, fused",
    "jax, jit": "JAX, jit",
    "jax": "JAX",
    "autograd": "autograd (HIPS)",
    "tinygrad, jit": "tinygrad, jit",
}
WIDTH = 120
SHORTER = {"ours, fast": "fast parts", "jax, jit": "JAX"}
SHORT = ("W1", "W2", "W3", "W4", "W6")
GROWN = ("width", "batch", "depth", "parameters", "samples", "lessons")


def main() -> None:
    for page in PAGES:
        page.write_text(made(page.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
    (HERE / "plots" / "steps.svg").write_text(steps_plot(), encoding="utf-8", newline="\n")


def made(text: str) -> str:
    """A page with all its blocks as the results have them now. Raises KeyError for a block that nobody makes."""
    return BLOCK.sub(lambda block: f"{block[1]}{BLOCKS[block[2]]()}\n{block[3]}", text)


def of(name: str) -> dict[str, Any]:
    return dict(json.loads((HERE / f"{name}.json").read_text(encoding="utf-8")))


def rows(head: Sequence[str], body: Iterable[Sequence[str]], left: int = 1) -> str:
    """A Markdown table; the first columns are text, the rest numbers."""
    rule = ["---" if i < left else "---:" for i in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *body))


def named(peer: str) -> str:
    return NAMES.get(peer, peer)


# Steps


def short() -> str:
    """README's: one thread, medians of processor time."""
    works = of("results")["threads"]["1"]
    first = [time_of(works[work]["by hand"]["cpu"][0]) for work in SHORT]
    ratios = [[named(peer), *(f"{works[work][peer]['cpu_ratio'][0]:.2f}" for work in SHORT)]
              for peer in ("ours", "ours, fast", "torch")]  # fmt: skip
    return rows(["a step, times NumPy", *SHORT], [["NumPy by hand", *first], *ratios])


def workloads() -> str:
    more = {
        "W5": "chains of 10^4, 10^5 and 10^6 operations; `x = x + x`; residual networks of depth 8, 16 and 32",
        "W9": "the third milestone's digits, whole",
    }
    return rows(["name", "what"], sorted([name, text] for name, text in {**TITLES, **more}.items()), 2)


def machine() -> str:
    found = of("results")
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return fill(
        f"Measured on {found['date']}: {found['processor']}, {found['cores']} cores, {found['system']}, Python "
        f"{found['python']}, {versions}. NumPy's BLAS: {found['kernel']}. Load before: {found['load']}. Medians of "
        f"{found['rounds']} alternating blocks, ± half the distance of the quartiles.",
        WIDTH,
    )


def steps(threads: str, kind: str) -> str:
    works = {name: found for name, found in of("results")["threads"][threads].items() if name != "W8"}
    peers = peers_of(works)
    first = [f"{named(peers[0])}, a step", *(time_of(found[peers[0]][kind][0]) for found in works.values())]
    body = []
    for peer in peers[1:]:
        spreads = [found[peer][f"{kind}_ratio"] if peer in found else None for found in works.values()]
        body.append([named(peer), *(ratio_of(spread) if spread else "" for spread in spreads)])
    return rows(["by", *works], [first, *body])


def epoch() -> str:
    found = of("results")
    w8, w9 = found["threads"]["1"]["W8"], found["W9"]
    return fill(
        f"W8, an epoch: the bare loop takes {time_of(w8['bare loop']['cpu'][0])}, DataLoader and Trainer "
        f"{ratio_of(w8['Trainer']['cpu_ratio'])} times that. W9, the whole run of the digits: "
        f"{time_of(w9['cpu'][0])} of processor time, {w9['accuracy']:.1%} of the held-out digits right.",
        WIDTH,
    )


def steps_title() -> str:
    works = of("results")["threads"]["1"]
    told = [(works[work]["ours"]["cpu_ratio"][0], time_of(works[work]["by hand"]["cpu"][0])) for work in ("W1", "W4")]
    (first, small), (last, large) = told
    return f"{first:.1f} times NumPy at {small} a step, {last:.2f} times at {large}"


def steps_plot() -> str:
    """Ratio to NumPy by hand, against how long a step of that takes."""
    works = of("results")["threads"]["1"]
    sizes = {work: 1e6 * works[work]["by hand"]["cpu"][0] for work in ("W1", "W2", "W3", "W4")}
    chart = Chart(steps_title(), "us a step by hand: W1, W2, W3, W4", "times NumPy by hand")
    lines = []
    for peer in ("ours", "ours, fast", "torch", "jax, jit"):
        ratios = [works[work][peer]["cpu_ratio"][0] for work in sizes]
        lines += chart.axis.loglog(list(sizes.values()), ratios, ".-", label=SHORTER.get(peer, named(peer)))
    chart.axis.axhline(1, color="#999999", linewidth=0.8)
    chart.axis.xaxis.set_major_formatter("{x:,.6g}")
    chart.axis.yaxis.set_major_formatter("{x:,.6g}")
    chart.axis.yaxis.set_minor_formatter("")
    chart.axis.set_yticks([0.5, 1, 2, 5])
    name_apart(chart, lines)
    return chart.svg()


# Depth and memory


def cell(run: dict[str, Any] | None, scale: float) -> str:
    if run is None:
        return ""
    return run["failed"] if "failed" in run else f"{run['cpu'][0] * scale:.3g}"


def chains() -> str:
    found = of("results")["W5"]
    lengths = [(f"chain of {10**n:,}{off}", f"10^{n}{off}") for off in ("", ", collector off") for n in (4, 5, 6)]
    body = []
    for peer, runs in found.items():
        sizes = [run["bytes"] for run in runs.values() if "bytes" in run]
        numbers = [cell(runs.get(label), 1e6) for label, _ in lengths]
        body.append([named(peer), *numbers, str(sizes[-1]) if sizes else ""])
    return rows(["us a node", *(head for _, head in lengths), "bytes"], body)


def networks() -> str:
    found = of("results")["W5"]
    labels = ("x + x, 22 times", "x + x, 1,000 times", "depth 8", "depth 16", "depth 32")
    body = [[named(peer), *(cell(runs.get(label), 1e3) for label in labels)] for peer, runs in found.items()]
    return rows(["ms", *labels], body)


def memory() -> str:
    found = of("results")["memory"]
    body = []
    for peer in next(iter(found.values()), {}):
        ratios = [found[work][peer]["peak"] / found[work]["by hand"]["peak"] for work in found]
        megabytes = [found[work][peer]["peak"] / 1e6 for work in found]
        body.append([named(peer), *(f"{mb:.0f} MB, {ratio:.2f}" for mb, ratio in zip(megabytes, ratios))])
    return rows(["peak, and ratio to NumPy by hand", *found], body)


# The rest


def loader() -> str:
    found = of("growth")["samples"]["64,000 x 784"]
    ratios = found["to PyTorch"]
    body = [[name, time_of(found[name]["median"]), f"{ratios[name]['median']:.3f}" if name in ratios else "1"]
            for name in ("PyTorch", "TinyTorch", "np.take alone")]  # fmt: skip
    return rows(["an epoch of 64,000 x 784 float32, no workers", "time", "to PyTorch"], body)


def commands() -> str:
    found = of("loop")
    body = []
    for name, one in found["targets"].items():
        values = one["median"], found["targets by processor"][name]["median"], one["at_most"]
        body.append([name, *(f"{1e3 * value:.0f}" for value in values)])
    return rows(["ms", "reached", "by processor time", "at most"], body)


def scaling() -> str:
    found = of("scaling")
    ranks = list(found["measured"])
    body = []
    for network in found["model"]:
        for batch in ("8", "64", "1024"):
            times = [1e3 * found["measured"][rank][network][batch]["step"][0] for rank in ranks]
            body.append([f"{network}, {batch} rows", *(f"{ms:.2f}" for ms in times)])
    return rows([f"ms a step on {found['cores']} cores, ranks:", *ranks], body)


def predicted() -> str:
    found = of("scaling")
    body = [[case, *(f"{gain:.1f}" for gain in gains)] for case, gains in found["gain"].items()]
    return rows(["times faster than one, by the model", *map(str, found["ranks"])], body)


def counted() -> str:
    kinds = of("guard")
    body = [[kind, *(f"{counts[work]:,}" for work in ("W1", "W2"))] for kind, counts in kinds.items()]
    return rows(["instructions a step", "W1", "W2"], body)


def calls() -> str:
    """Python functions that a step calls, and what each of those more takes."""
    counts, works = of("calls")["calls"], of("results")["threads"]["1"]
    body = []
    for work in ("W1", "W2", "W3", "W7/W2"):
        more = counts[work]["ours"] - counts[work]["by hand"]
        longer = 1e6 * (works[work]["ours"]["cpu"][0] - works[work]["by hand"]["cpu"][0])
        both = [str(counts[work][peer]) for peer in ("by hand", "ours")]
        body.append([work, *both, f"{longer:.1f}", f"{longer / more:.2f}"])
    return rows(["workload", "calls by hand", "calls of TinyTorch", "us longer", "us a call more"], body)


def reached() -> str:
    def line(aim: Aim) -> list[str]:
        return [aim.name, f"{aim.reached:.{aim.digits}f}", *(f"{x:g}" if x else "" for x in (aim.must, aim.aim)),
                "yes" if aim.met else "no"]  # fmt: skip

    return rows(["figure", "reached", "must", "aim", "met"], map(line, aims(of)))


def missed() -> str:
    """Why, of each that was not met."""
    told = [fill(f"- **{name}.** {why}", WIDTH, subsequent_indent="  ") for name, why in reasons(of).items()]
    return "\n".join(told) or "All are met."


def grown(name: str) -> str:
    said = of("growth")["told"][name]
    bends = f"Bends {said['bends']}." if said["bends"].startswith("nowhere") else f"It bends: {said['bends']}."
    return f"![{said['title']}](../../benchmarks/plots/{name}.svg)\n\n" + fill(f"{bends} Why: {said['why']}.", WIDTH)


def growth_machine() -> str:
    found = of("growth")
    caches = ", ".join(f"{name} {size / 1024:,.0f} KiB" for name, size in found.get("caches", {}).items())
    return (
        f"Measured on {found['date']}, NumPy {found['numpy']}, one thread, load {found['load']:.1f}; caches: {caches}."
    )


def growing() -> str:
    """The network of 1971 beside TorchSONN: a row a set, in each cell ours and both ways of theirs."""
    body = []
    for row in of("growing")["sets"]:
        r2 = " ".join(f"{row['r2'][side]:.3f}" for side in ("ours", "theirs", "hasty"))
        seconds = "{ours:.3f} {theirs:.1f} {hasty:.1f}".format(**row["seconds"])
        times = " ".join(f"{ratio:.0f}" for ratio in row["least_ratio"].values())
        body.append([f"{row['set']}, {row['family']}", r2, seconds, times])
    return rows(["set and family", "explained", "seconds", "times faster, at least"], body)


def growing_machine() -> str:
    found = of("growing")
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    splits = len(found["sets"][0]["runs"])
    where = f"Measured on {found['date']}, {found['cores']} cores, one thread a side, {versions}"
    settings = ", ".join(f"{name} {value}" for name, value in found["settings"].items())
    ways = (f"{way['steps']} steps at {way['lr']}" for way in found["ways"].values())
    return fill(f"{where}; {splits} splits of the rows; {settings}. TorchSONN: {', in haste '.join(ways)}.", WIDTH)


def figure() -> str:
    return f"![{steps_title()}](../../benchmarks/plots/steps.svg)"


BLOCKS: dict[str, Callable[[], str]] = {
    "short": short,
    "workloads": workloads,
    "machine": machine,
    "figure": figure,
    "one-thread": lambda: steps("1", "cpu"),
    "two-threads": lambda: steps("2", "wall"),
    **{each.__name__: each for each in (epoch, chains, networks, memory, loader, commands, scaling, predicted)},
    **{each.__name__: each for each in (counted, calls, reached, missed, growing)},
    "growing-machine": growing_machine,
    "growth": growth_machine,
    **{name: lambda name=name: grown(name) for name in GROWN},
}


if __name__ == "__main__":
    main()
