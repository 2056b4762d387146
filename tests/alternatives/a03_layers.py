# ruff: noqa
# Other right answers to lesson 03, by people who read only the stubs.

# %% exercise="affine" answer="einsum"
class Affine(Operation):
    def forward(self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        if x.ndim == 0 or x.shape[-1] != weight.shape[1]:
            raise ValueError(f"weight {weight.shape} cannot weigh an input of shape {x.shape}")
        out = np.einsum("...i,oi->...o", x, weight)
        if bias is not None:
            if bias.shape != (weight.shape[0],):
                raise ValueError(f"weight {weight.shape} has {len(weight)} outputs, not a bias like {bias.shape}")
            out = out + bias
        return out


# %% exercise="affine" answer="one output after the other"
class Affine(Operation):
    def forward(self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        n_out, n_in = weight.shape
        if bias is None:
            bias = np.zeros(n_out, dtype=x.dtype)
        if bias.shape != (n_out,):
            raise ValueError(f"Affine: wrong bias: {bias.shape} where weight is {weight.shape}")
        if not x.shape or x.shape[-1] != n_in:
            raise ValueError(f"Affine: got x of shape {x.shape} for a weight of shape {weight.shape}")
        columns = [(x * row).sum(axis=-1) + b for row, b in zip(weight, bias)]
        return np.stack(columns, axis=-1)


# %% exercise="named_parameters" answer="a dict by identity"
@patch
def named_parameters(self: Module) -> Iterator[tuple[str, Parameter]]:
    first: dict[int, tuple[str, Parameter]] = {}
    for name, tensor in self.named_tensors():
        if isinstance(tensor, Parameter):
            first.setdefault(id(tensor), (name, tensor))
    return iter(first.values())


# %% exercise="named_parameters" answer="walks by itself"
@patch
def named_parameters(self: Module) -> Iterator[tuple[str, Parameter]]:
    given: list[Parameter] = []
    for path, module in self.walk():
        own = [(name, value) for name, value in module.__dict__.items() if isinstance(value, Parameter)]
        for name, value in own:
            if not any(value is other for other in given):
                given.append(value)
                yield f"{path}{name}", value


# %% exercise="linear" answer="draws from 0 to 1 and stretches"
class Linear(Module):
    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, rng: Generator) -> None:
        self.in_features, self.out_features = in_features, out_features
        size = in_features**-0.5
        self.weight = Parameter((2 * rng.uniform(0, 1, (out_features, in_features)) - 1) * size)
        self.bias = None
        if bias:
            self.bias = Parameter((2 * rng.uniform(0, 1, out_features) - 1) * size)

    def forward(self, x: Tensor) -> Tensor:
        inputs = [x, self.weight] if self.bias is None else [x, self.weight, self.bias]
        return Affine()(*inputs)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


# %% exercise="linear" answer="draws all numbers at once"
class Linear(Module):
    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, rng: Generator) -> None:
        self.in_features, self.out_features = in_features, out_features
        bound = 1.0 / np.sqrt(in_features)
        numbers = rng.uniform(-bound, bound, (out_features, in_features + 1))
        self.weight = Parameter(numbers[:, :-1])
        self.bias = Parameter(numbers[:, -1]) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        result = Affine().apply(x, self.weight)
        return result if self.bias is None else result + self.bias

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


# %% exercise="sequential" answer="reduce and a list"
from functools import reduce


class Sequential(Module):
    def __init__(self, *steps: Callable[..., Tensor]) -> None:
        for position, step in enumerate(steps):
            if isinstance(step, type) or not callable(step):
                wanted = f"write {step.__name__}()" if isinstance(step, type) else "give a layer or a function"
                raise TypeError(f"Sequential: step {position} is {step!r}; {wanted}")
        self.steps = steps

    def forward(self, x: Tensor) -> Tensor:
        return reduce(lambda value, step: step(value), self.steps, x)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        return iter([(str(i), step) for i, step in enumerate(self.steps) if isinstance(step, Module)])


# %% exercise="sequential" answer="by index and by recursion"
class Sequential(Module):
    def __init__(self, *steps: Callable[..., Tensor]) -> None:
        for position, step in enumerate(steps):
            if isinstance(step, type) or not callable(step):
                wanted = f"write {step.__name__}()" if isinstance(step, type) else "give a layer or a function"
                raise TypeError(f"Sequential: step {position} is {step!r}; {wanted}")
        self.steps = steps

    def forward(self, x: Tensor) -> Tensor:
        return self._from(0, x)

    def _from(self, position: int, x: Tensor) -> Tensor:
        if position == len(self.steps):
            return x
        return self._from(position + 1, self.steps[position](x))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        for i in range(len(self.steps)):
            if not isinstance(self.steps[i], Module):
                continue
            yield f"{i}", self.steps[i]


