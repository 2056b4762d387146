# %% [markdown]
# # 03 Layers
#
# Three numbers go in, one comes out, and two small layers stand between. Here is the network, in four loose tensors:

# %% imports
from tito.notebook import check, draw, patch, probe, raises
import math
from collections.abc import Callable, Iterator
from timeit import repeat
from typing import Any

import numpy as np

from tinytorch.activations import ReLU, Tanh
from tinytorch.generator import Generator
from tinytorch.states import misfit
from tinytorch.tensor import Operation, Tensor

# %%
x = Tensor([[1.0, 2.0, 3.0]])  # (B, in): one row a sample
w1, b1 = Tensor([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0]]), Tensor([0.5, 1.0])
w2, b2 = Tensor([[2.0, 1.0]]), Tensor([0.25])
ReLU()(x @ w1.T + b1) @ w2.T + b2

# %% [markdown]
# The answer is 15.25. Now save this network. By hand, that is a list of its tensors, and a count to be sure:

# %%
saved = [w1, b1, w2]
sum(tensor.numel() for tensor in saved), 6 + 2 + 2 + 1

# %% [markdown]
# Ten numbers of eleven: `b2` was forgotten, and nothing complained. Training, printing and restoring need the same list
# again. In this lesson a layer holds its own numbers, and a network finds, names, counts, saves and restores them all.

# %% [markdown]
# ## One layer, one operation
#
# A layer weighs its inputs. Each output, called a neuron, has a row of weights of its own, and a bias, a number added at
# the end. In loops, slow and plain:

# %%
def slowly(x, weight, bias):
    return [[sum(w * v for w, v in zip(row, sample)) + b for row, b in zip(weight, bias)] for sample in x]


slowly([[1, 2, 3]], [[1, 0, 2], [0, 1, 0]], [10, 20])

# %% [markdown]
# `1*1 + 0*2 + 2*3 + 10` and `0*1 + 1*2 + 0*3 + 20`. On grids the same is a product and a sum:
#
# ![Each row of weight is turned into a column, so that it meets the sample and makes one output](figures/03_affine.svg)

# %% [markdown]
# Since lesson 01 a step of arithmetic is a class with a `forward`. The product alone is such a class, solved:

