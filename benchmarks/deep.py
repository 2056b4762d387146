"""W5: chains of many small operations, sharing, and residual depth, for one engine; run.py starts a process for each.

A chain of n operations multiplies and adds in turn: `x = x * a`, `x = x + b` on four float32 numbers. Reported are
seconds a node, forward, backward and freeing, and how many bytes of resident memory a node took. The sharing is `x = x
+ x` in float64, whose gradient is 2**n. The residual network is `x = x + relu(linear(x))`, width 64, batch 32.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from blocks import keep_memory, spread
from workloads import ROOT, stream

START, FACTOR, TERM = np.ones(4, np.float32), np.full(4, 0.9999, np.float32), np.full(4, 1e-4, np.float32)
WIDTH, BATCH = 64, 32
PATIENCE = 5.0  # seconds


def layers(depth: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = stream(2)
    return [(rng.standard_normal((WIDTH, WIDTH), dtype=np.float32) / 16, np.zeros(WIDTH, np.float32))] * depth


def rows() -> np.ndarray:
    return stream(3).standard_normal((BATCH, WIDTH), dtype=np.float32)


class ByHand:
    """Keeps every value, as backward needs them; the gradients of a chain's factor and term are not asked for."""

    def chain(self, n: int, built: Callable[[], None]) -> np.ndarray:
        kept = [START]
        for _ in range(n // 2):
            kept.append(kept[-1] * FACTOR)
            kept.append(kept[-1] + TERM)
        built()
        grad = np.ones_like(START)
        for _ in range(n // 2):
            grad = grad * FACTOR
        return grad

    def doubled(self, n: int) -> float:
        x, grad = np.ones(1), np.ones(1)
        for _ in range(n):
            x = x + x
        for _ in range(n):
            grad = grad + grad
        return float(grad[0])

    def residual(self, depth: int) -> Callable[[], Any]:
        start, params = rows(), [(weight.T.copy(), bias) for weight, bias in layers(depth)]

        def run() -> Any:
            kept, x = [], start
            for weight, bias in params:
                hidden = np.maximum(x @ weight + bias, 0)
                kept.append((x, hidden))
                x = x + hidden
            grad, grads = np.ones_like(x), []
            for (weight, _), (x, hidden) in zip(reversed(params), reversed(kept)):
                to_hidden = grad * (hidden > 0)
                grads.append((x.T @ to_hidden, to_hidden.sum(axis=0)))
                grad = grad + to_hidden @ weight.T
            return grads

        return run


class Ours:
    def __init__(self) -> None:
        sys.path.insert(0, str(ROOT / "build" / "reference"))
        import tinytorch

        self.tt = tinytorch

    def chain(self, n: int, built: Callable[[], None]) -> np.ndarray:
        x = start = self.tt.Tensor(START, requires_grad=True)
        factor, term = self.tt.Tensor(FACTOR), self.tt.Tensor(TERM)
        for _ in range(n // 2):
            x = x * factor
            x = x + term
        built()
        x.sum().backward()
        return start.grad

    def doubled(self, n: int) -> float:
        x = start = self.tt.Tensor([1.0], dtype=np.float64, requires_grad=True)
        for _ in range(n):
            x = x + x
        x.sum().backward()
        return float(start.grad[0])

    def residual(self, depth: int) -> Callable[[], Any]:
        start, relu = self.tt.Tensor(rows()), self.tt.ReLU()
        steps = [self.tt.Linear(WIDTH, WIDTH, rng=self.tt.Generator(0)) for _ in range(depth)]
        for step, (weight, bias) in zip(steps, layers(depth)):
            step.weight.data[...], step.bias.data[...] = weight, bias

        def run() -> Any:
            x = start
            for step in steps:
                x = x + relu(step(x))
            x.sum().backward()
            grads = [(step.weight.grad, step.bias.grad) for step in steps]
            for step in steps:
                step.zero_grad()
            return grads

        return run


class Torch:
    def __init__(self) -> None:
        import torch

        torch.set_num_threads(1)
        self.torch = torch

    def chain(self, n: int, built: Callable[[], None]) -> np.ndarray:
        x = start = self.torch.tensor(START, requires_grad=True)
        factor, term = self.torch.tensor(FACTOR), self.torch.tensor(TERM)
        for _ in range(n // 2):
            x = x * factor
            x = x + term
        built()
        x.sum().backward()
        return start.grad.numpy()

    def doubled(self, n: int) -> float:
        x = start = self.torch.ones(1, dtype=self.torch.float64, requires_grad=True)
        for _ in range(n):
            x = x + x
        x.sum().backward()
        return start.grad.item()

    def residual(self, depth: int) -> Callable[[], Any]:
        start, steps = self.torch.tensor(rows()), [self.torch.nn.Linear(WIDTH, WIDTH) for _ in range(depth)]
        for step, (weight, bias) in zip(steps, layers(depth)):
            step.weight.data, step.bias.data = self.torch.tensor(weight), self.torch.tensor(bias)

        def run() -> Any:
            x = start
            for step in steps:
                x = x + self.torch.relu(step(x))
            x.sum().backward()
            grads = [(step.weight.grad, step.bias.grad) for step in steps]
            for step in steps:
                step.zero_grad()
            return grads

        return run


class Autograd:
    """HIPS autograd; `jax.grad` without jit has the same form."""

    def __init__(self) -> None:
        from autograd import grad, numpy

        self.grad, self.np = grad, numpy

    def chain(self, n: int, built: Callable[[], None]) -> np.ndarray:
        def last(x: Any) -> Any:
            for _ in range(n // 2):
                x = x * FACTOR
                x = x + TERM
            built()
            return self.np.sum(x)

        return np.asarray(self.grad(last)(self.np.array(START)))

    def doubled(self, n: int) -> float:
        def last(x: Any) -> Any:
            for _ in range(n):
                x = x + x
            return self.np.sum(x)

        return float(self.grad(last)(self.np.ones(1))[0])

    def residual(self, depth: int) -> Callable[[], Any]:
        params, start = layers(depth), self.np.array(rows())

        def total(params: Any) -> Any:
            x = start
            for weight, bias in params:
                x = x + self.np.maximum(x @ weight.T + bias, 0)
            return self.np.sum(x)

        return lambda: self.grad(total)(params)


class Jax(Autograd):
    """Not jitted: compiling so long a chain takes longer than to run it."""

    def __init__(self) -> None:
        import jax

        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)  # for the float64 of `doubled`
        self.grad, self.np = jax.grad, jax.numpy


class Micrograd:
    """One number where the others have four; it has no residual network of arrays."""

    def __init__(self) -> None:
        from micrograd.engine import Value

        self.value = Value

    def chain(self, n: int, built: Callable[[], None]) -> np.ndarray:
        x = start = self.value(1.0)
        factor, term = self.value(float(FACTOR[0])), self.value(float(TERM[0]))
        for _ in range(n // 2):
            x = x * factor
            x = x + term
        built()
        x.backward()
        return np.full(4, start.grad)

    def doubled(self, n: int) -> float:
        x = start = self.value(1.0)
        for _ in range(n):
            x = x + x
        x.backward()
        return start.grad


class Tinygrad:
    """Builds a graph of the whole chain before it computes anything."""

    def __init__(self) -> None:
        from tinygrad import Tensor

        self.tensor = Tensor

    def chain(self, n: int, built: Callable[[], None]) -> np.ndarray:
        x = start = self.tensor(START)
        factor, term = (self.tensor(array).is_param_(False) for array in (FACTOR, TERM))
        for _ in range(n // 2):
            x = x * factor
            x = x + term
        built()
        x.sum().backward()
        return start.grad.numpy()

    def doubled(self, n: int) -> float:
        x = start = self.tensor([1.0], dtype="float64")
        for _ in range(n):
            x = x + x
        x.sum().backward()
        return start.grad.item()


ENGINES: dict[str, Any] = {
    "by hand": ByHand,
    "ours": Ours,
    "torch": Torch,
    "autograd": Autograd,
    "jax": Jax,
    "micrograd": Micrograd,
    "tinygrad": Tinygrad,
}


def resident() -> int:
    """Bytes of memory that this process has now. Linux tells; elsewhere 0, and no bytes are reported."""
    try:
        with open("/proc/self/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        return 0


def timed(action: Callable[[], Any], repeats: int, each: int = 1) -> dict[str, Any]:
    """Seconds by `each`: spreads of wall and processor time, and the best. What is slow is repeated less often."""
    wall, processor = list[float](), list[float]()
    while len(wall) < repeats and (len(wall) < 3 or sum(wall) * each < PATIENCE):
        began, worked = time.perf_counter(), time.process_time()
        action()
        wall.append((time.perf_counter() - began) / each)
        processor.append((time.process_time() - worked) / each)
    return {"wall": spread(wall), "cpu": spread(processor), "best": float(f"{min(wall):.4g}")}


def chain(engine: Any, n: int, collector: bool) -> dict[str, Any]:
    """The bytes are of the first, whose memory is new; the times of those that follow."""
    (gc.enable if collector else gc.disable)()
    before, sizes = resident(), list[int]()
    want = FACTOR.astype(np.float64) ** (n // 2)
    got = engine.chain(n, lambda: sizes.append(resident()))
    if not np.allclose(got, want, rtol=0.02):
        raise SystemExit(f"chain: the gradient is {got}, not {want}")
    return {**timed(lambda: engine.chain(n, lambda: None), 31, n), "bytes": round((sizes[0] - before) / n)}


def doubled(engine: Any, n: int) -> dict[str, Any]:
    if engine.doubled(n) != 2.0**n:
        raise SystemExit(f"x = x + x: the gradient is {engine.doubled(n)}, not 2**{n}")
    return timed(lambda: engine.doubled(n), 31)


def residual(engine: Any, depth: int) -> dict[str, Any]:
    run = engine.residual(depth)
    run()
    return timed(run, 101)


def main(job: dict[str, Any]) -> dict[str, Any]:
    engine = ENGINES[job["engine"]]()
    keep_memory()
    if job["what"] == "chain":
        return chain(engine, job["n"], job["collector"])
    return {"doubled": doubled, "residual": residual}[job["what"]](engine, job["n"])


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
