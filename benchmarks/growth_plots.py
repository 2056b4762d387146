"""What growth.json says of each plot: its title, where the line bends and why; and the plots, as SVG.

Begin at `told`: every number in its sentences comes from the figures, and so does every reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tito.dev.figures import Chart

Series = dict[str, dict[str, float]]  # size -> median and quartiles in seconds, and page faults
Said = tuple[str, str, str]
KEPT, ADAM, PRODUCTS = (f"{part}, memory kept" for part in ("step", "Adam", "products"))
LINE, TOP = 0.08, 0.94  # of the axis' height: a line of text, and the highest that is clear of the title
MANY = 16  # page faults a step, from which on some array is new each time
MOMENTS = 6 * 4  # bytes a parameter that Adam goes through: weight, gradient, two moments, two results in float32


def told(found: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Of each plot the title, where the line bends, and why."""
    said = {name: of(found[name], found.get("caches", {})) for name, of in SAID.items() if name in found}
    return {name: dict(zip(("title", "bends", "why"), texts)) for name, texts in said.items()}


def ms(series: Series, size: int) -> float:
    return 1e3 * series[str(size)]["median"]


def doubled(series: Series) -> int:
    """The first size at which it takes twice what the smallest takes."""
    least = 2 * min(row["median"] for row in series.values())
    return next((int(size) for size, row in series.items() if row["median"] > least), int(list(series)[-1]))


def steepness(series: Series, first: int, last: int) -> float:
    """The exponent by which time grows from one size to the other."""
    return float(np.log(ms(series, last) / ms(series, first)) / np.log(last / first))


def shares(found: dict[str, Series], size: int) -> str:
    """What of a step are its matrix products and its Adam, measured by themselves, where freed memory is kept."""
    products, adam = (ms(found[part], size) / ms(found[KEPT], size) for part in (PRODUCTS, ADAM))
    return f"matrix products take {products:.0%} and Adam {adam:.0%}"


def faulty(found: dict[str, Series]) -> str:
    """Where page faults begin, and what they cost: the same step in a process that keeps freed memory."""
    plain, kept = found["step"], found[KEPT]
    size = next((int(size) for size, row in plain.items() if row["faults"] >= MANY), None)
    if size is None:
        return "no size makes page faults"
    return (
        f"from {size:,} on freed arrays go back to the system and come anew, {plain[str(size)]['faults']:,.0f} page "
        f"faults a step; where the C library keeps them, {kept[str(size)]['faults']:,.0f}, and the step takes "
        f"{ms(kept, size) / ms(plain, size):.0%} of the time"
    )


def of_width(found: dict[str, Series], caches: dict[str, int]) -> Said:
    step = found["step"]
    bend = doubled(step)
    return (
        f"A layer narrower than {bend} costs no less: {ms(step, 4):.2f} ms a step",
        f"at width {bend} the step takes twice what it takes at 4; from 1,024 on time grows as width to the "
        f"{steepness(step, 1024, 4096):.1f}, with freed memory kept to the {steepness(found[KEPT], 1024, 4096):.1f}",
        f"at width 4 {shares(found, 4)} of the step: the rest is Python's and NumPy's calls, as many for all widths; "
        f"at 1,024 {shares(found, 1024)}, both of which grow as the square; {faulty(found)}",
    )


def of_batch(found: dict[str, Series], caches: dict[str, int]) -> Said:
    step = found[KEPT]
    bend = doubled(step)
    return (
        f"{bend} rows take only twice as long as one: {ms(step, bend):.1f} ms",
        f"with freed memory kept, at {bend} rows the step takes twice what one row takes; from 1,024 on time grows as "
        f"rows to the {steepness(step, 1024, 16384):.1f}",
        f"with one row {shares(found, 1)} of the step: Adam takes the same for any rows; with 16,384 "
        f"{shares(found, 16384)}, the rest is bias, ReLU and loss, a pass over all rows each; {faulty(found)}",
    )


def of_depth(found: dict[str, Series], caches: dict[str, int]) -> Said:
    step, adam = found[KEPT], found[ADAM]
    first, last = (1e3 * (ms(step, 2 * n) - ms(step, n)) / n for n in (8, 512))
    few, many = (1e3 * (ms(adam, 2 * n) - ms(adam, n)) / n for n in (8, 512))
    total = 1024 * 64 * 65 * MOMENTS
    return (
        f"A layer costs {first:.0f} us among ten, {last:.0f} us among a thousand",
        f"nowhere: time grows as depth to the {steepness(step, 16, 1024):.2f}",
        "forward and backward go through a list of operations once, and Adam through a list of parameters; of the "
        f"{last - first:.0f} us more a layer, {many - few:.0f} are Adam's, which goes through {total / 2**20:.0f} MiB "
        f"of a thousand layers{beyond(caches, total)}",
    )


