"""tinygrad on the processor: the step under TinyJit, as in its examples. Its kernels are compiled by clang."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

from workloads import ADAM_EPS, BETAS, EPS, Work

from peers import Missing

os.environ.update(DEV="CPU", NUM_CPU_THREADS=os.environ.get("OMP_NUM_THREADS", "1"))  # it reads them when imported

try:
    from tinygrad import Tensor, TinyJit
    from tinygrad.helpers import Context
    from tinygrad.nn.optim import SGD, Adam
except ImportError:
    raise Missing("tinygrad is not installed") from None
if not shutil.which("clang"):
    raise Missing("tinygrad needs a compiler: apt-get install clang")

Step = Callable[[], float]


def forward(params: list[Any], x: Any, activation: Callable[[Any], Any]) -> Any:
    """`params` is weight `(out, in)`, bias, weight, bias, ..."""
    for weight, bias in zip(params[:-2:2], params[1:-2:2]):
        x = activation(x.linear(weight.T, bias))
    return x.linear(params[-2].T, params[-1])


def squared_error(params: list[Any], x: Any, y: Any) -> Any:
    return (forward(params, x, Tensor.sigmoid).sigmoid() - y).square().mean()


def cross_entropy(params: list[Any], x: Any, y: Any) -> Any:
    return forward(params, x, Tensor.relu).sparse_categorical_crossentropy(y)


def norm(params: list[Any], x: Any, y: Any) -> Any:
    x, scale, shift = params
    return ((x.layernorm(eps=EPS) * scale + shift).softmax() * y).sum() / y.shape[0]


def optimizer(work: Work, params: list[Any]) -> Any:
    if work.optimizer == "adam":
        return Adam(params, work.lr, *BETAS, ADAM_EPS)
    return SGD(params, work.lr, 0.9 if work.optimizer == "momentum" else 0.0)


def jitted(work: Work) -> Step | None:
    if work.kind == "epoch":
        return None
    loss_of = {"xor": squared_error, "classes": cross_entropy, "norm": norm}[work.kind]
    arrays = [array for pair in work.weights for array in pair]
    params = [Tensor(array).realize() for array in ([work.x, *arrays] if work.kind == "norm" else arrays)]
    x, y = (Tensor(array).realize().is_param_(False) for array in (work.x, work.y))
    if not work.optimizer:
        evaluate = TinyJit(lambda: loss_of(params, x, y).realize())
        return lambda: float(evaluate().item())
    update = optimizer(work, params)

    @TinyJit
    def change() -> Any:
        update.zero_grad()
        loss = loss_of(params, x, y).backward()
        return loss.realize(*update.schedule_step())

    def step() -> float:
        with Context(TRAINING=1):
            return float(change().item())

    return step


PEERS: dict[str, Any] = {"tinygrad, jit": jitted}
