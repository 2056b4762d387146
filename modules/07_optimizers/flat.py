"""Steps of few large operations instead of many small ones, to be mixed into an optimizer. Supplied with lesson 07.

Trace it, don't write it. The lesson's optimizers go through the parameters one by one, and make a new array for every
result on the way. Here parameters lie end to end in one flat array: each `.data` is a view into it, with its old shape,
so the model sees no difference. What the optimizer remembers lies the same way. A step then goes through that array in
stretches, many small parameters or a piece of a large one, which fit into a processor's cache with all that belongs to
them, and writes what it computes into room that was made once.

Begin at `Flat.step`, then read `FlatSGD.move` beside `SGD.update`. What has no gradient in a step, or one of another
kind, takes its block out of line: then the same `move` is made for each parameter by itself, with the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from operator import attrgetter, is_
from typing import Any, NamedTuple

import numpy as np

from tinytorch.layers import Parameter

__all__: list[str] = []  # fast_optimizers.py mixes these into the lesson's optimizers

STRETCH = 2**16  # numbers; the arrays that a stretch works on then take 1 to 2 MB, about a second-level cache

State = dict[str, Any]
Member = tuple[Parameter, State]
Room = Sequence[np.ndarray]
form: Callable[[Any], tuple[Any, ...]] = attrgetter("shape", "dtype")


class Part(NamedTuple):
    """What of the block's parameter `number` belongs to a stretch: a `piece`, None for all; `place` has its shape."""

    number: int
    piece: slice | None
    place: np.ndarray


class Stretch(NamedTuple):
    """Up to STRETCH numbers that are changed together: those of `parts`.

    `weight` and the arrays in `state` are views of `(n,)` into the block's. `room`, for `move`, and `taken`, for
    gradients, are scratch arrays of `(n,)`, which all stretches of the block share.
    """

    parts: list[Part]
    weight: np.ndarray
    state: State
    room: Room
    taken: np.ndarray

    def gradient(self, grads: list[np.ndarray]) -> np.ndarray:
        """The gradient of these numbers, `(n,)`: where it lies if that is in one place, else copied end to end."""
        for number, piece, place in self.parts:
            grad = grads[number] if piece is None else grads[number].reshape(-1)[piece]
            if place.size == self.taken.size:
                return grad.reshape(-1)
            place[...] = grad
        return self.taken


class Block:
    """Parameters of one dtype and one age, end to end in `weight` `(N,)`.

    The age of a parameter is the number of its steps with Adam, with SGD whether it has a velocity. `memory` is what is
    remembered of all, by name, `(N,)` each. `views` are the arrays of parameters and states, views into these.
    """

    def __init__(self, parameters: Sequence[Parameter], states: Sequence[State]) -> None:
        self.parameters, self.states = parameters, states
        self.shapes = [parameter.shape for parameter in parameters]
        self.forms = [form(parameter.data) for parameter in parameters]
        self.weight, self.views = end_to_end([parameter.data for parameter in parameters])
        for parameter, view in zip(parameters, self.views):
            parameter.data = view
        self.lay_memory()

    def lay_memory(self) -> None:
        """Put what the states hold end to end, too, and cut all of it into stretches."""
        self.memory, self.views = dict[str, np.ndarray](), self.views[: len(self.parameters)]
        for name in [name for name in self.states[0] if name != "step"]:
            self.memory[name], views = end_to_end([state[name] for state in self.states])
            self.views += views
            for state, view in zip(self.states, views):
                state[name] = view
        ends = [*range(0, self.weight.size, STRETCH), self.weight.size]
        room = np.empty((3, ends[1]), self.weight.dtype)
        self.stretches = [self.stretch(*span, room) for span in pairwise(ends)]

    def stretch(self, start: int, end: int, room: np.ndarray) -> Stretch:
        """What lies from `start` to `end` of the flat arrays."""
        state = {**self.states[0], **{name: array[start:end] for name, array in self.memory.items()}}
        *scratch, taken = room[:, : end - start]
        return Stretch(parts(self.shapes, start, taken), self.weight[start:end], state, scratch, taken)

    def in_place(self) -> bool:
        """Whether parameters and states still hold this block's arrays."""
        arrays: list[Any] = [parameter.data for parameter in self.parameters]
        for name in self.memory:
            arrays += [state.get(name) for state in self.states]
        return all(map(is_, arrays, self.views))

    def gradients(self) -> list[np.ndarray] | None:
        """All gradients; None unless each is there with its parameter's shape and dtype."""
        grads = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        return grads if list(map(form, grads)) == self.forms else None

    def count(self) -> None:
        """Tell every state the number of steps that the stretches have made."""
        steps = self.stretches[0].state["step"]
        for state in self.states:
            state["step"] = steps