def of_parameters(found: dict[str, Series], caches: dict[str, int]) -> Said:
    step, kept = found["step"], found[ADAM]
    sizes = [int(size) for size in step]
    least = min(sizes, key=lambda n: ms(kept, n) / n)
    each = {n: 1e6 * ms(kept, n) / n for n in (least, sizes[-1])}
    places = [f"{name} holds {size / MOMENTS:,.0f}" for name, size in caches.items()]
    holds = f" (of what it goes through, {MOMENTS} bytes a parameter, {', '.join(places)})" if places else ""
    return (
        f"From {doubled(step):,} parameters on they cost more than Python's calls",
        f"at {doubled(step):,} the step takes twice the least; with freed memory kept a parameter is cheapest for "
        f"Adam at {least:,}, {each[least]:.2f} ns; at {sizes[-1]:,} it takes {each[sizes[-1]] / each[least]:.1f} times "
        "that",
        f"with {sizes[0]} parameters {shares(found, sizes[0])} of the step; {faulty(found)}; beyond that each "
        f"parameter is waited for as the caches fill{holds}",
    )


def beyond(caches: dict[str, int], size: float) -> str:
    """`, more than L3's 32`, of the largest cache that does not hold so many bytes."""
    small = [f", more than {name}'s {held / 2**20:g}" for name, held in caches.items() if held < size]
    return small[-1] if small else ""


def of_samples(found: dict[str, Any], caches: dict[str, int]) -> Said:
    ours, alone = found["TinyTorch"], found["np.take alone"]
    parts = [1 / found["64,000 x 784"]["to PyTorch"][name]["median"] for name in ("TinyTorch", "np.take alone")]
    each, least = ({n: 1e6 * ms(series, n) / n for n in (10**5, 10**7)} for series in (ours, alone))
    return (
        f"64,000 x 784 takes 1/{parts[0]:.1f} of PyTorch's time, np.take alone 1/{parts[1]:.1f}",
        f"nowhere sharply: {each[10**5]:.0f} ns a sample at 100,000, {each[10**7]:.0f} ns at 10,000,000; "
        f"up to {doubled(ours):,} the start of an epoch shows",
        f"of the {each[10**7] - each[10**5]:.0f} ns more, {least[10**7] - least[10**5]:.0f} are those of np.take "
        f"alone on the same shuffled rows, {10**7 * 64 / 2**20:,.0f} MiB{beyond(caches, 10**7 * 64)}: each row is "
        "waited for; what the loader adds to it is the same calls a batch",
    )


def of_lessons(found: dict[str, Any], caches: dict[str, int]) -> Said:
    small, course, starts = found["small"], found["the course"], 1e3 * found["starts"]["median"]
    each = (ms(small, 64) - ms(small, 8)) / 56
    return (
        f"Exporting costs {ms(small, 1):.0f} ms, and {each:.0f} ms more a small lesson",
        f"at {doubled(small)} small lessons it takes twice what one takes; the course's eighth {ms(course, 8):.0f} ms",
        f"{starts:.0f} ms of the first are the start of three processes, with NumPy in two of them, measured alone; "
        "above, an export builds the whole package anew and runs the checks of every exported lesson on it",
    )


SAID: dict[str, Callable[[Any, dict[str, int]], Said]] = {
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
    "parameters": ("parameters of one square layer, 1 row", "ms a step"),
    "samples": ("samples of 16 numbers, memory-mapped", "ms an epoch in batches of 64"),
    "lessons": ("lessons exported", "ms of processor to export the last"),
}
SHOWN = {"step": "step", KEPT: "memory kept", ADAM: "of it Adam", PRODUCTS: "of it products"}


def drawn(found: dict[str, Any]) -> dict[str, str]:
    """The plots as SVG, by name; the same figures give the same text."""
    return {name: plot(said["title"], AXES[name], found[name]) for name, said in found["told"].items()}


def plot(title: str, axes: tuple[str, str], parts: dict[str, Any]) -> str:
    chart = Chart(title, *axes)
    named = {SHOWN.get(name, name): part for name, part in parts.items() if "step" not in parts or name in SHOWN}
    lines = [line for part in named.items() for line in plotted(chart, *part)]
    number_axes(chart)
    name_apart(chart, lines)
    return chart.svg()


def name_apart(chart: Chart, lines: list[Any]) -> None:
    """Write each line's label at its right end; of lines that end together, in their order."""
    low, high = np.log(chart.axis.get_ylim())
    for x in {line.get_xdata()[-1] for line in lines}:
        ending = sorted((line for line in lines if line.get_xdata()[-1] == x), key=lambda line: line.get_ydata()[-1])
        heights = [(np.log(line.get_ydata()[-1]) - low) / (high - low) for line in ending]
        for line, height in zip(ending, apart(heights)):
            place = x, float(np.exp(low + height * (high - low)))
            chart.axis.annotate(line.get_label(), place, (4, 0), textcoords="offset points", va="center")


def apart(heights: list[float]) -> list[float]:
    """Rising heights, as shares of the axis, moved so that a line of text fits between any two; none is above TOP."""
    for i in range(1, len(heights)):
        heights[i] = max(heights[i], heights[i - 1] + LINE)
    heights[-1] = min(heights[-1], TOP)
    for i in reversed(range(len(heights) - 1)):
        heights[i] = min(heights[i], heights[i + 1] - LINE)
    return heights


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
