# %% [markdown]
# # 03 Layers
#
# A layer weighs its inputs. One layer of two neurons, three inputs each, is a matrix product and a sum:

# %% imports
from tito.notebook import check, draw, patch, probe, raises
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tinytorch.activations import ReLU, Tanh
from tinytorch.generator import Generator
from tinytorch.states import misfit
from tinytorch.tensor import Operation, Tensor

# %%
x, weight, bias = Tensor([[1.0, 2.0, 3.0]]), Tensor([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0]]), Tensor([0.5, 1.0])
x @ weight.T + bias

# %% [markdown]
# `1*1 + 2*0 + 3*2 + 0.5` is the first neuron's answer, `1*0.5 - 2*1 + 1` the second's. In this lesson that line
# becomes a layer that keeps its own numbers, and layers become a network that can name, count, save and restore them.

# %% [markdown]
# ## One node for a layer
#
# The product and the sum could be two operations. Made one, they record one step instead of two when lesson 06 learns
# to run backward, and the bias is added in place. Each row of `weight` belongs to one output.
#
# **Shapes** `(B, in), (out, in), (out,) -> (B, out)`; the bias may be missing; more dimensions may stand in front of
# `in`
#
# **By hand** x `[1 2 3]`, weight `[[1 0 2] [0 1 0]]`, bias `[10 20]`: `[1+6+10, 2+20]`, that is `[17 22]`.