# %% exercise="train" answer="recursion"
@patch
def train(self: Module, mode: bool = True) -> Module:
    self.training = mode
    for child in self.children():
        child.train(mode)
    return self


@patch
def eval(self: Module) -> Module:
    self.train(mode=False)
    return self


# %% exercise="train" answer="setattr over the walk"
@patch
def train(self: Module, mode: bool = True) -> Module:
    for _, module in self.walk():
        setattr(module, "training", mode)
    return self


@patch
def eval(self: Module) -> Module:
    for module in list(self.modules()):
        module.training = False
    return self


# %% exercise="dropout" answer="divides by the chance to stay"
class Dropout(Module):
    def __init__(self, p: float = 0.5, *, rng: Generator) -> None:
        if p < 0 or p > 1:
            raise ValueError(f"Dropout wants a probability between zero and one, not {p}")
        self.p, self.rng = p, rng

    def forward(self, x: Tensor) -> Tensor:
        if self.training and self.p > 0:
            if self.p == 1:
                return x * 0
            stays = self.rng.bernoulli(1 - self.p, x.shape)
            return x * Tensor(stays, dtype=x.dtype) / (1 - self.p)
        return x

    def extra_repr(self) -> str:
        return f"p={self.p}"


# %% exercise="dropout" answer="draws what to drop"
class Dropout(Module):
    def __init__(self, p: float = 0.5, *, rng: Generator) -> None:
        if not (p >= 0 and p <= 1):
            raise ValueError("p out of range: " + repr(p))
        self.p, self.rng = p, rng

    def forward(self, x: Tensor) -> Tensor:
        if self.p == 0 or self.training is False:
            return x
        dropped = self.rng.bernoulli(self.p, x.shape)
        factor = np.where(dropped, 0.0, 1 / (1 - self.p) if self.p < 1 else 0.0)
        return x * factor.astype(x.dtype)

    def extra_repr(self) -> str:
        return f"p={self.p}"


# %% exercise="state_dict" answer="a loop"
@patch
def state_dict(self: Module) -> dict[str, np.ndarray]:
    state = {}
    for name, tensor in self.named_tensors():
        state[name] = np.array(tensor.data)
    return state


# %% exercise="state_dict" answer="deep copies"
import copy


@patch
def state_dict(self: Module) -> dict[str, np.ndarray]:
    tensors = dict(self.named_tensors())
    return dict(zip(tensors, copy.deepcopy([tensor.numpy() for tensor in tensors.values()])))


# %% exercise="load_state_dict" answer="sets of names"
@patch
def load_state_dict(self: Module, state: dict[str, Any]) -> None:
    own = dict(self.named_tensors())
    problems = []
    if own.keys() - state.keys():
        problems.append("missing: " + ", ".join(sorted(own.keys() - state.keys())))
    if state.keys() - own.keys():
        problems.append("not in this model: " + ", ".join(sorted(state.keys() - own.keys())))
    for name in own.keys() & state.keys():
        problem = misfit(name, state[name], own[name])
        if problem is not None:
            problems.append(problem)
    if problems:
        raise ValueError("load_state_dict: " + "\n".join(problems))
    for name in own:
        np.copyto(own[name].data, state[name])


# %% exercise="load_state_dict" answer="compares by itself and lists all names"
@patch
def load_state_dict(self: Module, state: dict[str, Any]) -> None:
    wrong = ""
    targets = list(self.named_tensors())
    names = [name for name, _ in targets]
    for name in set(state).difference(names):
        wrong += f" {name!r} should not be there, the model has {names}."
    for name, tensor in targets:
        if name not in state:
            wrong += f" {name!r} is not in the state."
            continue
        array = np.asarray(state[name])
        if tensor.shape != array.shape:
            wrong += f" {name!r} needs shape {tensor.shape} but the state has {array.shape}."
        elif tensor.dtype != array.dtype:
            wrong += f" {name!r} needs {tensor.dtype} but the state has {array.dtype}."
    if wrong:
        raise ValueError("cannot load." + wrong)
    for name, tensor in targets:
        tensor.data.flat = np.ravel(state[name])