def end_to_end(arrays: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """A flat copy of all arrays, and of each its view in it, shaped as it is. Any shapes -> `(N,)`, the same shapes"""
    flat = np.concatenate(arrays, axis=None)
    ends = np.cumsum([array.size for array in arrays])
    return flat, [part.reshape(array.shape) for part, array in zip(np.split(flat, ends[:-1]), arrays)]


def parts(shapes: list[tuple[int, ...]], start: int, taken: np.ndarray) -> list[Part]:
    """What of arrays of these shapes, laid end to end, lies from `start` on and fills `taken`, `(n,)`."""
    found, first = list[Part](), -start
    for number, shape in enumerate(shapes):
        last = first + math.prod(shape)
        place = taken[max(first, 0) : max(last, 0)]
        if place.size == last - first:
            found.append(Part(number, None, place.reshape(shape)))
        elif place.size:
            begin = max(-first, 0)
            found.append(Part(number, slice(begin, begin + place.size), place))
        first = last
    return found


def overlap(arrays: list[np.ndarray]) -> bool:
    """Whether two of them may share memory: then two neighbours in memory do."""
    return any(np.may_share_memory(*pair) for pair in pairwise(sorted(arrays, key=address)))


def address(array: np.ndarray) -> int:
    """Where its first number lies in memory."""
    return array.__array_interface__["data"][0]


class Flat:
    """Mixed into an optimizer: changes stretches of parameters at once, by its subclass's `move`.

    From the first step on, `.data` of a parameter is a view into a new array: an array taken from it earlier no longer
    follows. A parameter whose `.data` was set anew since then is taken in again at the next step.
    """

    params: list[Parameter]
    state: list[State]
    step_count: int
    lr: float
    weight_decay: float
    remembers: Any  # names, a tuple
    blocks: Sequence[Block] = ()
    apart: Sequence[Member] = ()  # what is in no block
    laid_out: Sequence[int] = ()  # ids of the parameters and states that the blocks were made of

    def move(self, weight: np.ndarray, grad: np.ndarray, state: State, room: Room) -> None:
        """Change `weight` and `state` in place by `grad`, which stays. `room` is two arrays like `weight`, for use."""
        raise TypeError(f"{type(self).__name__}: a flat optimizer needs a method move(weight, grad, state, room)")

    def decay(self, weight: np.ndarray, grad: np.ndarray, spare: np.ndarray) -> np.ndarray:
        """`decayed`, into `spare` where there is a decay. `(...), (...), (...) -> (...)`"""
        if not self.weight_decay:
            return grad
        return np.add(grad, np.multiply(weight, self.weight_decay, out=spare), out=spare)

    def needed(self) -> Sequence[str]:
        """What a state must hold for `move`."""
        return self.remembers

    def begin(self, weight: np.ndarray, state: State) -> None:
        """Fill a state that is empty: no step, and zeros."""
        for name in self.needed():
            if name not in state:
                state[name] = 0 if name == "step" else np.zeros_like(weight)

    def update(self, weight: np.ndarray, grad: np.ndarray, state: State) -> None:
        """Change one parameter, as the lesson's optimizer does."""
        self.begin(weight, state)
        self.move(weight, grad, state, (np.empty_like(weight), np.empty_like(weight)))

    def step(self) -> None:
        """Change every parameter that has a gradient, whole blocks where all have one; count the step."""
        if not self.in_place():
            self.lay_out()
        for block in self.blocks:
            grads = block.gradients()
            if grads is not None:
                self.move_block(block, grads)
            elif any(parameter.grad is not None for parameter in block.parameters):
                self.laid_out = ()  # their ages are about to differ
                self.move_each(zip(block.parameters, block.states))
        self.move_each(self.apart)
        self.step_count += 1

    def move_block(self, block: Block, grads: list[np.ndarray]) -> None:
        """Change all of its parameters, stretch by stretch."""
        if not block.memory and self.needed():
            for parameter, state in zip(block.parameters, block.states):
                self.begin(parameter.data, state)
            block.lay_memory()
        for stretch in block.stretches:
            self.move(stretch.weight, stretch.gradient(grads), stretch.state, stretch.room)
        if "step" in self.remembers:
            block.count()

    def move_each(self, members: Iterable[Member]) -> None:
        """Change those that have a gradient one by one, as the lesson's `step` does."""
        for parameter, state in members:
            if parameter.grad is not None:
                self.update(parameter.data, parameter.grad, state)

    def in_place(self) -> bool:
        """Whether the blocks are there and as they were left."""
        return self.laid_out == self.identities() and all([block.in_place() for block in self.blocks])

    def identities(self) -> list[int]:
        """What tells that a parameter or a state was exchanged."""
        return [*map(id, self.params), *map(id, self.state)]

    def lay_out(self) -> None:
        """Make blocks of what has one dtype and one age.

        Apart stay parameters without numbers; those whose numbers do not lie in C order, for the order decides how a
        product is rounded; and all of them where two share memory, which would part them.
        """
        shared, groups = overlap([parameter.data for parameter in self.params]), dict[Any, list[Member]]()
        for parameter, state in zip(self.params, self.state):
            apart = shared or not parameter.data.size or not parameter.data.flags.c_contiguous
            kind = None if apart else (parameter.dtype, state.get("step", len(state)))
            groups.setdefault(kind, []).append((parameter, state))
        self.apart = groups.pop(None, [])
        self.blocks = [Block([p for p, _ in group], [state for _, state in group]) for group in groups.values()]
        self.laid_out = self.identities()

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles go without blocks: what was a view is an array of its own there, and ids are others."""
        return {**self.__dict__, "blocks": (), "apart": (), "laid_out": ()}


class FlatSGD(Flat):
    """Before `SGD`: the same results."""

    momentum: float
    nesterov: bool

    def needed(self) -> Sequence[str]:
        """A velocity, if there is momentum."""
        return self.remembers if self.momentum else ()

    def move(self, weight: np.ndarray, grad: np.ndarray, state: State, room: Room) -> None:
        """Change `weight` in place: `SGD.update`, operation by operation."""
        scaled, slope = room
        grad = self.decay(weight, grad, slope)
        if self.momentum:
            grad = self.follow(grad, state["momentum_buffer"], scaled)
        weight -= np.multiply(grad, self.lr, out=scaled)

    def follow(self, grad: np.ndarray, velocity: np.ndarray, scaled: np.ndarray) -> np.ndarray:
        """`SGD.velocity`, which begins at 0 here; with `nesterov` gradient + momentum * velocity, into `scaled`."""
        velocity *= self.momentum
        velocity += grad
        if not self.nesterov:
            return velocity
        return np.add(grad, np.multiply(velocity, self.momentum, out=scaled), out=scaled)


class FlatAdam(Flat):
    """Before `Adam`: results that differ by rounding."""

    betas: tuple[float, float]
    eps: float

    def move(self, weight: np.ndarray, grad: np.ndarray, state: State, room: Room) -> None:
        """Change `weight` in place: `Adam.update`, with both corrections in the rate and in eps, as single numbers.

        rate * (m / c1) / (sqrt(v / c2) + eps) = (rate * sqrt(c2) / c1) * m / (sqrt(v) + eps * sqrt(c2)): Kingma and Ba,
        end of section 2.
        """
        share, spare = room
        self.follow(self.decay(weight, grad, spare), state, share)
        (b1, b2), steps = self.betas, state["step"]
        root = math.sqrt(1 - b2**steps)
        np.sqrt(state["exp_avg_sq"], out=share)
        share += self.eps * root
        np.divide(state["exp_avg"], share, out=share)
        share *= self.lr * root / (1 - b1**steps)
        weight -= share

    def follow(self, grad: np.ndarray, state: State, share: np.ndarray) -> None:
        """`Adam.moments`, with `share` as room."""
        (b1, b2), mean, square = self.betas, state["exp_avg"], state["exp_avg_sq"]
        state["step"] += 1
        mean *= b1
        mean += np.multiply(grad, 1 - b1, out=share)
        square *= b2
        np.multiply(grad, 1 - b2, out=share)
        share *= grad
        square += share


class FlatAdamW(FlatAdam):
    """Before `AdamW`: results that differ by rounding."""

    def decay(self, weight: np.ndarray, grad: np.ndarray, spare: np.ndarray) -> np.ndarray:
        """Shrink the weight; the gradient stays as it came."""
        weight *= 1 - self.lr * self.weight_decay
        return grad