# %% exercise="affine" points=4
class Affine(Operation):
    """Weighted sums of the inputs, plus a bias. `(..., in), (out, in), (out,) -> (..., out)`

    Raises ValueError when the last size of x is not `in`, or the bias is not `(out,)`, and names both shapes.
    About 8 lines.
    """

    def forward(self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        ### BEGIN SOLUTION
        if x.shape[-1:] != weight.shape[1:]:
            sizes = f"x {x.shape} must end in the size that weight {weight.shape} ends in"
            raise ValueError(f"Affine: {sizes}; make the layer that wide, or reshape x")
        result = x @ weight.T
        if bias is None:
            return result
        if bias.shape != weight.shape[:1]:
            raise ValueError(f"Affine: bias {bias.shape} must have one number for each row of weight {weight.shape}")
        result += bias
        return result
        ### END SOLUTION


# %% check="affine" points=3
def test_unit_affine():
    weight, bias = np.float32([[1, 0, 2], [0, 1, 0]]), np.float32([10, 20])
    check("Affine()(Tensor([[1.0, 2.0, 3.0]]), Tensor(w), Tensor(b))", want=[[17.0, 22.0]], w=weight, b=bias)
    check("Affine()(Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), Tensor(w))", want=[[7.0, 2.0], [16.0, 5.0]], w=weight)
    check("Affine()(Tensor([1.0, 2.0, 3.0]), Tensor(w), Tensor(b))", want=[17.0, 22.0], w=weight, b=bias)
    for shape in (r"\(1, 2\)", r"\(2, 3\)"):
        raises("Affine()(Tensor([[1.0, 2.0]]), Tensor(w))", ValueError, match=shape, w=weight)
    raises("Affine()(Tensor([[1.0, 2.0, 3.0]]), Tensor(w), Tensor([1.0]))", ValueError, match=r"\(1,\)", w=weight)


test_unit_affine()

# %% check="affine drawn" points=1 hidden=true
# On drawn numbers with dimensions in front, in float64, on no rows at all; the inputs stay as they were.
### BEGIN HIDDEN TESTS
@probe
def affine_leaves_its_inputs(x, weight, bias):
    inputs = [Tensor(x), Tensor(weight), Tensor(bias)]
    Affine()(*inputs)
    return [tensor.data for tensor in inputs]


def test_unit_affine_drawn():
    x, weight, bias = draw.normal((2, 5, 3)), draw.normal((4, 3)), draw.normal((4,))
    want = np.einsum("abi,oi->abo", x, weight) + bias
    names = {"x": x, "w": weight, "b": bias}
    check("Affine()(*[Tensor(a, 'float64') for a in (x, w, b)])", want=want, dtype="float64", **names)
    check("Affine()(Tensor(x), Tensor(w), Tensor(b))", want=want.astype(np.float32), rtol=1e-4, atol=1e-5, **names)
    check("Affine()(Tensor(np.zeros((0, 3))), Tensor(w), Tensor(b))", want=np.zeros((0, 4), np.float32), **names)
    raises("Affine()(Tensor(3.0), Tensor(w))", ValueError, match=r"\(4, 3\)", **names)
    small = [np.float32(a) for a in (x, weight, bias)]
    check(affine_leaves_its_inputs(*small), want=small)


test_unit_affine_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `torch.nn.functional.linear(x, weight, bias)` is the same; it does not mix integers with floats, ours
# does.

# %% [markdown]
# ## Parameters and modules
#
# A `Parameter` is a tensor that training will change. A `Module` is whatever holds some. Nothing is registered
# anywhere: a module finds its parts by looking at its own attributes, in the order in which they were assigned.

# %% supplied="Parameter"
class Parameter(Tensor):
    """A tensor that is learned. Made of data as a `Tensor` is."""


class Module:
    """A piece of a network. A subclass assigns its parts to attributes and defines `forward`.

    `training` tells layers such as `Dropout` which way to behave; `train()` and `eval()` switch it.
    """

    training: bool = True
    forward: Callable[..., Tensor]

    def __call__(self, *inputs: Any) -> Tensor:
        """Apply `forward`."""
        return self.forward(*inputs)


# %% [markdown]
# `vars(thing)` is the dict of a thing's attributes. That is enough to find the modules inside a module, and by
# recursion every module below. Solved:

# %% twin="Module.walk"
@patch
def named_children(self: Module) -> Iterator[tuple[str, Module]]:
    """The modules that stand in this one's attributes, with the attributes' names."""
    return ((name, value) for name, value in vars(self).items() if isinstance(value, Module))


@patch
def walk(self: Module, path: str = "") -> Iterator[tuple[str, Module]]:
    """This module, then all below, each with its path: `""`, `"body."`. A shared one comes once a path."""
    yield path, self
    for name, child in self.named_children():
        yield from child.walk(f"{path}{name}.")


@patch
def named_tensors(self: Module) -> Iterator[tuple[str, Tensor]]:
    """Every parameter and buffer (any other tensor in an attribute) by its dotted name, `"body.0.weight"`."""
    for path, module in self.walk():
        for name, value in vars(module).items():
            if isinstance(value, Tensor):
                yield path + name, value


# %%
class Scale(Module):
    def __init__(self, factor: float) -> None:
        self.factor, self.seen = Parameter([factor]), Tensor([0])

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


outer = Scale(2.0)
outer.inner = Scale(3.0)
[name for name, tensor in outer.named_tensors()]

# %% [markdown]
# The module's own tensors come first, then those of the module inside, under its name and a dot.
#
# ## Name the parameters
#
# An optimizer wants the parameters and no other tensors, each once: two layers may share one weight, and a step taken
# twice is a wrong step. Compare by `id`, since `==` on tensors compares numbers.
#
# **Shapes** `a module -> pairs (dotted name, Parameter)`, a shared one under its first name
#
# **By hand** above: `factor` and `inner.factor`; `seen` is no Parameter. After `outer.inner = outer.twin =
# Scale(3.0)` there would still be two.

# %% exercise="named_parameters" points=4
@patch
def named_parameters(self: Module) -> Iterator[tuple[str, Parameter]]:
    """Each parameter in here once, with its dotted name: own ones first, in order of assignment. About 5 lines."""
    ### BEGIN SOLUTION
    seen = set()
    for name, value in self.named_tensors():
        if isinstance(value, Parameter) and id(value) not in seen:
            seen.add(id(value))
            yield name, value
    ### END SOLUTION


# %% supplied="Module.parameters"
@patch
def parameters(self: Module) -> Iterator[Parameter]:
    """Each parameter in here once; an iterator, so wrap it in `list` to count or index."""
    return (parameter for _, parameter in self.named_parameters())


@patch
def named_modules(self: Module) -> Iterator[tuple[str, Module]]:
    """This module under the name `""`, then all below by dotted name, a shared one under its first name."""
    seen = set()
    for path, module in self.walk():
        if id(module) not in seen:
            seen.add(id(module))
            yield path[:-1], module


@patch
def modules(self: Module) -> Iterator[Module]:
    """This module and all below, each once."""
    return (module for _, module in self.named_modules())


@patch
def children(self: Module) -> Iterator[Module]:
    """The modules directly inside this one, each once."""
    yield from {id(child): child for _, child in self.named_children()}.values()


# %% check="named_parameters" points=3
@probe
def names_and_numbers():
    class Layer(Module):
        def __init__(self, value):
            self.note, self.scale, self.seen = "a word", Parameter([value]), Tensor([9.0])

    class Net(Module):
        def __init__(self):
            self.first, self.second = Layer(1.0), Layer(2.0)
            self.shift = Parameter([3.0])

    return [(name, parameter.item()) for name, parameter in Net().named_parameters()]


@probe
def shared_parameter_and_module():
    class Pair(Module):
        pass

    net, inner = Pair(), Pair()
    inner.weight = Parameter([1.0])
    net.a, net.b, net.c, net.d = inner, inner, inner.weight, Parameter([1.0])
    return [name for name, parameter in net.named_parameters()], len(list(net.parameters()))


def test_unit_named_parameters():
    check(names_and_numbers(), want=[("shift", 3.0), ("first.scale", 1.0), ("second.scale", 2.0)])
    check(shared_parameter_and_module(), want=(["c", "d"], 2), says="Shared counts once; equal is not shared.")


test_unit_named_parameters()

# %% check="named_parameters deeper" points=1 hidden=true
# Three levels down, in order; a module without parameters; the parameters are the objects themselves.
### BEGIN HIDDEN TESTS
@probe
def three_levels():
    class Box(Module):
        def __init__(self, *parts):
            for name, part in zip("zyx", parts):
                setattr(self, name, part)

    p, q, r = (Parameter([value]) for value in (1.0, 2.0, 3.0))
    net = Box(Box(Box(p), q), r, Box())
    named = list(net.named_parameters())
    same = all(a is b for (_, a), b in zip(named, (r, q, p)))
    return [name for name, _ in named], same, list(Box().named_parameters())


def test_unit_named_parameters_deeper():
    check(three_levels(), want=(["y", "z.y", "z.z.z"], True, []))


test_unit_named_parameters_deeper()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `model.named_parameters()` is the same, in the same order; PyTorch registers parts when they are
# assigned, and so needs `super().__init__()` first, where ours looks when asked.

# %% [markdown]
# ## A module that shows itself
#
# Printing a model should tell what is in it. Supplied, with `Flatten`, a complete small module:

# %% supplied="Module.repr"
@patch
def __repr__(self: Operation) -> str:
    """The name of the operation; its settings are left out."""
    return f"{type(self).__name__}()"


@patch
def extra_repr(self: Module) -> str:
    """What a layer tells of itself when printed, as `p=0.5`."""
    return ""


@patch
def named_parts(self: Module) -> Iterator[tuple[str, Any]]:
    """What is listed when the module is printed."""
    return self.named_children()


@patch
def __repr__(self: Module) -> str:
    """The parts by name, one a line, nested."""
    lines = [f"({name}): {part!r}" for name, part in self.named_parts()]
    inside = "\n".join(["", *lines]).replace("\n", "\n  ") + "\n" if lines else self.extra_repr()
    return f"{type(self).__name__}({inside})"


# %% twin="Flatten"
class Flatten(Module):
    """All dimensions from `start_dim` on made one. `(B, h, w) -> (B, h*w)`

    Raises ValueError when the input has no such dimension.
    """

    def __init__(self, start_dim: int = 1) -> None:
        self.start_dim = start_dim

    def forward(self, x: Tensor) -> Tensor:
        if not -x.ndim <= self.start_dim < max(x.ndim, 1):
            raise ValueError(f"Flatten: shape {x.shape} has no dimension {self.start_dim}")
        return x.reshape(*x.shape[: self.start_dim], math.prod(x.shape[self.start_dim :]))

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}"


