# ruff: noqa
# fmt: off

# %% exercise="create" answer="turns everything into float32, integers and booleans too"
def to_array(data: Any, dtype: Any = None) -> np.ndarray:
    """A new array of the numbers in `data`: nested lists, a number, an array or a tensor.

    Floats become float32 unless `dtype` is given (PyTorch keeps a NumPy array's float64); integers and booleans stay.
    Raises TypeError when the data are not numbers.
    About 6 lines.
    """
    if isinstance(data, Tensor):
        data = data.data
    if dtype is None:
        dtype = np.float32
    try:
        return np.array(data, dtype=dtype)
    except ValueError:
        raise TypeError("the data are not numbers")


# %% exercise="divide" answer="applies floating to the quotient, which is float64 by then, instead of to the integers"
class Div(Operation):
    """Quotient of two, always a float. `(...), (...) -> (...)`, shapes broadcast. About 1 line."""

    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return floating(a / b)


# %% exercise="matmul" answer="compares the last sizes of both sides instead of the last of a with the last but one of b"
class MatMul(Operation):
    """Matrix product. `(..., n, k) @ (..., k, m) -> (..., n, m)`

    Raises ValueError when a side has under 2 dimensions, or when the inner sizes differ, and says which.
    About 5 lines.
    """

    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.ndim < 2 or b.ndim < 2:
            raise ValueError(f"matmul needs matrices on both sides, got {a.ndim} and {b.ndim} dimensions")
        if a.shape[-1] != b.shape[-1]:
            raise ValueError(f"matmul: sizes {a.shape[-1]} and {b.shape[-1]} don't fit")
        return np.matmul(a, b)


# %% exercise="mean" answer="divides by the count of all numbers, whatever dim is"
class Mean(Operation):
    """Mean over `dim`. `(n, m)` over dim 0 gives `(m,)`

    Raises TypeError for integers. The mean of nothing is nan, without a warning.
    About 5 lines.
    """

    def __init__(self, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> None:
        self.dim, self.keepdim = dim, keepdim

    def forward(self, a: np.ndarray) -> np.ndarray:
        if a.dtype.kind != "f":
            raise TypeError(f"mean: needs floats, got {a.dtype}")
        total = a.sum(axis=self.dim, keepdims=self.keepdim)
        count = a.size
        with np.errstate(invalid="ignore", divide="ignore"):
            return (total / count).astype(a.dtype)


# %% exercise="transpose" answer="exchanges without keeping the first value, so one dimension is lost and the other there twice"
@patch
def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged, by `permute`. `(a, b, c)` with dims 0 and 2 gives `(c, b, a)`. About 3 lines."""
    dims = list(range(self.ndim))
    dims[dim0] = dims[dim1]
    dims[dim1] = dims[dim0]
    return self.permute(*dims)
