"""JAX: the whole step is one jitted function, whose parameters and moments are donated. JAX brings no optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads import ADAM_EPS, BETAS, EPS, Work

from peers import Missing

try:
    import jax
    from jax import numpy as jnp
except ImportError:
    raise Missing("JAX is not installed") from None

Step = Callable[[], float]
Tree = Any
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_cpu_enable_async_dispatch", False)  # every step waits for its loss anyway


def forward(params: Tree, x: Any, activation: Callable[[Any], Any]) -> Any:
    for weight, bias in params[:-1]:
        x = activation(x @ weight + bias)
    weight, bias = params[-1]
    return x @ weight + bias


def squared_error(params: Tree, x: Any, y: Any) -> Any:
    return jnp.mean((jax.nn.sigmoid(forward(params, x, jax.nn.sigmoid)) - y) ** 2)


def cross_entropy(params: Tree, x: Any, y: Any) -> Any:
    shares = jax.nn.log_softmax(forward(params, x, jax.nn.relu))
    return -jnp.mean(shares[jnp.arange(len(y)), y])


def norm(params: Tree, x: Any, y: Any) -> Any:
    x, scale, shift = params
    centred = x - x.mean(1, keepdims=True)
    scores = centred / jnp.sqrt((centred * centred).mean(1, keepdims=True) + EPS) * scale + shift
    return (jax.nn.softmax(scores) * y).sum() / len(y)


def sgd(lr: float, momentum: float, params: Tree, grads: Tree, state: Tree) -> tuple[Tree, Tree]:
    if momentum:
        grads = state = jax.tree.map(lambda velocity, grad: momentum * velocity + grad, state, grads)
    return jax.tree.map(lambda param, grad: param - lr * grad, params, grads), state


def adam(lr: float, params: Tree, grads: Tree, state: Tree) -> tuple[Tree, Tree]:
    (b1, b2), (count, means, squares) = BETAS, state
    count = count + 1
    means = jax.tree.map(lambda mean, grad: b1 * mean + (1 - b1) * grad, means, grads)
    squares = jax.tree.map(lambda square, grad: b2 * square + (1 - b2) * grad * grad, squares, grads)
    rate, correction = lr / (1 - b1**count), 1 - b2**count

    def moved(param: Any, mean: Any, square: Any) -> Any:
        return param - rate * mean / (jnp.sqrt(square / correction) + ADAM_EPS)

    return jax.tree.map(moved, params, means, squares), (count, means, squares)


def optimizer(work: Work, params: Tree) -> tuple[Callable[..., tuple[Tree, Tree]], Tree]:
    """A function of parameters, gradients and state, and the first state."""

    def zeros() -> Tree:
        return jax.tree.map(jnp.zeros_like, params)

    if work.optimizer == "adam":
        return lambda *trees: adam(work.lr, *trees), (jnp.float32(0), zeros(), zeros())
    momentum = 0.9 if work.optimizer == "momentum" else 0.0
    return lambda *trees: sgd(work.lr, momentum, *trees), zeros() if momentum else None


def jitted(work: Work) -> Step | None:
    if work.kind == "epoch":
        return None
    loss_of = {"xor": squared_error, "classes": cross_entropy, "norm": norm}[work.kind]
    params = [(jnp.array(weight.T), jnp.array(bias)) for weight, bias in work.weights]
    if work.kind == "norm":
        params = [jnp.array(array) for array in (work.x, *work.weights[0])]
    x, y = jnp.array(work.x), jnp.array(work.y)
    if not work.optimizer:
        evaluate = jax.jit(loss_of)
        return lambda: float(evaluate(params, x, y))
    update, state = optimizer(work, params)

    def change(params: Tree, state: Tree, x: Any, y: Any) -> tuple[Any, Tree, Tree]:
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        return loss, *update(params, grads, state)

    compiled = jax.jit(change, donate_argnums=(0, 1))

    def step() -> float:
        nonlocal params, state
        loss, params, state = compiled(params, state, x, y)
        return float(loss)

    return step


PEERS: dict[str, Any] = {"jax, jit": jitted}