# %%
Flatten()(Tensor(np.zeros((5, 8, 8)))).shape, Flatten()

# %% [markdown]
# ## Linear
#
# Weights that begin equal stay equal, so they begin at random; and small enough that a sum of many inputs stays near
# the inputs' size. PyTorch draws weight and bias evenly between -1/sqrt(in) and 1/sqrt(in).
#
# **Shapes** `(B, in) -> (B, out)`; weight `(out, in)`, bias `(out,)` or None
#
# **By hand** with 4 inputs every number lies between -0.5 and 0.5. `Linear(3, 2)` has 2*3 weights and 2 biases, 8 in
# all.

# %% exercise="linear" points=4
class Linear(Module):
    """Weighted sums of the inputs, plus a bias. `(..., in_features) -> (..., out_features)`

    `weight` `(out, in)` and `bias` `(out,)`, or None, are drawn from `rng`, uniform within 1/sqrt(in_features) of zero
    (PyTorch's default; LeCun, Bottou, Orr and Mueller, "Efficient BackProp", 1998, on why the size matters).
    About 6 lines.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, rng: Generator) -> None:
        self.in_features, self.out_features = in_features, out_features
        ### BEGIN SOLUTION
        bound = 1 / math.sqrt(max(in_features, 1))
        self.weight = Parameter(rng.uniform(-bound, bound, (out_features, in_features)))
        self.bias = Parameter(rng.uniform(-bound, bound, (out_features,))) if bias else None
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        ### BEGIN SOLUTION
        if self.bias is None:
            return Affine().apply(x, self.weight)
        return Affine().apply(x, self.weight, self.bias)
        ### END SOLUTION

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


# %% check="linear" points=3
@probe
def linear_by_hand(bias):
    layer = Linear(3, 2, bias=bias, rng=Generator(0))
    layer.weight.data[...] = [[1, 0, 2], [0, 1, 0]]
    if bias:
        layer.bias.data[...] = [10, 20]
    return layer(Tensor([[1.0, 2.0, 3.0]])).data


@probe
def linear_names(bias):
    return [(name, p.shape) for name, p in Linear(3, 2, bias=bias, rng=Generator(0)).named_parameters()]


@probe
def linear_bounds():
    layer = Linear(100, 50, rng=Generator(0))
    parts = {"weight": np.abs(layer.weight.data).max(), "bias": np.abs(layer.bias.data).max()}
    return {name: "up to 0.1" if 0.09 < size <= 0.1 else f"up to {size:.3g}" for name, size in parts.items()}


@probe
def sees_the_input():
    seen, plain = [], Operation.apply
    Operation.apply = lambda self, *inputs: seen.extend(inputs) or plain(self, *inputs)
    x = Tensor([[1.0, 2.0, 3.0]])
    try:
        Linear(3, 2, rng=Generator(0))(x)
    finally:
        Operation.apply = plain
    return any(each is x for each in seen)


def test_unit_linear():
    check(linear_by_hand(True), want=[[17.0, 22.0]])
    check(linear_by_hand(False), want=[[7.0, 2.0]])
    check(linear_names(True), want=[("weight", (2, 3)), ("bias", (2,))])
    check(linear_names(False), want=[("weight", (2, 3))])
    check(linear_bounds(), want={"weight": "up to 0.1", "bias": "up to 0.1"}, says="1/sqrt(100) is 0.1.")
    raises("Linear(3, 2, rng=Generator(0))(Tensor([[1.0, 2.0]]))", ValueError, match=r"\(1, 2\)")
    check(sees_the_input(), want=True, says="Compute with tensors, not with .data: lesson 06 must see each step.")


test_unit_linear()

# %% check="linear draws" points=1 hidden=true
# Even on both sides of zero, float32, the same from the same seed, another from another; printed as in PyTorch.
### BEGIN HIDDEN TESTS
@probe
def linear_draws():
    first, again, other = (Linear(4, 300, rng=Generator(seed)) for seed in (1, 1, 2))
    weight, bias = first.weight.data, first.bias.data
    spread = [abs(float(np.mean(a < 0)) - 0.5) < 0.1 and abs(float(np.std(a)) - 0.289) < 0.03 for a in (weight, bias)]
    same = np.array_equal(weight, again.weight.data), np.array_equal(bias, again.bias.data)
    other_seed, other_part = np.array_equal(weight, other.weight.data), np.array_equal(weight[:, 0], bias)
    return spread, same, other_seed, other_part, str(weight.dtype)


def test_unit_linear_draws():
    check(linear_draws(), want=([True, True], (True, True), False, False, "float32"))
    check("repr(Linear(3, 2, rng=Generator(0)))", want="Linear(in_features=3, out_features=2, bias=True)")
    check("repr(Linear(3, 2, False, rng=Generator(0)))", want="Linear(in_features=3, out_features=2, bias=False)")
    check("Linear(3, 2, rng=Generator(0))(Tensor(np.zeros((4, 5, 3)))).shape", want=(4, 5, 2))


test_unit_linear_draws()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `torch.nn.Linear(3, 2)` is the same with other random numbers; it draws from a global generator, ours
# from the one you hand it.

# %% [markdown]
# ## Sequential
#
# Most networks are a chain: the output of one step is the input of the next. A step is anything that can be called,
# so an activation such as `ReLU()` or a plain function will do.
#
# **Shapes** those of the steps, one after the other
#
# **By hand** steps "times 2", "plus 1" make 7 of 3; in the other order 8.

# %% exercise="sequential" points=4
class Sequential(Module):
    """Steps applied in order; any callable is a step. Modules among them are named by their position.

    Raises TypeError when a step cannot be called, or is a class such as `ReLU` where `ReLU()` was meant.
    About 8 lines.
    """

    def __init__(self, *steps: Callable[..., Tensor]) -> None:
        for position, step in enumerate(steps):
            if isinstance(step, type) or not callable(step):
                wanted = f"write {step.__name__}()" if isinstance(step, type) else "give a layer or a function"
                raise TypeError(f"Sequential: step {position} is {step!r}; {wanted}")
        self.steps = steps

    def forward(self, x: Tensor) -> Tensor:
        ### BEGIN SOLUTION
        for step in self.steps:
            x = step(x)
        return x
        ### END SOLUTION

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The steps that are modules, by position: `"0"`, `"2"`."""
        ### BEGIN SOLUTION
        for position, step in enumerate(self.steps):
            if isinstance(step, Module):
                yield str(position), step
        ### END SOLUTION


