# ruff: noqa
# Other right answers to lesson 01, by people who read only the stubs.

# %% exercise="create" answer="copies first, then converts"
def to_array(data: Any, dtype: Any = None) -> np.ndarray:
    array = np.array(data)
    if not (np.issubdtype(array.dtype, np.bool_) or np.issubdtype(array.dtype, np.number)):
        raise TypeError(f"cannot make a tensor of {array.dtype}, give it ints or floats")
    if dtype is not None:
        return array.astype(dtype)
    if np.issubdtype(array.dtype, np.floating):
        return array.astype("float32")
    return array


# %% exercise="create" answer="chooses the dtype in a helper"
def wanted_dtype(found: np.dtype, asked: Any) -> np.dtype:
    if found.kind in "OSUMmV":
        raise TypeError("Tensor takes numeric data only, but got " + str(found))
    if asked is not None:
        return np.dtype(asked)
    return np.dtype(np.float32) if found.kind == "f" else found


def to_array(data: Any, dtype: Any = None) -> np.ndarray:
    source = np.asarray(data)
    result = np.empty(source.shape, dtype=wanted_dtype(source.dtype, dtype))
    result[...] = source
    return result


# %% exercise="facts" answer="from the shape"
@patch(property)
def ndim(self: Tensor) -> int:
    return len(self.shape)


@patch
def numel(self: Tensor) -> int:
    return math.prod(self.shape)


@patch(property)
def nbytes(self: Tensor) -> int:
    return self.numel() * self.dtype.itemsize


# %% exercise="facts" answer="by counting"
@patch(property)
def ndim(self: Tensor) -> int:
    return np.ndim(self.data)


@patch
def numel(self: Tensor) -> int:
    count = 1
    for size in self.data.shape:
        count *= size
    return count


@patch(property)
def nbytes(self: Tensor) -> int:
    return len(self.data.tobytes())


# %% exercise="arithmetic" answer="named functions"
class Sub(Operation):
    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.subtract(a, b)


class Mul(Operation):
    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.multiply(a, b)


