# ruff: noqa
# fmt: off

# %% exercise="affine" answer="does not transpose the weight"
class Affine(Operation):
    """Weighted sums of the inputs, plus a bias. `(..., in), (out, in), (out,) -> (..., out)`

    Raises ValueError when the last size of x is not `in`, or the bias is not `(out,)`, and names both shapes.
    About 8 lines.
    """

    def forward(self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        if x.shape[-1:] != weight.shape[1:]:
            raise ValueError(f"Affine: x {x.shape} does not fit weight {weight.shape}")
        if bias is not None and bias.shape != (weight.shape[0],):
            raise ValueError(f"Affine: bias {bias.shape} does not fit weight {weight.shape}")
        out = x @ weight
        if bias is not None:
            out = out + bias
        return out


# %% exercise="linear" answer="the range of the random numbers goes by the outputs instead of the inputs"
class Linear(Module):
    """Weighted sums of the inputs, plus a bias. `(..., in_features) -> (..., out_features)`

    `weight` `(out, in)` and `bias` `(out,)`, or None, are drawn from `rng`, uniform within 1/sqrt(in_features) of zero
    (PyTorch's default; LeCun, Bottou, Orr and Mueller, "Efficient BackProp", 1998, on why the size matters).
    About 6 lines.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, rng: Generator) -> None:
        self.in_features, self.out_features = in_features, out_features
        shape = (out_features, in_features)
        k = 1 / math.sqrt(shape[0])
        self.weight = Parameter(rng.uniform(-k, k, shape))
        if bias:
            self.bias = Parameter(rng.uniform(-k, k, (out_features,)))
        else:
            self.bias = None

    def forward(self, x: Tensor) -> Tensor:
        if self.bias is None:
            return Affine()(x, self.weight)
        return Affine()(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


# %% exercise="train" answer="reaches only the modules directly inside, not those below them"
@patch
def train(self: Module, mode: bool = True) -> Module:
    """Set `training` on this module and all below, return the module. About 3 lines."""
    self.training = mode
    for child in self.children():
        child.training = mode
    return self


@patch
def eval(self: Module) -> Module:
    """The opposite of `train()`: the network is used. About 1 line."""
    return self.train(False)


# %% exercise="dropout" answer="does not scale what is kept while training, but scales by 1-p when the network is used"
class Dropout(Module):
    """Zeros with chance `p` while training, the rest scaled by 1/(1-p). `(...) -> (...)`

    What to keep is drawn by `rng.bernoulli`. Without training, or for p = 0, the input comes back and nothing is drawn.
    Raises ValueError unless p is from 0 to 1. Source: Srivastava and others, JMLR 15, 2014.
    About 7 lines.
    """

    def __init__(self, p: float = 0.5, *, rng: Generator) -> None:
        if p < 0 or p > 1:
            raise ValueError(f"Dropout: p must be from 0 to 1, got {p}")
        self.p, self.rng = p, rng

    def forward(self, x: Tensor) -> Tensor:
        if self.p == 0:
            return x
        if not self.training:
            return x * (1 - self.p)
        mask = self.rng.bernoulli(1 - self.p, x.shape)
        return x * Tensor(mask)

    def extra_repr(self) -> str:
        return f"p={self.p}"


# %% exercise="load_state_dict" answer="copies as it goes along, so a state that does not fit is half loaded and only its first fault told"
@patch
def load_state_dict(self: Module, state: dict[str, Any]) -> None:
    """Copy what `state_dict` gave back into the arrays of the parameters and buffers (`.data`), in place.

    Raises ValueError, with nothing changed, that tells every missing or unexpected name, wrong shape and dtype.
    About 8 lines.
    """
    own = dict(self.named_tensors())
    for name in own:
        if name not in state:
            raise ValueError(f"missing: {name}")
        problem = misfit(name, state[name], own[name])
        if problem:
            raise ValueError(problem)
        own[name].data[...] = state[name]
    for name in state:
        if name not in own:
            raise ValueError(f"unexpected: {name}")