# %% supplied="Sequential.repr"
@patch
def named_parts(self: Sequential) -> Iterator[tuple[str, Any]]:
    """Every step by position, modules or not."""
    return ((str(position), step) for position, step in enumerate(self.steps))


@patch
def __len__(self: Sequential) -> int:
    """How many steps there are."""
    return len(self.steps)


@patch
def __getitem__(self: Sequential, position: int) -> Any:
    """The step at `position`."""
    return self.steps[position]


# %% check="sequential" points=3
@probe
def sequential_names():
    rng = Generator(0)
    inner = Sequential(Linear(2, 2, bias=False, rng=rng), ReLU())
    model = Sequential(Linear(3, 2, rng=rng), ReLU(), inner)
    return [name for name, parameter in model.named_parameters()]


def test_unit_sequential():
    check("Sequential(lambda x: x * 2, lambda x: x + 1)(Tensor([3]))", want=[7])
    check("Sequential(ReLU(), lambda x: x - 1, ReLU())(Tensor([-1.0, 3.0]))", want=[0.0, 2.0])
    check(sequential_names(), want=["0.weight", "0.bias", "2.0.weight"], says="Positions among all steps.")
    check("Sequential()(Tensor([5]))", want=[5])


test_unit_sequential()

# %% check="sequential shows itself" points=1 hidden=true
# A layer used twice, printing, and the error for a class among the steps.
### BEGIN HIDDEN TESTS
@probe
def a_layer_used_twice():
    layer = Linear(2, 2, rng=Generator(0))
    model = Sequential(layer, Tanh(), layer)
    x = Tensor([[1.0, -2.0]])
    same = np.allclose(model(x).data, layer(Tanh()(layer(x))).data)
    return [name for name, _ in model.named_parameters()], same


