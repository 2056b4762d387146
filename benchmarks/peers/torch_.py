"""PyTorch, eager: with its default optimizer and composed operations, and with the fused ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from workloads import BETAS, EPS, Work

from peers import Missing

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    raise Missing("PyTorch is not installed") from None

Step = Callable[[], float]
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


def network(work: Work) -> Any:
    activation, steps = nn.Sigmoid if work.kind == "xor" else nn.ReLU, list[Any]()
    for weight, bias in work.weights:
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(weight))
            layer.bias.copy_(torch.tensor(bias))
        steps += [layer, activation()]
    return nn.Sequential(*(steps if work.kind == "xor" else steps[:-1]))


def optimizer(work: Work, params: Any, fused: bool | None) -> Any:
    if work.optimizer == "adam":
        return torch.optim.Adam(params, lr=work.lr, betas=BETAS, fused=fused)
    return torch.optim.SGD(params, lr=work.lr, momentum=0.9 * (work.optimizer == "momentum"), fused=fused)


def training(work: Work, fused: bool | None) -> Step:
    model, x, y = network(work), torch.tensor(work.x), torch.tensor(work.y)
    loss_fn: Any = nn.MSELoss() if work.kind == "xor" else nn.CrossEntropyLoss()
    update = optimizer(work, model.parameters(), fused)

    def step() -> float:
        update.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        update.step()
        return loss.item()

    return step


def evaluation(work: Work) -> Step:
    model, x, y, loss_fn = network(work).eval(), torch.tensor(work.x), torch.tensor(work.y), nn.CrossEntropyLoss()

    def step() -> float:
        with torch.inference_mode():
            return loss_fn(model(x), y).item()

    return step


def norm(work: Work, shares_of: Callable[[Any, Any, Any], Any], fused: bool | None) -> Step:
    x, scale, shift = params = [nn.Parameter(torch.tensor(array)) for array in (work.x, *work.weights[0])]
    y, rows, update = torch.tensor(work.y), len(work.x), optimizer(work, params, fused)

    def step() -> float:
        update.zero_grad()
        loss = (shares_of(x, scale, shift) * y).sum() / rows
        loss.backward()
        update.step()
        return loss.item()

    return step


def composed(x: Any, scale: Any, shift: Any) -> Any:
    centred = x - x.mean(1, keepdim=True)
    scores = centred / ((centred * centred).mean(1, keepdim=True) + EPS).sqrt() * scale + shift
    exps = (scores - scores.detach().amax(1, keepdim=True)).exp()
    return exps / exps.sum(1, keepdim=True)


def whole(x: Any, scale: Any, shift: Any) -> Any:
    return functional.softmax(functional.layer_norm(x, scale.shape, scale, shift, EPS), 1)


def eager(work: Work) -> Step | None:
    if work.kind == "epoch":
        return None
    if work.kind == "norm":
        return norm(work, composed, None)
    return training(work, None) if work.optimizer else evaluation(work)


def fused(work: Work) -> Step | None:
    if work.kind == "epoch":
        return None
    if work.kind == "norm":
        return norm(work, whole, True)
    return training(work, True) if work.optimizer else None


PEERS: dict[str, Any] = {"torch": eager, "torch, fused": fused}
