"""TinyTorch beside NumPy by hand, PyTorch, JAX and others: time and memory of the same training steps.

    make bench                                        everything, into results.json
    python benchmarks/run.py --workload W1 W2 --rounds 15 --threads 1 --peers by_hand ours

What is computed: workloads.py. How it is timed: blocks.py, in one process for each number of threads; deep.py (W5),
whole.py (W9) and peak.py (memory) in processes of their own. Ratios are to NumPy by hand. For one thread they are given
by processor time too, which other work on the machine disturbs less. This file imports no NumPy: the number of threads
is set before anything reads it, and what it holds does not count in the memory of what it starts.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from table import table

HERE = Path(__file__).resolve().parent
MODULES = ("by_hand", "tuned", "ours", "torch_", "jax_", "autograd_", "micrograd_", "tinygrad_")
PARTS = ("W1", "W2", "W3", "W4", "W5", "W6", "W7/W2", "W7/W3", "W8", "W9", "memory")
ALONE = ("W5", "W9", "memory")  # measured in processes of their own
PACKAGES = ("numpy", "torch", "jax", "autograd", "micrograd", "tinygrad")
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")  # the last is XLA's
LONG = ("by_hand", "ours", "torch_")  # the engines that take a chain of a million
CHAINS = {10_000: MODULES, 100_000: (*LONG, "autograd_"), 1_000_000: LONG}
NETWORKS = ("by_hand", "ours", "torch_", "autograd_")  # whose residual networks are timed; jax would have to be jitted
PEAKS = {"by_hand": "by hand", "tuned": "tuned", "ours": "ours", "torch_": "torch", "jax_": "jax, jit"}
SMOKE = ("chain of 10,000", "x + x, 22 times", "depth 8")
PATIENCE = 60  # seconds for one process of W5
# glibc gives freed arrays back to the system, or not, by what was freed before: W6 by hand takes 1.5 ms or 6, W3 0.32
# or 0.60, by chance. So all peers are timed with a heap that is kept (32 MiB is the largest array that may lie in it).
KEPT_HEAP = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**25)}


def environment(threads: int) -> dict[str, str]:
    """This one, with so many threads, and an OpenBLAS that chooses its kernel by the machine."""
    mine = {name: value for name, value in os.environ.items() if name not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    alone = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"} if threads == 1 else {}  # else JAX takes a second one
    return {**mine, **alone, **{name: str(threads) for name in THREADS}}


def child(script: str, threads: int, job: dict[str, Any], heap: dict[str, str] | None = None) -> Any:
    """The answer of a process of its own."""
    command = [sys.executable, HERE / script, json.dumps(job)]
    done = subprocess.run(command, env={**environment(threads), **(heap or {})}, stdout=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(f"{script} failed; run: python benchmarks/{script} '{json.dumps(job)}'")
    return json.loads(done.stdout)


def attempt(script: str, job: dict[str, Any]) -> dict[str, Any]:
    """As `child` on one thread, of what may fail: then the name of the error, or that it took too long."""
    command = [sys.executable, HERE / script, json.dumps(job)]
    print(f"  {job}", file=sys.stderr, flush=True)
    try:
        done = subprocess.run(command, env=environment(1), capture_output=True, encoding="utf-8", timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return {"failed": f"over {PATIENCE} s"}
    if done.returncode:
        return {"failed": re.split("[:\n]", done.stderr.strip().splitlines()[-1])[0]}
    return dict(json.loads(done.stdout))


def installed(module: str) -> bool:
    name = module.rstrip("_")
    return name in ("by_hand", "tuned", "ours") or name in versions()


def alternating(works: list[str], chosen: argparse.Namespace, results: dict[str, Any]) -> None:
    for threads in chosen.threads if works else ():
        print(f"{threads} thread{'s' * (threads > 1)}", file=sys.stderr)
        job = {"works": works, "rounds": chosen.rounds, "modules": chosen.peers}
        found = child("blocks.py", threads, job, KEPT_HEAP)
        results["kernel"], results["left_out"] = found["kernel"], found["left_out"]
        results["threads"][str(threads)] = found["works"]


def deep(peers: list[str], smoke: bool) -> dict[str, Any]:
    """Engine -> what was run -> times, and bytes of the chains."""
    jobs = [(peer, f"chain of {n:,}", {"what": "chain", "n": n, "collector": True})
            for n, those in CHAINS.items() for peer in those]  # fmt: skip
    jobs += [
        (peer, f"{label}, collector off", {**job, "collector": False}) for peer, label, job in jobs if peer in LONG
    ]
    jobs += [(peer, f"x + x, {n:,} times", {"what": "doubled", "n": n}) for peer in MODULES for n in (22, 1000)]
    jobs += [(peer, f"depth {n}", {"what": "residual", "n": n}) for peer in NETWORKS for n in (8, 16, 32)]
    results: dict[str, Any] = {}
    for peer, label, job in jobs:
        if peer in peers and peer != "tuned" and installed(peer) and (not smoke or label in SMOKE):
            engine = peer.rstrip("_").replace("_", " ")
            results.setdefault(engine, {})[label] = attempt("deep.py", {"engine": engine, **job})
    return results


def memory(peers: list[str]) -> dict[str, Any]:
    """Workload -> peer -> bytes. Windows does not tell."""
    if sys.platform == "win32":
        return {}
    return {
        work: {name: child("peak.py", 1, {"work": work, "module": peer, "peer": name})
               for peer, name in PEAKS.items() if peer in peers and installed(peer)}
        for work in ("W3", "W4")
    }  # fmt: skip


def versions() -> dict[str, str]:
    present = {distribution.metadata["Name"].lower() for distribution in metadata.distributions()}
    return {name: metadata.version(name) for name in PACKAGES if name in present}


def processor() -> str:
    """Its name, where the system tells it."""
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
    parser.add_argument("--workload", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=25, help="blocks of each peer (default 25)")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--peers", nargs="+", choices=MODULES, default=list(MODULES), help="the first is the measure")
    parser.add_argument("--smoke", action="store_true", help="two rounds of NumPy and TinyTorch, one thread")
    parser.add_argument("--out", type=Path, help="write the results here, as JSON")
    chosen = parser.parse_args()
    if chosen.smoke:
        chosen.rounds, chosen.threads, chosen.peers = 2, [1], ["by_hand", "tuned", "ours"]
    return chosen


def write(results: dict[str, Any], file: Path) -> None:
    text = json.dumps(results, indent=1)
    number = r"([-+.\de]+)"
    text = re.sub(rf"\[\s+{number},\s+{number},\s+{number}\s+\]", r"[\1, \2, \3]", text)
    file.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    chosen = options()
    results: dict[str, Any] = {**machine(), "rounds": chosen.rounds, "kernel": "", "left_out": {}, "threads": {}}
    alternating([work for work in chosen.workload if work not in ALONE], chosen, results)
    if "W5" in chosen.workload:
        results["W5"] = deep(chosen.peers, chosen.smoke)
    if "W9" in chosen.workload:
        results["W9"] = child("whole.py", 1, {"repeats": 1 if chosen.smoke else 15})
    if "memory" in chosen.workload:
        results["memory"] = memory(chosen.peers)
    print(table(results))
    if chosen.out:
        write(results, chosen.out)


if __name__ == "__main__":
    main()