def test_unit_sequential_shows_itself():
    check(a_layer_used_twice(), want=(["0.weight", "0.bias"], True))
    parts = ["(0): Flatten(start_dim=1)", "(1): ReLU()", "(2): Sequential(", "  (0): Flatten(start_dim=2)", ")"]
    text = "\n  ".join(["Sequential(", *parts]) + "\n)"
    check("repr(Sequential(Flatten(), ReLU(), Sequential(Flatten(2))))", want=text)
    raises("Sequential(ReLU)", TypeError, match=r"ReLU\(\)")
    raises("Sequential(ReLU(), 3)", TypeError, match="step 1")


test_unit_sequential_shows_itself()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `torch.nn.Sequential(a, b)` is the same; there every step must be a Module, so a function does not
# do.

# %% [markdown]
# ## Two ways to behave
#
# Some layers act in one way while a network trains and in another while it is used. Switch a whole network at once.
#
# **Shapes** `a module -> the same module`, so that `model = build().eval()` can be written
#
# **By hand** a Sequential with two layers inside holds three modules: all three change `training`.

# %% exercise="train" points=3
@patch
def train(self: Module, mode: bool = True) -> Module:
    """Set `training` on this module and all below, return the module. About 3 lines."""
    ### BEGIN SOLUTION
    for module in self.modules():
        module.training = mode
    return self
    ### END SOLUTION


