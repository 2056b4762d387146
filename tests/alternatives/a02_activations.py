# ruff: noqa
# Other right answers to lesson 02, by people who read only the stubs.

# %% exercise="relu" answer="writes zeros into a copy"
class ReLU(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        result = floating(a).copy()
        result[result < 0] = 0
        return result


# %% exercise="relu" answer="where"
class ReLU(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        return np.where(a < 0, 0, floating(a))


# %% exercise="relu" answer="clip"
class ReLU(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        return np.clip(floating(a), 0, None)


# %% exercise="sigmoid" answer="two formulas, one for each sign"
class Sigmoid(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        result = np.empty_like(x)
        high = x >= 0
        result[high] = 1 / (1 + np.exp(-x[high]))
        grown = np.exp(x[~high])
        result[~high] = grown / (grown + 1)
        return result


# %% exercise="sigmoid" answer="by logaddexp"
class Sigmoid(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        return np.exp(-np.logaddexp(0, -x))


# %% exercise="sigmoid" answer="where, on the size"
class Sigmoid(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        small = np.exp(-np.abs(x))
        return np.where(x < 0, small, np.ones_like(small)) / (1 + small)


# %% exercise="gelu" answer="as a sigmoid"
class GELU(Operation):
    def __init__(self, approximate: str = "tanh") -> None:
        if approximate != "tanh":
            raise ValueError(f"GELU: only approximate='tanh' is built, got {approximate!r}; leave the argument out")

    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        twice = 2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return x * Sigmoid().forward(twice)


# %% exercise="gelu" answer="factored, with a constant beside it"
SLOPE = (2 / math.pi) ** 0.5


class GELU(Operation):
    def __init__(self, approximate: str = "tanh") -> None:
        if approximate != "tanh":
            raise ValueError(f"GELU: only approximate='tanh' is built, got {approximate!r}; leave the argument out")

    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        bent = np.tanh(SLOPE * x * (1 + 0.044715 * np.square(x)))
        return (x + x * bent) / 2


# %% exercise="softmax" answer="exp of the logarithm"
class Softmax(Operation):
    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        x = x - np.max(x, axis=self.dim, keepdims=True)
        return np.exp(x - np.logaddexp.reduce(x, axis=self.dim, keepdims=True))


# %% exercise="softmax" answer="row by row"
class Softmax(Operation):
    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, a: np.ndarray) -> np.ndarray:
        result = floating(a).copy()
        rows = np.moveaxis(result, self.dim, -1)
        for place in np.ndindex(rows.shape[:-1]):
            row = rows[place]
            row -= max(row)
            np.exp(row, out=row)
            row /= sum(row)
        return result


# %% exercise="log_softmax" answer="logaddexp"
class LogSoftmax(Operation):
    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        return x - np.logaddexp.reduce(x, axis=self.dim, keepdims=True)


# %% exercise="log_softmax" answer="subtracts largest and logarithm at once"
class LogSoftmax(Operation):
    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        top = np.amax(x, axis=self.dim, keepdims=True)
        return x - (top + np.log(np.exp(x - top).sum(axis=self.dim, keepdims=True)))


# %% exercise="log_softmax" answer="in float64, one row after the other"
class LogSoftmax(Operation):
    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        result = np.zeros(x.shape, dtype=x.dtype)
        rows, out = np.moveaxis(x, self.dim, 0), np.moveaxis(result, self.dim, 0)
        for place in np.ndindex(rows.shape[1:]):
            column = [float(value) for value in rows[(slice(None), *place)]]
            top = max(column)
            total = math.log(sum(math.exp(value - top) for value in column))
            out[(slice(None), *place)] = [value - top - total for value in column]
        return result
