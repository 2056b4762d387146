"""TinyTorch, the reference build: with the lesson's optimizer and operations, and with the supplied fast ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from workloads import BETAS, EPS, ROOT, Work

from peers import Missing

sys.path.insert(0, str(ROOT / "build" / "reference"))

import tinytorch as tt

Step = Callable[[], float]


def fast(module: str, name: str) -> Any:
    """A supplied class that the course may not have yet."""
    try:
        return getattr(__import__(f"tinytorch.{module}", fromlist=[name]), name)
    except (ImportError, AttributeError):
        raise Missing(f"tinytorch.{module} has no {name} yet") from None


def fast_sgd() -> Any:
    return fast("fast_optimizers", "FastSGD")


def network(work: Work) -> Any:
    activation, rng, steps = tt.Sigmoid if work.kind == "xor" else tt.ReLU, tt.Generator(0), list[Any]()
    for weight, bias in work.weights:
        layer = tt.Linear(weight.shape[1], weight.shape[0], rng=rng)
        layer.weight.data[...], layer.bias.data[...] = weight, bias
        steps += [layer, activation()]
    return tt.Sequential(*(steps if work.kind == "xor" else steps[:-1]))


def training(work: Work, sgd: Any, adam: Any) -> Step:
    model, x, y = network(work), tt.Tensor(work.x), tt.Tensor(work.y)
    loss_fn = tt.MSELoss() if work.kind == "xor" else tt.CrossEntropyLoss()
    if work.optimizer == "adam":
        optimizer = adam(model.parameters(), lr=work.lr, betas=BETAS)
    else:
        optimizer = sgd(model.parameters(), lr=work.lr, momentum=0.9 * (work.optimizer == "momentum"))

    def step() -> float:
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return float(loss.item())

    return step


def evaluation(work: Work) -> Step:
    model, x, y, loss_fn = network(work).eval(), tt.Tensor(work.x), tt.Tensor(work.y), tt.CrossEntropyLoss()

    def step() -> float:
        with tt.no_grad():
            return float(loss_fn(model(x), y).item())

    return step


def norm(work: Work, shares_of: Callable[[Any, Any, Any], Any], sgd: Any) -> Step:
    x, scale, shift = params = [tt.Parameter(array) for array in (work.x, *work.weights[0])]
    y, rows, optimizer = tt.Tensor(work.y), len(work.x), sgd(params, lr=work.lr)

    def step() -> float:
        loss = (shares_of(x, scale, shift) * y).sum() / rows
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return float(loss.item())

    return step


def composed(x: Any, scale: Any, shift: Any) -> Any:
    centred = x - x.mean(1, keepdim=True)
    scores = centred / ((centred * centred).mean(1, keepdim=True) + EPS).sqrt() * scale + shift
    exps = (scores - scores.amax(1, keepdim=True).detach()).exp()
    return exps / exps.sum(1, keepdim=True)


def bare_loop(work: Work) -> Step | None:
    """An epoch over batches that were made before: those of the first epochs of `trainer`, in turn."""
    if work.kind != "epoch":
        return None
    model, loader, loss_fn, epoch = network(work), loader_of(work), tt.CrossEntropyLoss(), 0
    optimizer = tt.SGD(model.parameters(), lr=work.lr, momentum=0.9)
    batches = [[loader.batch_at(e * len(loader) + i) for i in range(len(loader))] for e in range(5)]

    def step() -> float:
        nonlocal epoch
        total = 0.0
        for x, y in batches[epoch % len(batches)]:
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total += loss.item() * len(y)
        epoch += 1
        return total / len(work.x)

    return step


def trainer(work: Work) -> Step | None:
    """The same epoch by DataLoader and Trainer.train_epoch."""
    if work.kind != "epoch":
        return None
    model, loader = network(work), loader_of(work)
    made = tt.Trainer(model, tt.SGD(model.parameters(), lr=work.lr, momentum=0.9), tt.CrossEntropyLoss())
    return lambda: float(made.train_epoch(loader))


def loader_of(work: Work) -> Any:
    return tt.DataLoader(tt.TensorDataset(tt.Tensor(work.x), tt.Tensor(work.y)), batch_size=32, shuffle=True)


def ours(work: Work) -> Step | None:
    if work.kind == "epoch":
        return None
    if work.kind == "norm":
        return norm(work, composed, tt.SGD)
    return training(work, tt.SGD, tt.Adam) if work.optimizer else evaluation(work)


def ours_fast(work: Work) -> Step | None:
    if work.kind == "norm":
        layer_norm, softmax = fast("fused", "layer_norm"), fast("fused", "softmax")
        return norm(work, lambda x, scale, shift: softmax(layer_norm(x, len(scale), scale, shift, EPS), 1), fast_sgd())
    if work.kind == "epoch" or not work.optimizer:
        return None
    return training(work, fast_sgd(), fast("fast_optimizers", "FastAdam"))


PEERS: dict[str, Any] = {"ours": ours, "ours, fast": ours_fast, "bare loop": bare_loop, "Trainer": trainer}