@patch
def eval(self: Module) -> Module:
    """The opposite of `train()`: the network is used. About 1 line."""
    ### BEGIN SOLUTION
    return self.train(False)
    ### END SOLUTION


# %% check="train" points=3
@probe
def modes():
    model = Sequential(Linear(2, 3, rng=Generator(0)), Sequential(Flatten()))
    seen = [[module.training for module in model.modules()]]
    for step in (model.eval, model.train, lambda: model.train(False)):
        same = step() is model
        seen.append([module.training for module in model.modules()] + [same])
    return seen + [[Flatten().training]]


def test_unit_train():
    on, off = [True] * 4, [False] * 4
    check(modes(), want=[on, off + [True], on + [True], off + [True], [True]])


test_unit_train()

# %% [markdown]
# **In PyTorch** `model.train()` and `model.eval()` are the same, down to the return value.

# %% [markdown]
# ## Dropout
#
# Set each number to zero with chance p while training, so that no neuron can rely on one other. What is kept grows by
# 1/(1-p), so that sums keep their size on average and nothing needs to change when the network is used.
#
# **Shapes** `(...) -> (...)`
#
# **By hand** p = 0.75 keeps one number in four and makes it 4 times as large. p = 0 changes nothing, p = 1 leaves
# zeros.

# %% exercise="dropout" points=5
class Dropout(Module):
    """Zeros with chance `p` while training, the rest scaled by 1/(1-p). `(...) -> (...)`

    What to keep is drawn by `rng.bernoulli`. Without training, or for p = 0, the input comes back and nothing is drawn.
    Raises ValueError unless p is from 0 to 1. Source: Srivastava and others, JMLR 15, 2014.
    About 7 lines.
    """

    def __init__(self, p: float = 0.5, *, rng: Generator) -> None:
        ### BEGIN SOLUTION
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout: p is a chance from 0 to 1, got {p}")
        ### END SOLUTION
        self.p, self.rng = p, rng

    def forward(self, x: Tensor) -> Tensor:
        ### BEGIN SOLUTION
        if not self.training or self.p == 0:
            return x
        keep = 1.0 - self.p
        mask = self.rng.bernoulli(keep, x.shape).astype(x.dtype)
        return x * (mask / keep if keep else mask)
        ### END SOLUTION

    def extra_repr(self) -> str:
        return f"p={self.p}"


# %% check="dropout" points=3
@probe
def dropped(p):
    y = Dropout(p, rng=Generator(0))(Tensor(np.ones((100, 100)))).data
    share = float(np.mean(y != 0))
    kept = "about 1/4" if abs(share - 0.25) < 0.02 else share
    return {"values": np.unique(y), "kept": kept, "rows differ": len(np.unique(y, axis=0)) > 1}


@probe
def sees_the_input():
    seen, plain = [], Operation.apply
    Operation.apply = lambda self, *inputs: seen.extend(inputs) or plain(self, *inputs)
    x = Tensor([[1.0, 2.0, 3.0]])
    try:
        Dropout(0.5, rng=Generator(0))(x)
    finally:
        Operation.apply = plain
    return any(each is x for each in seen)


def test_unit_dropout():
    check(dropped(0.75), want={"values": [0.0, 4.0], "kept": "about 1/4", "rows differ": True})
    check("Dropout(0.75, rng=Generator(0)).eval()(Tensor([1.0, 2.0, 3.0]))", want=[1.0, 2.0, 3.0])
    check("Dropout(0.0, rng=Generator(0))(Tensor([1.0, 2.0, 3.0]))", want=[1.0, 2.0, 3.0])
    check("Dropout(1, rng=Generator(0))(Tensor([1.0, 2.0, 3.0]))", want=[0.0, 0.0, 0.0])
    raises("Dropout(1.5, rng=Generator(0))", ValueError)
    check(sees_the_input(), want=True, says="Compute with tensors, not with .data: lesson 06 must see each step.")


test_unit_dropout()

