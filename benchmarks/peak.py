"""How much memory one peer's training takes: a process of its own, 20 steps. run.py starts it for W3 and W4.

Reported is the largest resident memory of the process in bytes, and what it had before the peer made its first array,
when its modules and the data were there. Not for Windows.
"""

from __future__ import annotations

import importlib
import json
import sys
from resource import RUSAGE_SELF, getrusage
from typing import Any

from workloads import WORKS

STEPS = 20


def largest() -> int:
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(job: dict[str, Any]) -> dict[str, int] | None:
    made = importlib.import_module(f"peers.{job['module']}").PEERS[job["peer"]]
    work = WORKS[job["work"]](job["work"])
    start, step = largest(), made(work)
    if step is None:
        return None
    for _ in range(STEPS):
        step()
    return {"start": start, "peak": largest()}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
