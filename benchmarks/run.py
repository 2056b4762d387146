"""TinyTorch beside NumPy by hand, PyTorch, JAX and others: time and memory of the same training steps.

    make bench                                        everything, into results.json
    python benchmarks/run.py --workload W1 W2 --rounds 15 --threads 1 --peers by_hand ours

What is measured and how: blocks.py. What is computed: workloads.py. Ratios are to NumPy by hand; wall time, and for one
thread processor time too, which other work on the machine disturbs less. This file imports no NumPy, so that the number
of threads is set before anything reads it, and so that nothing of it counts in the memory of what it starts.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from table import table

HERE = Path(__file__).resolve().parent
MODULES = ("by_hand", "tuned", "ours", "torch_", "jax_", "autograd_", "micrograd_", "tinygrad_")
WORKS = ("W1", "W2", "W3", "W4", "W6", "W7/W2", "W7/W3")
PACKAGES = ("numpy", "torch", "jax", "jaxlib", "autograd", "micrograd", "tinygrad")
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")  # the last is XLA's


def child(script: str, threads: int, job: dict[str, Any]) -> dict[str, Any]:
    """The answer of a process of its own, whose OpenBLAS chooses its kernel by the machine."""
    env = {name: value for name, value in os.environ.items() if name not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    env |= {name: str(threads) for name in THREADS}
    done = subprocess.run([sys.executable, HERE / script, json.dumps(job)], env=env, stdout=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(f"{script} failed; run: python benchmarks/{script} '{json.dumps(job)}'")
    return dict(json.loads(done.stdout))


def versions() -> dict[str, str]:
    installed = {distribution.metadata["Name"].lower() for distribution in metadata.distributions()}
    return {name: metadata.version(name) for name in PACKAGES if name in installed}


def processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def machine() -> dict[str, Any]:
    return {
        "date": str(datetime.date.today()),
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "versions": versions(),
    }


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", nargs="+", choices=WORKS, default=list(WORKS))
    parser.add_argument("--rounds", type=int, default=25, help="blocks of each peer (default 25)")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--peers", nargs="+", choices=MODULES, default=list(MODULES), help="the first is the measure")
    parser.add_argument("--smoke", action="store_true", help="two rounds of NumPy and TinyTorch, one thread")
    parser.add_argument("--out", type=Path, help="write the results here, as JSON")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    if chosen.smoke:
        chosen.rounds, chosen.threads, chosen.peers = 2, [1], ["by_hand", "tuned", "ours"]
    job = {"works": chosen.workload, "rounds": chosen.rounds, "modules": chosen.peers}
    results: dict[str, Any] = {**machine(), "rounds": chosen.rounds, "threads": {}}
    for threads in chosen.threads:
        print(f"{threads} thread{'s' * (threads > 1)}", file=sys.stderr)
        found = child("blocks.py", threads, job)
        results["kernel"], results["left_out"] = found["kernel"], found["left_out"]
        results["threads"][str(threads)] = found["works"]
    print(table(results))
    if chosen.out:
        chosen.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