# %% check="dropout draws" points=2 hidden=true
# Another mask at each call, the same from the same seed, no draw without training; float64 and the numbers kept.
### BEGIN HIDDEN TESTS
@probe
def dropout_draws():
    layer, again, x = Dropout(rng=Generator(3)), Dropout(0.5, rng=Generator(3)), Tensor(np.ones(64))
    before = layer.rng.state_dict()
    layer.eval()(x)
    Dropout(0.0, rng=layer.rng)(x)
    still = layer.rng.state_dict() == before
    first, second = layer.train()(x).data, layer(x).data
    return still, np.array_equal(first, second), np.array_equal(first, again(x).data)


@probe
def dropout_doubles(x):
    y = Dropout(0.3, rng=Generator(0))(Tensor(x, dtype="float64")).data
    return {"dtype": str(y.dtype), "kept": bool(np.allclose(y[y != 0], x[y != 0] / 0.7, rtol=1e-12))}


def test_unit_dropout_draws():
    check(dropout_draws(), want=(True, False, True))
    check(dropout_doubles(draw.uniform(1, 2, (4, 5))), want={"dtype": "float64", "kept": True})
    raises("Dropout(-0.1, rng=Generator(0))", ValueError)
    check("repr(Dropout(0.25, rng=Generator(0)))", want="Dropout(p=0.25)")


test_unit_dropout_draws()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `torch.nn.Dropout(0.75)` is the same; it draws from a global generator, ours keeps the one you hand
# it.

# %% [markdown]
# ## Save the numbers
#
# A network's state is its parameters and buffers, by name. They are copied: training on must not change what was
# saved.
#
# **Shapes** `a module -> {dotted name: array}`
#
# **By hand** `Linear(3, 2)` gives `weight` of shape (2, 3) and `bias` of shape (2,). A shared one stands under each
# name.

# %% exercise="state_dict" points=3
@patch
def state_dict(self: Module) -> dict[str, np.ndarray]:
    """Copies of all parameters and buffers by dotted name, a shared one under each of its names. About 1 line."""
    ### BEGIN SOLUTION
    return {name: tensor.data.copy() for name, tensor in self.named_tensors()}
    ### END SOLUTION


# %% check="state_dict" points=3
@probe
def saved_then_trained():
    model = Sequential(Linear(3, 2, rng=Generator(0)), ReLU())
    model[0].weight.data[...], model[0].bias.data[...] = 7.0, 8.0
    model.count = Tensor([5])
    state = model.state_dict()
    model[0].weight.data += 1.0
    return state


@probe
def saved_shared():
    layer = Linear(3, 2, bias=False, rng=Generator(0))
    return sorted(Sequential(layer, layer).state_dict())


def test_unit_state_dict():
    sevens = np.full((2, 3), 7.0, np.float32)
    want = {"0.bias": np.float32([8, 8]), "0.weight": sevens, "count": np.array([5])}
    check(saved_then_trained(), want=want, says="Parameters and buffers, copied.")
    check(saved_shared(), want=["0.weight", "1.weight"])


test_unit_state_dict()

# %% [markdown]
# **In PyTorch** `model.state_dict()` has the same names; its values are tensors on the same memory, ours are copies.

# %% [markdown]
# ## Restore them
#
# A state that fits half is worse than an error: compare first, change nothing unless all is well, and tell everything
# that is wrong at once. Then copy into the arrays that are there, since optimizers hold on to them.
#
# **Shapes** `{dotted name: array} -> None`
#
# **By hand** a `Linear(3, 2)` given `{"weight": zeros (3, 2), "scale": ...}` has three faults: `bias` is missing,
# `scale` is unexpected, `weight` has shape (3, 2) and should have (2, 3). `misfit`, from the supplied `states.py`, says the
# last of these.

# %% exercise="load_state_dict" points=5
@patch
def load_state_dict(self: Module, state: dict[str, Any]) -> None:
    """Copy what `state_dict` gave back into the arrays of the parameters and buffers (`.data`), in place.

    Raises ValueError, with nothing changed, that tells every missing or unexpected name, wrong shape and dtype.
    About 8 lines.
    """
    ### BEGIN SOLUTION
    own = dict(self.named_tensors())
    faults = [f"{name} is missing" for name in own if name not in state]
    faults += [f"{name} is unexpected" for name in state if name not in own]
    checked = [misfit(name, state[name], own[name]) for name in own if name in state]
    faults += [fault for fault in checked if fault]
    if faults:
        raise ValueError(f"load_state_dict: the state does not fit this model: {'; '.join(faults)}")
    for name, tensor in own.items():
        tensor.data[...] = state[name]
    ### END SOLUTION


