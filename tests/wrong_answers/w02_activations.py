# ruff: noqa
# fmt: off

# %% exercise="relu" answer="np.max where np.maximum is meant: 0 is taken as the axis"
class ReLU(Operation):
    """Every number below 0 becomes 0, the others stay. `(...) -> (...)`, float

    Integers give float32. The input array is left as it was.
    About 1 line.
    """

    def forward(self, a: np.ndarray) -> np.ndarray:
        return np.max(floating(a), 0)


# %% exercise="sigmoid" answer="picks the safe formula with np.where, which computes both sides and so still overflows"
class Sigmoid(Operation):
    """Logistic curve, 1 / (1 + exp(-x)). `(...) -> (...)`, float between 0 and 1

    Never overflows, and keeps its precision for large negative numbers. Integers give float32.
    About 2 lines.
    """

    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        # first formula where x is positive, second one where it is negative
        return np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(x) / (np.exp(x) + 1))


# %% exercise="gelu" answer="multiplies only x by sqrt(2/pi), the cube is outside of the parenthesis"
class GELU(Operation):
    """Every number times the chance that a normal one lies below it, by tanh. `(...) -> (...)`, float

    Raises ValueError for another `approximate` than 'tanh'. Integers give float32.
    After Hendrycks and Gimpel, "Gaussian error linear units" (2016).
    About 3 lines.
    """

    def __init__(self, approximate: str = "tanh") -> None:
        if approximate != "tanh":
            raise ValueError(f"GELU: only approximate='tanh' is built, got {approximate!r}; leave the argument out")

    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        inner = math.sqrt(2 / math.pi) * x + 0.044715 * x * x * x
        return 0.5 * x * (1 + np.tanh(inner))


# %% exercise="softmax" answer="keepdims only for the largest, missing in the sum that it divides by"
class Softmax(Operation):
    """Shares along `dim`: exp of every score over the sum of exps. `(B, C) -> (B, C)`, float, sums to 1

    Never overflows: each row's largest score is subtracted first. Integers give float32.
    About 3 lines.
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, a: np.ndarray) -> np.ndarray:
        a = floating(a)
        e = np.exp(a - a.max(axis=self.dim, keepdims=True))
        return e / e.sum(axis=self.dim)


# %% exercise="log_softmax" answer="subtracts the largest inside the sum only, not from x itself"
class LogSoftmax(Operation):
    """Logarithm of the shares along `dim`: x - log(sum of exp(x)). `(B, C) -> (B, C)`, float, none above 0

    Never overflows, and never gives -inf for finite scores. Integers give float32.
    About 3 lines.
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        biggest = np.max(x, axis=self.dim, keepdims=True)
        return x - np.log(np.sum(np.exp(x - biggest), axis=self.dim, keepdims=True))
