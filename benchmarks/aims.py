"""What was asked of the engine's speed, how far it was reached, and why not where it was not. Begin at `aims`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Of = Callable[[str], dict[str, Any]]  # a result by the name of its file
NEAR = 1.02  # met when within 2 % of the figure

# workload and peer -> at most so many times NumPy by hand: must, aim (0: none)
TO_NUMPY = {
    ("W1", "ours"): (1.75, 1.5),
    ("W1", "ours, fast"): (1.5, 1.1),
    ("W2", "ours"): (1.20, 1.05),
    ("W2", "ours, fast"): (1.05, 0.88),
    ("W3", "ours"): (1.02, 0.95),
    ("W3", "ours, fast"): (0.97, 0.92),
    ("W4", "ours"): (1.02, 0.97),
    ("W6", "ours"): (1.05, 0),
    ("W6", "ours, fast"): (0.75, 0.65),
    ("W7/W2", "ours"): (1.10, 1.00),
    ("W7/W3", "ours"): (1.10, 1.00),
}
TO_TORCH = {"W1": 0.22, "W2": 0.24, "W3": 0.65, "W4": 1.03, "W7/W2": 0.40, "W7/W3": 0.40}
PARTS = {"W6": {"ours": "composed", "ours, fast": "fused"}}


class Aim(NamedTuple):
    """A figure that was asked for: less is better."""

    name: str
    reached: float
    must: float
    aim: float = 0
    digits: int = 2

    @property
    def met(self) -> bool:
        return self.reached <= NEAR * self.must


def aims(of: Of) -> list[Aim]:
    """All of them, as the results have them; ratios are of processor time on one thread."""
    results = of("results")
    return [*_to_numpy(results), *_to_torch(results), *_depth(results), *_memory(results), *_others(of)]


def _to_numpy(results: dict[str, Any]) -> Iterator[Aim]:
    for (work, peer), (must, aim) in TO_NUMPY.items():
        part = PARTS.get(work, {"ours": "", "ours, fast": "fast optimizer"})[peer]
        found = results["threads"]["1"][work][peer]["cpu_ratio"][0]
        yield Aim(f"{work}{part and ', '}{part}, to NumPy by hand", found, must, aim)
    yield Aim("W8, to the bare loop", results["threads"]["1"]["W8"]["Trainer"]["cpu_ratio"][0], 1.15, 1.08)


def _to_torch(results: dict[str, Any]) -> Iterator[Aim]:
    """The better of the two optimizers: PyTorch has its fastest, too, where that is the default."""
    for work, must in TO_TORCH.items():
        found = results["threads"]["1"][work]
        ours = min(found[peer]["cpu"][0] for peer in ("ours", "ours, fast") if peer in found)
        yield Aim(f"{work}, to PyTorch", ours / found["torch"]["cpu"][0], must)


def _depth(results: dict[str, Any]) -> Iterator[Aim]:
    ours, torch = results["W5"]["ours"], results["W5"]["torch"]
    on, off = (
        {n: 1e6 * ours[f"chain of {10**n:,}{more}"]["cpu"][0] for n in (4, 6)} for more in ("", ", collector off")
    )
    yield Aim("W5, us a node at 10^4", on[4], 4.5, 3.5)
    yield Aim("W5, us a node at 10^6", on[6], 6.5)
    yield Aim("W5, us a node at 10^6, collector off", off[6], 4.5)
    yield Aim("W5, 10^6 to 10^4, collector off", off[6] / off[4], 1.3)
    yield Aim("W5, bytes a node", max(run["bytes"] for run in ours.values() if "bytes" in run), 750, 600, 0)
    yield Aim("W5, 10^4 to PyTorch", ours["chain of 10,000"]["cpu"][0] / torch["chain of 10,000"]["cpu"][0], 0.9)
    yield Aim("residual depth 32 to 16", ours["depth 32"]["cpu"][0] / ours["depth 16"]["cpu"][0], 2.2)


def _memory(results: dict[str, Any]) -> Iterator[Aim]:
    for work, peers in results["memory"].items():
        yield Aim(f"peak memory of {work}, to NumPy by hand", peers["ours"]["peak"] / peers["by hand"]["peak"], 1.05)


def _others(of: Of) -> Iterator[Aim]:
    ratio = of("growth")["samples"]["64,000 x 784"]["to PyTorch"]["TinyTorch"]["median"]
    yield Aim("DataLoader, to PyTorch's", ratio, 0.067, digits=3)
    worst: dict[str, Aim] = {}
    for name, one in of("loop")["targets by processor"].items():
        kind = re.sub(r"\d\d", "NN", name)
        aim = Aim(f"{kind}, ms", 1e3 * one["median"], 1e3 * one["at_most"], digits=0)
        worst[kind] = max(aim, worst.get(kind, aim), key=lambda one: one.reached)
    yield from worst.values()


# Why not


def reasons(of: Of) -> dict[str, str]:
    """Why, by the part that was not met. Every number in it is measured."""
    missed = [aim.name for aim in aims(of) if not aim.met]
    return {part: why(of) for part, (names, why) in WHY.items() if any(re.search(names, name) for name in missed)}


def unexplained(of: Of) -> list[str]:
    """What was not met and has no reason here."""
    every = [names for names, _ in WHY.values()]
    return [aim.name for aim in aims(of) if not aim.met and not any(re.search(names, aim.name) for names in every)]


def _works(of: Of) -> dict[str, Any]:
    return dict(of("results")["threads"]["1"])


def _more(of: Of, work: str, peer: str = "ours", base: str = "by hand") -> tuple[int, float]:
    """Python calls more than the base, and microseconds more."""
    counts, found = of("calls")["calls"][work], _works(of)[work]
    return counts[peer] - counts[base], 1e6 * (found[peer]["cpu"][0] - found[base]["cpu"][0])


def _by_calls(work: str) -> Callable[[Of], str]:
    def why(of: Of) -> str:
        calls, longer = _more(of, work)
        return (
            f"A step calls {calls} Python functions more than by hand and takes {longer:.1f} us longer, "
            f"{longer / calls:.2f} us each: modules, operations that record themselves, the walk back, the optimizer."
        )

    return why


def _by_optimizer(of: Of) -> str:
    calls, longer = _more(of, "W3")
    found = _works(of)["W3"]
    small = _more(of, "W2")[1]
    fast = 1e6 * (found["ours"]["cpu"][0] - found["ours, fast"]["cpu"][0])
    return (
        f"Of the {longer:.0f} us that a step takes longer, W2 with about as many Python calls takes {small:.0f}; the "
        f"supplied FastAdam, which differs in nothing else, takes {fast:.0f} off: the lesson's Adam makes new "
        "arrays on the way."
    )


def _by_large_steps(of: Of) -> str:
    found = _works(of)["W4"]
    fast = 1e3 * (found["ours"]["cpu"][0] - found["ours, fast"]["cpu"][0])
    longer = 1e3 * (found["ours"]["cpu"][0] - found["by hand"]["cpu"][0])
    return f"A step takes {longer:.2f} ms longer than by hand; the supplied FastAdam takes {fast:.2f} ms off."


def _by_passes(of: Of) -> str:
    calls, longer = _more(of, "W6")
    fused = 1e6 * (_works(of)["W6"]["ours"]["cpu"][0] - _works(of)["W6"]["ours, fast"]["cpu"][0])
    return (
        f"Composed of single operations, each of which writes a new array of 1 MiB forward and another backward, it "
        f"takes {longer:.0f} us longer than by hand ({calls} Python calls more, which at W2's price are "
        f"{calls * _more(of, 'W2')[1] / _more(of, 'W2')[0]:.0f}); the fused nodes take {fused:.0f} us off."
    )


def _by_epoch(of: Of) -> str:
    calls, longer = _more(of, "W8", "Trainer", "bare loop")
    batches = 57  # of 1,797 digits, 32 each
    return (
        f"An epoch calls {calls} Python functions more than the bare loop and takes {longer:.0f} us longer: "
        f"{calls / batches:.0f} calls and {longer / batches:.1f} us a batch, for its rows (np.take), the rate of the "
        "step, the sums of loss and hits, and what watches the steps."
    )


def _by_torch(of: Of) -> str:
    works = _works(of)
    told = [f"{work} {must * works[work]['torch']['cpu_ratio'][0]:.2f}" for work, must in TO_TORCH.items()]
    return (
        "To take so little of PyTorch's time on this machine, TinyTorch would have to take, in times of NumPy by hand: "
        f"{', '.join(told)}. Where that is one or less, NumPy itself misses it."
    )


def _by_calls_and_more(of: Of) -> str:
    calls, longer = _more(of, "W7/W3")
    small, products = _more(of, "W7/W2")[1], of("calls")["products"]
    return (
        f"It calls {calls} Python functions more than by hand, as W7/W2 does, which takes {small:.1f} us longer; "
        f"the other {longer - small:.1f} us are mostly the first product's, which takes "
        f"{products['x @ w']:.0f} us where weights lie as (in, out), and {products['x @ w.T']:.0f} where "
        "they lie as in PyTorch."
    )


def _by_take(of: Of) -> str:
    found = of("growth")["samples"]["64,000 x 784"]
    alone = found["to PyTorch"]["np.take alone"]["median"]
    return (
        f"np.take of the same rows in the same order, without anything around it, takes {alone:.3f} of PyTorch's time: "
        "no loader that copies rows takes less."
    )


def _by_commands(of: Of) -> str:
    loop = of("loop")
    return (
        f"Measured at a load of {loop['load']:.1f}. `import numpy` alone took "
        f"{1e3 * loop['processor'][NUMPY]['median']:.0f} ms of processor time, and an export starts it twice."
    )


NUMPY = 'python3 -c "import numpy"'
WHY: dict[str, tuple[str, Callable[[Of], str]]] = {  # part -> the names that it explains
    "W1": ("^W1,.* NumPy", _by_calls("W1")),
    "W2": ("^W2,.* NumPy", _by_calls("W2")),
    "W3": ("^W3,.* NumPy", _by_optimizer),
    "W4": ("^W4,.* NumPy", _by_large_steps),
    "W6": ("^W6", _by_passes),
    "W7/W2": ("^W7/W2,.* NumPy", _by_calls("W7/W2")),
    "W7/W3": ("^W7/W3,.* NumPy", _by_calls_and_more),
    "W8": ("^W8", _by_epoch),
    "To PyTorch": ("^W[1-7].*, to PyTorch$", _by_torch),
    "DataLoader": ("^DataLoader", _by_take),
    "Commands": ("^(tito|import) ", _by_commands),
}