# %% check="load_state_dict" points=3
@probe
def load_into_linear(state, faults=()):
    layer = Linear(3, 2, rng=Generator(0))
    array, old = layer.weight.data, layer.bias.data.copy()
    try:
        layer.load_state_dict(state)
    except ValueError as error:
        named = [name for name in faults if name in str(error)]
        return named, np.array_equal(layer.bias.data, old)
    return layer.weight.data is array, array, layer.bias.data


def test_unit_load_state_dict():
    good = {"weight": np.float32([[1, 2, 3], [4, 5, 6]]), "bias": np.float32([7, 8])}
    check(load_into_linear(good), want=(True, good["weight"], good["bias"]), says="Copy into the array that is there.")
    three = ["bias", "scale", "weight"]
    check(load_into_linear({"weight": good["weight"].T, "scale": 1.0}, three), want=(three, True), says="Tell all.")
    before = "Check everything before any change."
    check(load_into_linear({"bias": good["bias"]}, ["weight"]), want=(["weight"], True), says=before)
    check(load_into_linear(good | {"scale": 1.0}, ["scale"]), want=(["scale"], True))
    check(load_into_linear(good | {"weight": good["weight"].astype(np.int64)}, ["weight"]), want=(["weight"], True))


test_unit_load_state_dict()

# %% check="load_state_dict round trip" points=2 hidden=true
# From one network to another, buffers included; the two then share no memory; the message names a wrong shape or dtype.
### BEGIN HIDDEN TESTS
@probe
def round_trip():
    def build(seed):
        model = Sequential(Linear(3, 4, rng=Generator(seed)), Tanh(), Sequential(Linear(4, 2, rng=Generator(seed + 9))))
        model.count = Tensor(seed)
        return model

    first, second, x = build(1), build(2), Tensor([[1.0, -2.0, 0.5]])
    state = first.state_dict()
    second.load_state_dict(state)
    state["0.weight"][...] = 0.0
    return np.array_equal(first(x).data, second(x).data), second.count.item()


def test_unit_load_state_dict_round_trip():
    check(round_trip(), want=(True, 1))
    load = "Linear(3, 2, False, rng=Generator(0)).load_state_dict({'weight': w})"
    raises(load, ValueError, match=r"\(3, 2\)", w=np.zeros((3, 2)))
    raises(load, ValueError, match="float64", w=np.zeros((2, 3)))
    raises(load, ValueError, match=r"\(1, 3\)", w=np.zeros((1, 3), np.float32))


test_unit_load_state_dict_round_trip()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `model.load_state_dict(state)` is the same when strict, and raises RuntimeError; it casts another
# dtype silently, ours refuses.

# %% [markdown]
# ## Break it on purpose
#
# Attributes are looked at, lists are not looked into. This network works, and has nothing to train:

# %%
class Hidden(Module):
    def __init__(self, rng: Generator) -> None:
        self.layers = [Linear(3, 4, rng=rng), Linear(4, 2, rng=rng)]

    def forward(self, x: Tensor) -> Tensor:
        return self.layers[1](self.layers[0](x))


Hidden(Generator(0))(Tensor([[1.0, 2.0, 3.0]])).shape, len(list(Hidden(Generator(0)).parameters()))

# %% [markdown]
# An answer of shape (1, 2), and 0 parameters. PyTorch does the same. Put the layers into a `Sequential` and count
# again.
#
# ## What it costs
#
# The network that will read digits in lesson 08, its numbers and its bytes:

# %%
rng = Generator(0)
digits = Sequential(Linear(64, 32, rng=rng.split("hidden")), ReLU(), Linear(32, 10, rng=rng.split("out")))
sum(p.numel() for p in digits.parameters()), sum(p.nbytes for p in digits.parameters())

# %% [markdown]
# 2,410 numbers, `64*32 + 32 + 32*10 + 10`, at 4 bytes each. One picture takes as many multiplications as there are
# weights:

# %%
sum(p.numel() for p in digits.parameters() if p.ndim == 2), digits

# %% [markdown]
# You built layers that know their parameters. There are no hooks, no devices, no lists of modules: no later lesson
# needs them. Next, lesson 04 measures how wrong a network's answer is.
