"""How many Python functions a step calls: by hand, and by TinyTorch. Why small steps take longer than NumPy by hand.

tito dev export && python benchmarks/calls.py     writes calls.json; takes seconds, and any machine will do
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from peers import by_hand, ours
from workloads import WORKS

STEPS = 4  # the first few make what later ones have


def called(step: Callable[[], float]) -> int:
    """Python functions that one step calls, itself left out; a generator counts each time it goes on."""
    for _ in range(STEPS):
        step()
    count = 0

    def hear(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(hear)
    step()
    sys.setprofile(None)
    return count - 1


def main() -> None:
    found: dict[str, dict[str, int]] = {}
    for name, make in WORKS.items():
        steps = {peer: of(make(name)) for peer, of in {**by_hand.PEERS, **ours.PEERS}.items()}
        found[name] = {peer: called(step) for peer, step in steps.items() if step is not None}
        print(f"{name:<6} {found[name]}")
    told = {"python": platform.python_version(), "numpy": np.__version__, "calls": found}
    Path(__file__).with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