class Neg(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        return np.negative(a)


# %% exercise="arithmetic" answer="number by number"
class Sub(Operation):
    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a, b = np.broadcast_arrays(a, b)
        result = np.empty(a.shape, dtype=a.dtype)
        for place in np.ndindex(a.shape):
            result[place] = a[place] - b[place]
        return result


class Mul(Operation):
    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.einsum("...,...->...", a, b)


class Neg(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        return np.zeros_like(a) - a


# %% exercise="divide" answer="times the reciprocal"
class Div(Operation):
    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return floating(a) * (1 / floating(b))


# %% exercise="divide" answer="asks NumPy for the dtype"
class Div(Operation):
    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        dtype = a.dtype if a.dtype.kind == "f" else np.dtype(np.float32)
        return np.true_divide(a, b, dtype=dtype, casting="unsafe")


# %% exercise="curves" answer="other bases"
class Exp(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        return np.exp2(floating(a) * (1 / math.log(2)))


class Log(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        return np.log2(floating(a)) * math.log(2)


class Sqrt(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        return floating(a) ** 0.5


# %% exercise="curves" answer="math, number by number"
def each(function: Callable[[float], float], a: np.ndarray) -> np.ndarray:
    result = np.empty_like(floating(a))
    for place, value in np.ndenumerate(a):
        result[place] = function(float(value))
    return result


class Exp(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        return each(math.exp, a)


class Log(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        return each(math.log, a)


class Sqrt(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        return each(math.sqrt, a)


# %% exercise="matmul" answer="einsum"
class MatMul(Operation):
    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        for side, array in (("left", a), ("right", b)):
            if array.ndim < 2:
                raise ValueError(f"matmul: the {side} side is no matrix, its shape is {array.shape}")
        if a.shape[-1] != b.shape[-2]:
            raise ValueError(f"matmul: {a.shape[-1]} columns on the left do not meet {b.shape[-2]} rows on the right")
        return np.einsum("...nk,...km->...nm", a, b)


# %% exercise="matmul" answer="sum of outer products"
class MatMul(Operation):
    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if min(a.ndim, b.ndim) < 2:
            raise ValueError(f"need two matrices but got shapes {a.shape} and {b.shape}")
        if b.shape[-2] != a.shape[-1]:
            raise ValueError(f"cannot multiply: shapes {b.shape} (right) and {a.shape} (left)")
        return (a[..., :, :, None] * b[..., None, :, :]).sum(axis=-2, dtype=a.dtype)


# %% exercise="mean" answer="counts along dim"
class Mean(Operation):
    def __init__(self, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> None:
        self.dim, self.keepdim = dim, keepdim

    def forward(self, a: np.ndarray) -> np.ndarray:
        if a.dtype.kind in "biu":
            raise TypeError(f"mean: the average of {a.dtype} is no {a.dtype}")
        dims = range(a.ndim) if self.dim is None else np.atleast_1d(self.dim)
        count = math.prod(a.shape[d] for d in dims)
        if count == 0:
            return np.sum(a, axis=self.dim, keepdims=self.keepdim) + np.asarray(np.nan, a.dtype)
        return np.sum(a, axis=self.dim, keepdims=self.keepdim) * (1 / count)


# %% exercise="mean" answer="NumPy's own, in float64"
import warnings


class Mean(Operation):
    def __init__(self, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> None:
        self.dim, self.keepdim = dim, keepdim

    def forward(self, a: np.ndarray) -> np.ndarray:
        if not np.issubdtype(a.dtype, np.floating):
            raise TypeError("Integers have no mean here. Convert them first.")
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return np.mean(a, axis=self.dim, keepdims=self.keepdim, dtype=np.float64).astype(a.dtype)


# %% exercise="max" answer="reduce"
class Max(Operation):
    def __init__(self, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> None:
        self.dim, self.keepdim = dim, keepdim

    def forward(self, a: np.ndarray) -> np.ndarray:
        if 0 in a.shape:
            raise ValueError(f"amax: the tensor of shape {a.shape} is empty")
        return np.maximum.reduce(a, axis=self.dim, keepdims=self.keepdim)


@patch
def argmax(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    if 0 in self.shape:
        raise ValueError(f"argmax: the tensor of shape {self.shape} is empty")
    where = self.data.argmax(axis=dim)
    if keepdim:
        where = np.reshape(where, (1,) * self.data.ndim) if dim is None else np.expand_dims(where, dim)
    return Tensor(where)


# %% exercise="max" answer="minus the least of the negatives"
class Max(Operation):
    def __init__(self, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> None:
        self.dim, self.keepdim = dim, keepdim

    def forward(self, a: np.ndarray) -> np.ndarray:
        dims = tuple(range(a.ndim)) if self.dim is None else self.dim if isinstance(self.dim, tuple) else (self.dim,)
        if any(a.shape[d] == 0 for d in dims):
            raise ValueError("There is no largest number among zero numbers!")
        for d in sorted((d % a.ndim for d in dims), reverse=True):
            last = np.moveaxis(a, d, -1)
            ordered = np.sort(last, axis=-1)[..., -1:]
            a = np.moveaxis(ordered, -1, d)
        if self.keepdim:
            return a
        return a.reshape([size for i, size in enumerate(a.shape) if i not in [d % a.ndim for d in dims]])


@patch
def argmax(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    if self.numel() == 0:
        raise ValueError("There is no largest number among zero numbers!")
    a = self.data.reshape(-1) if dim is None else np.moveaxis(self.data, dim, -1)
    found = np.zeros(a.shape[:-1], dtype=np.int64)
    for place in np.ndindex(a.shape[:-1]):
        row = a[place].tolist()
        found[place] = row.index(sorted(row)[-1])
    if keepdim:
        found = found.reshape([1] * self.data.ndim) if dim is None else np.expand_dims(found, dim)
    return Tensor(found)


# %% exercise="reshape" answer="works out -1 by itself"
class Reshape(Operation):
    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def forward(self, a: np.ndarray) -> np.ndarray:
        known = math.prod(size for size in self.shape if size != -1)
        fits = known == a.size if -1 not in self.shape else known > 0 and a.size % known == 0
        if not fits:
            raise ValueError(f"{self.shape} does not hold the numbers of {a.shape}")
        return np.reshape(a, self.shape)


# %% exercise="reshape" answer="catches and says more"
class Reshape(Operation):
    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def forward(self, a: np.ndarray) -> np.ndarray:
        result = a.view()
        try:
            result = np.reshape(result, self.shape, order="C")
        except ValueError as error:
            raise ValueError(f"reshape to {tuple(self.shape)} from {tuple(a.shape)}: {error}") from error
        return result


# %% exercise="permute" answer="moveaxis"
class Permute(Operation):
    def __init__(self, dims: tuple[int, ...]) -> None:
        self.dims = dims

    def forward(self, a: np.ndarray) -> np.ndarray:
        named = {dim + a.ndim if dim < 0 else dim for dim in self.dims}
        if len(self.dims) != a.ndim or named != set(range(a.ndim)):
            raise ValueError(f"permute: {self.dims} is no order of dimensions 0 to {a.ndim - 1}")
        return np.moveaxis(a, self.dims, range(a.ndim))


# %% exercise="permute" answer="einsum"
class Permute(Operation):
    def __init__(self, dims: tuple[int, ...]) -> None:
        self.dims = dims

    def forward(self, a: np.ndarray) -> np.ndarray:
        axes = list(range(a.ndim))
        try:
            order = [axes[dim] for dim in self.dims]
        except IndexError:
            raise ValueError(
                f"permute: {self.dims} names a dimension that a tensor of {a.ndim} does not have"
            ) from None
        if sorted(order) != axes:
            raise ValueError(f"permute: got dims {self.dims} for {a.ndim} dimensions")
        return np.einsum(a, axes, order)


# %% exercise="transpose" answer="a dict of exchanges"
@patch
def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    n = self.ndim
    exchange = {dim0 % n: dim1 % n, dim1 % n: dim0 % n}
    return self.permute(tuple(exchange.get(i, i) for i in range(n)))


# %% exercise="transpose" answer="swaps an array of numbers"
@patch
def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    order = np.arange(self.ndim)
    order[[dim0, dim1]] = order[[dim1, dim0]]
    return self.permute(*order.tolist())


# %% exercise="accuracy" answer="counts in a loop"
def accuracy(scores: Tensor, labels: Tensor) -> float:
    right = 0
    for row, label in zip(scores, labels):
        right += row.argmax().item() == label.item()
    return right / len(scores)


# %% exercise="accuracy" answer="picks the label's score"
def accuracy(scores: Tensor, labels: Tensor) -> float:
    answers = np.argmax(scores.data, axis=1)
    return np.count_nonzero(answers == labels.data) / answers.size