# %%
class Weigh(Operation):
    def forward(self, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return x @ weight.T  # (..., out)


Weigh()(x, w1), Weigh()(x, w1) + Tensor([10.0])

# %% [markdown]
# The second answer is wrong in silence: one bias was repeated for two outputs. Made one operation, product and sum can
# refuse that; they also leave one result in memory instead of two, and lesson 06 has one step to walk back.

# %% [markdown]
# **Shapes** `(B, in), (out, in), (out,) -> (B, out)`; the bias may be missing; more dimensions may stand before `in`
#
# **By hand** the loops above gave `[17 22]`; a second row `[4 5 6]` gives `[4+12+10, 5+20]`, that is `[26 25]`

# %% exercise="affine" points=4
class Affine(Operation):
    """Weighted sums of the inputs, plus a bias. `(..., in), (out, in), (out,) -> (..., out)`

    Raises ValueError when x does not end in `in`, or the bias is not `(out,)`, and names both shapes.
    About 8 lines.
    """

    def forward(self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        ### BEGIN SOLUTION
        if x.shape[-1:] != weight.shape[1:]:
            sizes = f"x {x.shape} must end in the size that weight {weight.shape} ends in"
            raise ValueError(f"Affine: {sizes}; make the layer that wide, or reshape x")
        result = x.dot(weight.T)
        if bias is None:
            return result
        if bias.shape != weight.shape[:1]:
            raise ValueError(f"Affine: bias {bias.shape} must have one number for each row of weight {weight.shape}")
        result += bias
        return result
        ### END SOLUTION


# %% check="affine" points=3
def test_unit_affine():
    names = dict(w=np.float32([[1, 0, 2], [0, 1, 0]]), b=np.float32([10, 20]), x=np.float32([[1, 2, 3], [4, 5, 6]]))
    check("Affine()(Tensor(x), Tensor(w), Tensor(b))", want=[[17.0, 22.0], [26.0, 25.0]], **names)
    check("Affine()(Tensor(x), Tensor(w))", want=[[7.0, 2.0], [16.0, 5.0]], **names)
    check("Affine()(Tensor(x[1]), Tensor(w), Tensor(b))", want=[26.0, 25.0], **names)
    for shape in (r"\(1, 2\)", r"\(2, 3\)"):
        raises("Affine()(Tensor([[1.0, 2.0]]), Tensor(w))", ValueError, match=shape, **names)
    raises("Affine()(Tensor(x), Tensor(w), Tensor([1.0]))", ValueError, match=r"\(1,\)", **names)


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
    row = {"x": x[0, 0], "w": weight, "b": bias}
    check("Affine()(*[Tensor(a, 'float64') for a in (x, w, b)])", want=weight @ x[0, 0] + bias, dtype="float64", **row)
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
# **In PyTorch** a function; it refuses integers beside floats, ours brings them to one dtype:
# ```python oracle
# x, weight = torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
# F.linear(x, weight, torch.tensor([10.0, 20.0])).tolist() == [[17.0, 22.0]]
# ```

# %% [markdown]
# ## A tree of modules
#
# A `Parameter` is a tensor that training changes. A `Module` is whatever holds some, or holds other modules:

# %% supplied="Parameter"
class Parameter(Tensor):
    """A tensor that is learned. Made of data as a `Tensor` is."""


# %% supplied="Module"
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
# Nothing is registered anywhere: the parts of a module are its attributes, and `vars` gives their dict. A small one:

# %%
class Scale(Module):
    def __init__(self, factor: float) -> None:
        self.factor, self.seen = Parameter([factor]), Tensor([0])

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


Scale(2.0)(x), vars(Scale(2.0))

# %% [markdown]
# `factor` is learned. `seen` is a plain tensor: it belongs to the state, and no training touches it. Such a tensor is
# called a buffer. The modules directly inside another are found by looking:

# %% twin="Module.children"
@patch
def named_children(self: Module) -> Iterator[tuple[str, Module]]:
    """The modules that stand in this one's attributes, with the attributes' names."""
    return ((name, value) for name, value in vars(self).items() if isinstance(value, Module))


# %% [markdown]
# Each of those may hold more. `yield from` hands on all that the recursion below finds:

# %% twin="Module.walk"
@patch
def walk(self: Module, path: str = "") -> Iterator[tuple[str, Module]]:
    """This module, then all below, each with its path: `""`, `"body."`. A shared one comes once a path."""
    yield path, self
    for name, child in self.named_children():
        yield from child.walk(f"{path}{name}.")


# %% [markdown]
# With the path in front, every tensor of the tree has a name of its own:

# %% twin="Module.tensors"
@patch
def named_tensors(self: Module) -> Iterator[tuple[str, Tensor]]:
    """Every parameter and buffer (any other tensor in an attribute) by its dotted name, `"body.0.weight"`."""
    for path, module in self.walk():
        for name, value in vars(module).items():
            if isinstance(value, Tensor):
                yield path + name, value


# %%
outer = Scale(2.0)
outer.inner = outer.twin = Scale(3.0)
[name for name, tensor in outer.named_tensors()]

# %% [markdown]
# The module's own tensors come first. The one module in two attributes was met twice, under both names:
#
# ![A dotted name is the path through the tree; a shared module is reached by two paths](figures/03_tree.svg)

# %% [markdown]
# ## Name the parameters
#
# An optimizer wants each parameter once and no buffer: a step taken twice is a wrong step. Compare by `id`, which is
# one number for one object; `==` on tensors compares their numbers.

# %% [markdown]
# **Shapes** `a module -> pairs (dotted name, Parameter)`, a shared one under its first name only
#
# **By hand** `outer` above has two, `factor` and `inner.factor`; two parameters `[1.0]` made apart are two

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


# %% check="named_parameters" points=3
@probe
def names_and_numbers():
    net = Module()
    net.first, net.second, net.shift = Module(), Module(), Parameter([3.0])
    for value, part in enumerate((net.first, net.second), 1):
        part.note, part.scale, part.seen = "a word", Parameter([float(value)]), Tensor([9.0])
    return [(name, parameter.item()) for name, parameter in net.named_parameters()]


@probe
def shared_parameter_and_module():
    net, inner = Module(), Module()
    inner.weight = Parameter([1.0])
    net.a, net.b, net.c, net.d = inner, inner, inner.weight, Parameter([1.0])
    return [name for name, parameter in net.named_parameters()]


def test_unit_named_parameters():
    check(names_and_numbers(), want=[("shift", 3.0), ("first.scale", 1.0), ("second.scale", 2.0)])
    check(shared_parameter_and_module(), want=["c", "d"], says="Shared counts once; equal is not shared.")


test_unit_named_parameters()

# %% check="named_parameters deeper" points=1 hidden=true
# Three levels down, in order; a module without parameters; the parameters are the objects themselves.
### BEGIN HIDDEN TESTS
@probe
def three_levels(values):
    class Box(Module):
        def __init__(self, *parts):
            for name, part in zip("zyx", parts):
                setattr(self, name, part)

    p, q, r = (Parameter([value]) for value in (1.0, 2.0, 3.0))
    net = Box(Box(Box(p), q), r, Box())
    named = list(net.named_parameters())
    p.data, q.data, r.data = values
    return [(name, parameter.data) for name, parameter in named], list(Box().named_parameters())


def test_unit_named_parameters_deeper():
    p, q, r = values = [draw.normal((size,)).astype(np.float32) for size in (1, 2, 3)]
    check(three_levels(values), want=([("y", r), ("z.y", q), ("z.z.z", p)], []), says="The objects themselves.")


test_unit_named_parameters_deeper()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same names in the same order; it registers parts as they are assigned, and so needs
# `super().__init__()` first, where ours looks when asked:
# ```python oracle
# net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
# [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias", "2.weight", "2.bias"]
# ```

# %% [markdown]
# From your names come the parameters alone, and the modules are listed by the same pattern, each once:

# %% supplied="Module.parameters"
@patch
def parameters(self: Module) -> Iterator[Parameter]:
    """Each parameter in here once; an iterator, so wrap it in `list` to count or index."""
    return (parameter for _, parameter in self.named_parameters())


# %% supplied="Module.named_modules"
@patch
def named_modules(self: Module) -> Iterator[tuple[str, Module]]:
    """This module under the name `""`, then all below by dotted name, a shared one under its first name."""
    seen = set()
    for path, module in self.walk():
        if id(module) not in seen:
            seen.add(id(module))
            yield path[:-1], module


# %% supplied="Module.modules"
@patch
def modules(self: Module) -> Iterator[Module]:
    """This module and all below, each once."""
    return (module for _, module in self.named_modules())


@patch
def children(self: Module) -> Iterator[Module]:
    """The modules directly inside this one, each once."""
    yield from {id(child): child for _, child in self.named_children()}.values()


# %% [markdown]
# Printed, a model should tell what is in it. An operation gives its name, a module its parts, one a line, nested:

# %% supplied="Operation.repr"
@patch
def __repr__(self: Operation) -> str:
    """The name of the operation; its settings are left out."""
    return f"{type(self).__name__}()"


# %% supplied="Module.parts"
@patch
def extra_repr(self: Module) -> str:
    """What a layer tells of itself when printed, as `p=0.5`."""
    return ""


@patch
def named_parts(self: Module) -> Iterator[tuple[str, Any]]:
    """What is listed when the module is printed."""
    return self.named_children()


# %% supplied="Module.repr"
@patch
def __repr__(self: Module) -> str:
    """The parts by name, one a line, nested."""
    lines = [f"({name}): {part!r}" for name, part in self.named_parts()]
    inside = "\n".join(["", *lines]).replace("\n", "\n  ") + "\n" if lines else self.extra_repr()
    return f"{type(self).__name__}({inside})"


# %% [markdown]
# A whole module, solved: it makes one row of an 8 by 8 picture, and has nothing to learn:

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
# Five pictures, five rows of 64. What it tells of itself is its one setting.

# %% [markdown]
# ## Linear
#
# A layer that holds its weights must begin with some. Equal ones will not do:

# %%
x @ Tensor(np.full((2, 3), 0.5)).T

# %% [markdown]
# Two neurons, one answer. Training would correct both alike, and two would stay one. So weights begin at random. How
# large? 500 samples of 100 inputs of size 1, and weights of size 1:

# %%
crowd, weights = (Tensor(Generator(seed).normal(0.0, 1.0, (500, 100))) for seed in (1, 2))
(crowd @ weights.T).data.std().item()

# %% [markdown]
# About 10, the square root of 100: a sum of n terms with mixed signs grows as the root of n. Eight such layers multiply
# the size by 10 eight times over. Weights of size 1/sqrt(in) keep it. PyTorch draws weight and bias evenly between
# -1/sqrt(in) and 1/sqrt(in), on average half as large as that bound, so numbers fade a little in each layer:
#
# ![Over eight layers, weights twice as large explode and half as large fade; 1/sqrt(in) holds](figures/03_depth.svg)

# %% [markdown]
# **Shapes** `(B, in) -> (B, out)`; weight `(out, in)`, bias `(out,)` or None
#
# **By hand** with 4 inputs every number lies between -0.5 and 0.5; `Linear(3, 2)` has `2*3 + 2` numbers

# %% exercise="linear" points=4
class Linear(Module):
    """Weighted sums of the inputs, plus a bias. `(..., in_features) -> (..., out_features)`

    `weight` `(out, in)` and `bias` `(out,)`, or None, are drawn from `rng`, uniform within 1/sqrt(in_features) of zero
    (PyTorch's default; why the size matters: LeCun and others, "Efficient BackProp", 1998).
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
def linear_begins(bias):
    layer = Linear(100, 50, bias=bias, rng=Generator(0))
    parts = [(name, p.shape, float(np.abs(p.data).max())) for name, p in layer.named_parameters()]
    return [(name, shape, "up to 0.1" if 0.09 < size < 0.1001 else size) for name, shape, size in parts]


@probe
def sees_the_input():
    x, seen, plain = Tensor([[1.0, 2.0, 3.0]]), [], Operation.apply
    Operation.apply = lambda self, *inputs: seen.extend(inputs) or plain(self, *inputs)
    Linear(3, 2, rng=Generator(0))(x)
    Operation.apply = plain
    return any(each is x for each in seen)


def test_unit_linear():
    check(linear_by_hand(True), want=[[17.0, 22.0]])
    check(linear_by_hand(False), want=[[7.0, 2.0]])
    weight, bias = ("weight", (50, 100), "up to 0.1"), ("bias", (50,), "up to 0.1")
    check(linear_begins(True), want=[weight, bias], says="1/sqrt(100) is 0.1.")
    check(linear_begins(False), want=[weight])
    raises("Linear(3, 2, rng=Generator(0))(Tensor([[1.0, 2.0]]))", ValueError, match=r"\(1, 2\)")
    check(sees_the_input(), want=True, says="Compute with tensors, not with .data: lesson 06 must see each step.")


test_unit_linear()

# %% check="linear draws" points=1 hidden=true
# Even on both sides of zero, of one input too, float32, the same from the same seed, another from another; printed.
### BEGIN HIDDEN TESTS
@probe
def linear_draws(one, two, x):
    layers = [Linear(4, 300, rng=Generator(seed)) for seed in (one, one, two)]
    return [[layer.weight.data, layer.bias.data] for layer in layers], layers[0](Tensor(x)).data


@probe
def one_input(seed):
    return Linear(1, 300, rng=Generator(seed)).weight.data


def test_unit_linear_draws():
    (one, two), x = draw.permutation(10**6)[:2].tolist(), draw.normal((3, 2, 4))
    (first, again, other), y = linear_draws(one, two, x)
    check([a.shape for a in first + other], want=[(300, 4), (300,)] * 2)
    check(first, want=again, says="The same from the same seed, in float32.")
    for a in first:
        check(np.mean(a < 0), want=0.5, atol=0.18, says="Even on both sides of zero.")  # all bounds: 6 deviations wide
        check(np.std(a), want=0.289, atol=0.05)
    weight, bias = first
    check(y, want=(x @ weight.T + bias).astype(np.float32), rtol=1e-4, atol=1e-5)
    for a, b in ((weight.ravel(), other[0].ravel()), (weight[:, 0], bias)):
        check(np.corrcoef(a, b)[0, 1], want=0.0, atol=0.4, says="Each seed and each part has numbers of its own.")
    check(np.abs(one_input(two)).max(), want=0.97, atol=0.03, says="Within 1/sqrt(1) of zero.")
    check("repr(Linear(3, 2, rng=Generator(0)))", want="Linear(in_features=3, out_features=2, bias=True)")
    check("repr(Linear(3, 2, False, rng=Generator(0)))", want="Linear(in_features=3, out_features=2, bias=False)")


test_unit_linear_draws()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same layout and the same bound; it draws from one hidden generator, ours from the one you hand it:
# ```python oracle
# layer = torch.nn.Linear(100, 50)
# layer.weight.shape == (50, 100) and layer.weight.abs().max().item() < 0.1001
# ```

# %% [markdown]
# ## Sequential
#
# Most networks are a chain: what one step returns, the next one takes. A step is anything that can be called. By hand:

# %%
first, second = Linear(3, 4, rng=Generator(0)), Linear(4, 2, rng=Generator(1))
second(ReLU()(first(x))).shape

# %% [markdown]
# Read from the inside out, and with a name for every step. A chain lists them in the order in which they act.

# %% [markdown]
# **Shapes** those of the steps, one after the other
#
# **By hand** "times 2", then "plus 1" make 7 of 3; the other way round 8. Of the steps Linear, ReLU, Linear the modules
# are named `"0"` and `"2"`

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


# %% [markdown]
# A chain also lists its steps, counts them and gives one by position:

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
    model = Sequential(Linear(3, 2, rng=rng), ReLU(), Sequential(Linear(2, 2, False, rng=rng), ReLU()))
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
def a_layer_used_twice(x, weight, bias):
    layer = Linear(2, 2, rng=Generator(0))
    layer.weight.data[...], layer.bias.data[...] = weight, bias
    model = Sequential(layer, Tanh(), layer)
    return [name for name, _ in model.named_parameters()], model(Tensor(x)).data


def test_unit_sequential_shows_itself():
    x, weight, bias = draw.normal((3, 2)), draw.normal((2, 2)), draw.normal((2,))
    want = (np.tanh(x @ weight.T + bias) @ weight.T + bias).astype(np.float32)
    check(a_layer_used_twice(x, weight, bias), want=(["0.weight", "0.bias"], want), rtol=1e-4, atol=1e-5)
    check("[name for name, _ in Sequential(Sequential(), abs, Sequential()).named_children()]", want=["0", "2"])
    parts = ["(0): Flatten(start_dim=1)", "(1): ReLU()", "(2): Sequential(", "  (0): Flatten(start_dim=2)", ")"]
    text = "\n  ".join(["Sequential(", *parts]) + "\n)"
    check("repr(Sequential(Flatten(), ReLU(), Sequential(Flatten(2))))", want=text)
    raises("Sequential(ReLU)", TypeError, match=r"ReLU\(\)")
    raises("Sequential(ReLU(), 3)", TypeError, match="step 1")


test_unit_sequential_shows_itself()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same names by position; every step must be a Module there, a plain function is refused:
# ```python oracle
# list(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(3, 2)).state_dict()) == ["1.weight", "1.bias"]
# ```

# %% [markdown]
# The network from the top of this lesson, as a chain with the same numbers:

# %%
net = Sequential(Linear(3, 2, rng=Generator(0)), ReLU(), Linear(2, 1, rng=Generator(1)))
for tensor, value in zip(net.parameters(), (w1, b1, w2, b2)):
    tensor.data[...] = value.data
net(x), sum(p.numel() for p in net.parameters())

# %% [markdown]
# 15.25 again, and all eleven numbers were found without a list by hand.

# %% [markdown]
# ## Two ways to behave
#
# Some layers act in one way while a network trains, in another while it is used; one call must switch all of them.

# %% [markdown]
# **Shapes** `a module -> the same module`, so that `model = build().eval()` can be written
#
# **By hand** `net` holds three modules, itself and two Linear: all three change `training`

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
        seen.append([step() is model] + [module.training for module in model.modules()])
    return seen + [[Flatten().training]]


def test_unit_train():
    on, off = [True] * 4, [False] * 4
    check(modes(), want=[on, [True] + off, [True] + on, [True] + off, [True]])


test_unit_train()

# %% [markdown]
# **In PyTorch** the same; there a constructor sets the mode, in ours the class holds it until somebody switches:
# ```python oracle
# net = torch.nn.Sequential(torch.nn.Linear(3, 2))
# net.eval() is net and not net[0].training
# ```

# %% [markdown]
# ## Dropout
#
# A network that leans on one neuron errs whenever that one does. So, while training, set each number to zero with
# chance p. Sums would shrink with it, so what is kept grows by 1/(1-p):
#
# ![Dropout with p = 0.75: one number in four is kept and made four times as large](figures/03_dropout.svg)

# %% [markdown]
# **Shapes** `(...) -> (...)`
#
# **By hand** p = 0.75 keeps one number in four, four times as large; p = 0 changes nothing, p = 1 leaves zeros

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
    kept = "about 1/4" if 0.23 < np.mean(y != 0) < 0.27 else float(np.mean(y != 0))
    return {"values": np.unique(y), "kept": kept, "rows differ": len(np.unique(y, axis=0)) > 1}


@probe
def sees_the_input():
    x, seen, plain = Tensor([[1.0, 2.0, 3.0]]), [], Operation.apply
    Operation.apply = lambda self, *inputs: seen.extend(inputs) or plain(self, *inputs)
    Dropout(0.5, rng=Generator(0))(x)
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
def dropout_draws(x, seed):
    layer, again, x = Dropout(rng=Generator(seed)), Dropout(0.5, rng=Generator(seed)), Tensor(x, dtype="float64")
    layer.eval()(x)
    Dropout(0.0, rng=layer.rng)(x)
    return [layer.train()(x).data, layer(x).data, again(x).data, Dropout(0.3, rng=layer.rng)(x).data]


def test_unit_dropout_draws():
    x, seed = draw.uniform(1, 2, (64,)), int(draw.integers(0, 10**6, ()))
    got = first, second, again, other = dropout_draws(x, seed)
    check([a.shape for a in got], want=[(64,)] * 4)
    for a, keep in ((first, 0.5), (other, 0.7)):
        check(a, want=np.where(a == 0, 0, x / keep), rtol=1e-12, atol=0, dtype="float64")
    check(first, want=again, dtype="float64", says="The same from the same seed, whose stream only training draws from.")
    for a in (second, other):
        check(np.mean((first == 0) == (a == 0)), want=0.5, atol=0.4, says="Another mask at each call.")
    raises("Dropout(-0.1, rng=Generator(0))", ValueError)
    check("repr(Dropout(0.25, rng=Generator(0)))", want="Dropout(p=0.25)")


test_unit_dropout_draws()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same scaling; its masks come from one hidden generator, ours from the one you hand it:
# ```python oracle
# torch.nn.Dropout(0.75)(torch.ones(1000)).unique().tolist() == [0.0, 4.0]
# ```

# %% [markdown]
# What is left of ten thousand ones, and their mean:

# %%
y = Dropout(0.75, rng=Generator(0))(Tensor(np.ones((100, 100))))
(y.data == 0).mean().item(), y.mean().item()

# %% [markdown]
# Three quarters are zero, and the mean is still about 1, which the factor of 4 has made up for.

# %% [markdown]
# ## Save the numbers
#
# A network's state is its parameters and buffers by name. Hand out the arrays themselves, and this happens:

# %%
layer = Linear(3, 2, rng=Generator(0))
kept = {"weight": layer.weight.data}
layer.weight.data[...] = 7.0
kept

# %% [markdown]
# What was saved changed with the layer: two names, one memory. A state that keeps needs copies.

# %% [markdown]
# **Shapes** `a module -> {dotted name: array}`
#
# **By hand** `Linear(3, 2)` gives `weight` (2, 3) and `bias` (2,); a shared one stands under each of its names

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


def test_unit_state_dict():
    want = {"0.bias": np.float32([8, 8]), "0.weight": np.full((2, 3), 7, np.float32), "count": np.array([5])}
    check(saved_then_trained(), want=want, says="Parameters and buffers, copied.")
    twice = "sorted(Sequential(*[Linear(3, 2, False, rng=Generator(0))] * 2).state_dict())"
    check(twice, want=["0.weight", "1.weight"], says="A shared tensor stands under each of its names.")


test_unit_state_dict()

# %% [markdown]
# **In PyTorch** the same names; its values are tensors on the model's own memory, so there you must copy yourself:
# ```python oracle
# layer = torch.nn.Linear(3, 2)
# layer.state_dict()["weight"].data_ptr() == layer.weight.data_ptr()
# ```

# %% [markdown]
# ## Restore them
#
# A state that fits half is worse than an error: compare first, tell all that is wrong at once, and change nothing
# unless all is well. Then copy into the arrays that are there, since optimizers hold on to them.

# %% [markdown]
# `misfit`, supplied, compares one array with one tensor, and gives a sentence or None:

# %%
misfit("weight", np.zeros((3, 2)), layer.weight), misfit("bias", np.float32([1, 2]), layer.bias)

# %% [markdown]
# The first is turned, the second fits.

# %% [markdown]
# **Shapes** `{dotted name: array} -> None`, the model changed
#
# **By hand** for `Linear(3, 2)` a state of `scale` and a `weight` of shape (3, 2) has three faults: `bias` is missing,
# `scale` is unexpected, `weight` is turned

# %% exercise="load_state_dict" points=5
@patch
def load_state_dict(self: Module, state: dict[str, Any]) -> None:
    """Copy what `state_dict` gave back into the arrays of the parameters and buffers (`.data`), in place.

    Raises ValueError, nothing changed, telling every missing or unexpected name, wrong shape or dtype.
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
def round_trip(x, numbers, count):
    def build(seed):
        model = Sequential(Linear(3, 4, rng=Generator(seed)), Tanh(), Sequential(Linear(4, 2, rng=Generator(seed + 9))))
        model.count = Tensor(seed)
        return model

    first, second, x = build(count), build(count + 1), Tensor(x)
    for parameter, array in zip(first.parameters(), numbers):
        parameter.data[...] = array
    state = first.state_dict()
    second.load_state_dict(state)
    state["0.weight"][...] = 0.0
    return first(x).data, second(x).data, second.count.item()


def test_unit_load_state_dict_round_trip():
    x, count = draw.normal((2, 3)), int(draw.integers(1, 99, ()))
    weight, bias, *last = numbers = [draw.normal(shape) for shape in ((4, 3), (4,), (2, 4), (2,))]
    want = np.float32(np.tanh(x @ weight.T + bias) @ last[0].T + last[1])
    check(round_trip(x, numbers, count), want=(want, want, count), rtol=1e-4, atol=1e-5)
    load = "Linear(3, 2, False, rng=Generator(0)).load_state_dict({'weight': w})"
    raises(load, ValueError, match=r"\(3, 2\)", w=np.zeros((3, 2)))
    raises(load, ValueError, match="float64", w=np.zeros((2, 3)))
    raises(load, ValueError, match=r"\(1, 3\)", w=np.zeros((1, 3), np.float32))
    raises(load, ValueError, match="weight", w=[[1.0, 2.0]])


test_unit_load_state_dict_round_trip()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same when strict, with RuntimeError; it casts another dtype in silence, ours refuses it:
# ```python oracle
# state = {"weight": torch.ones(2, 3, dtype=torch.float64), "bias": torch.zeros(2)}
# str(torch.nn.Linear(3, 2).load_state_dict(state)) == "<All keys matched successfully>"
# ```

# %% [markdown]
# Saved and restored, the network of the top answers alike in another object:

# %%
other = Sequential(Linear(3, 2, rng=Generator(5)), ReLU(), Linear(2, 1, rng=Generator(6)))
before = other(x)
other.load_state_dict(net.state_dict())
before, other(x)

# %% [markdown]
# And a state that does not fit is refused with all that is wrong, the model left as it was:

# %%
try:
    other.load_state_dict({"0.weight": np.zeros((3, 2), np.float32), "0.bias": net[0].bias.data})
except ValueError as error:
    print(error)
other(x)

# %% [markdown]
# Three faults in one message, and the answer is still 15.25.

# %% [markdown]
# ## Break it on purpose
#
# Attributes are looked at; a list in an attribute is not looked into. This network works, and has nothing to train:

# %%
class Hidden(Module):
    def __init__(self) -> None:
        self.layers = [Linear(3, 4, rng=Generator(0)), Linear(4, 2, rng=Generator(1))]

    def forward(self, x: Tensor) -> Tensor:
        return self.layers[1](self.layers[0](x))


Hidden()(x).shape, len(list(Hidden().parameters()))

# %% [markdown]
# An answer of the right shape, and 0 parameters: it would train for an hour and learn nothing. PyTorch does the same,
# and offers a ModuleList. Here the cure is a `Sequential`, which the tree reaches:

# %%
whole = Hidden()
whole.layers = Sequential(*whole.layers)
whole(x).shape, [name for name, parameter in whole.named_parameters()]

# %% [markdown]
# The same answer's shape, and four parameters, each with the path that leads to it.

# %% [markdown]
# ## What it costs
#
# The network that will read digits in lesson 08: estimated numbers, counted numbers, bytes of parameters, of a state:

# %%
digits = Sequential(Linear(64, 32, rng=Generator(0)), ReLU(), Linear(32, 10, rng=Generator(1)))
estimate, numbers = 64 * 32 + 32 + 32 * 10 + 10, sum(p.numel() for p in digits.parameters())
estimate, numbers, sum(p.nbytes for p in digits.parameters()), sum(a.nbytes for a in digits.state_dict().values())

# %% [markdown]
# Four bytes a number, and the state, being a copy, as much again. Every step also makes a result, for every sample:

# %%
h, sizes = Tensor(np.zeros((32, 64))), []
for step in digits.steps:
    h = step(h)  # (B, 32), (B, 32), (B, 10)
    sizes.append(h.nbytes)
sizes, 4 * 32 * (32 + 32 + 10)

# %% [markdown]
# For 32 pictures the results, called activations, weigh about as much as all parameters. From lesson 06 on they are
# kept until the way back has used them:
#
# ![Activations grow with the batch and soon outweigh the parameters, which do not grow](figures/03_memory.svg)

# %% [markdown]
# Time goes the other way. How many times cheaper is a picture among 256 than a picture alone?

# %%
def seconds(work):
    return min(repeat(work, number=20, repeat=5)) / 20


one, many = Tensor(np.zeros((1, 64))), Tensor(np.zeros((256, 64)))
round(256 * seconds(lambda: digits(one)) / seconds(lambda: digits(many)))

# %% [markdown]
# Many times: alone, nearly all time goes into calls of Python. And the loops from the top, beside the operation?

# %%
rows, first = Tensor(Generator(2).normal(0.0, 1.0, (32, 64))), digits[0]
plain = [rows.data.tolist(), first.weight.data.tolist(), first.bias.data.tolist()]
same = np.allclose(slowly(*plain), first(rows).data, atol=1e-5)
same, round(seconds(lambda: slowly(*plain)) / seconds(lambda: first(rows)))

# %% [markdown]
# The same numbers, in a small part of the time: one call into a compiled product instead of `32*32*64` steps of Python.

# %% [markdown]
# ## Think
#
# **Think** Why does `weight` lie as (out, in), though every product then has to turn it?
# <details><summary>Answer</summary>A row is then one neuron, all its weights side by side in memory. Turning costs
# nothing: a transpose is a view.</details>

# %% [markdown]
# **Think** One `Linear(64, 64)` stands twice in a Sequential. How many numbers has it to train, how many does its state
# hold, and does loading that state still work?
# <details><summary>Answer</summary>`64*64 + 64` are trained, since a shared parameter is named once. The state holds
# twice as many, one copy under each name; loading writes the same array twice, with equal numbers.</details>

# %% [markdown]
# **Think** Somebody forgets `eval()` before measuring a network with Dropout. What does the measurement look like?
# <details><summary>Answer</summary>It differs from call to call, and is worse than the network: neurons are missing.
# No error is raised.</details>

# %% [markdown]
# **Think** What does a buffer do in the state, if nobody trains it?
# <details><summary>Answer</summary>It holds what a layer has counted or measured so far, such as a running mean.
# A model restored without it would answer otherwise.</details>

# %% [markdown]
# **Think** A state fits but for one name. Why not copy what fits, and warn?
# <details><summary>Answer</summary>The model would be half old and half new: a network that nobody trained. It answers,
# and its answers are wrong in silence.</details>

# %% [markdown]
# ## What you built
#
# Layers that hold their numbers, and a tree that finds, names, counts, switches, saves and restores them. It cost four
# bytes a parameter, four more in every saved state, and activations that grow with the batch.
#
# Not built: hooks, because nothing in this course listens in; devices, because NumPy has one; a ModuleList, because
# Sequential does; convolutions, because digits of 8 by 8 do without. Next, lesson 04 measures how wrong an answer is.
