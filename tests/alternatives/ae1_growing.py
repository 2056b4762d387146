# ruff: noqa
# Other right answers to lesson e1, written from the stubs.

# %% exercise="expand" answer="filled column by column"
def expand(u: np.ndarray, v: np.ndarray, kind: str) -> np.ndarray:
    count = TERMS.get(kind)
    if count is None:
        raise ValueError("no family " + repr(kind) + "; there are " + ", ".join(TERMS))
    powers = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (3, 0), (0, 3)]
    result = np.empty((*u.shape, count))
    for column, (a, b) in enumerate(powers[:count]):
        result[..., column] = u**a * v**b
    return result


# %% exercise="expand" answer="families by name"
def expand(u: np.ndarray, v: np.ndarray, kind: str) -> np.ndarray:
    def terms() -> list[np.ndarray]:
        found = [u * 0 + 1, u, v]
        if kind != "linear":
            found.append(u * v)
        if kind in ("quadratic", "cubic"):
            found.extend([u**2, v**2])
        if kind == "cubic":
            found.extend([u**3, v**3])
        return found

    if kind not in ("linear", "linear_cov", "quadratic", "cubic"):
        raise ValueError(f"kind is {kind}, not one of linear, linear_cov, quadratic, cubic")
    return np.moveaxis(np.array(terms()), 0, -1)


# %% exercise="fit_candidates" answer="einsum"
def fit_candidates(terms: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    gram = np.einsum("pni,pnj->pij", terms, terms)
    diagonal = np.arange(terms.shape[-1])
    gram[:, diagonal, diagonal] += ridge * terms.shape[1]
    moments = np.einsum("pni,n->pi", terms, y)
    return np.linalg.solve(gram, moments[..., None]).squeeze(-1)


# %% exercise="fit_candidates" answer="with swapaxes and columns"
def fit_candidates(terms: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    rows, count = terms.shape[1:]
    targets = y.reshape(-1, 1)
    left = np.swapaxes(terms, 1, 2)
    damping = np.diag(np.full(count, ridge * rows))
    solved = np.linalg.solve(np.matmul(left, terms) + damping, np.matmul(left, targets))
    return solved.reshape(len(terms), count)


# %% exercise="regularity" answer="means and variance"
def regularity(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    missed = np.mean(np.square(y - predictions), axis=-1)
    share = missed / np.var(y)
    share[~np.isfinite(share)] = float("inf")
    return share


# %% exercise="regularity" answer="einsum and nan_to_num"
def regularity(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    differences = predictions - y[None, :]
    around = y - np.average(y)
    return np.nan_to_num(
        np.einsum("pn,pn->p", differences, differences) / around.dot(around), nan=np.inf, posinf=np.inf
    )


# %% exercise="select" answer="Python's own sort"
def select(errors: np.ndarray, keep: int) -> np.ndarray:
    possible = [number for number, error in enumerate(errors.tolist()) if abs(error) < float("inf")]
    return np.array(sorted(possible, key=errors.__getitem__)[:keep], dtype=np.int64)


# %% exercise="select" answer="lexsort of those that are finite"
def select(errors: np.ndarray, keep: int) -> np.ndarray:
    finite = np.flatnonzero(np.isfinite(errors))
    order = np.lexsort((finite, errors[finite]))
    return finite[order[:keep]]


# %% exercise="rule" answer="margin first"
class GrowthRule:
    def __init__(self, width: int, eps: float, min_delta: float) -> None:
        self.width, self.eps, self.min_delta = width, eps, min_delta
        self.kept = -1
        self.accepted = self.best = np.inf
        self.waited = 0

    def update(self, layer: int, error: float) -> bool:
        if layer > 0:
            margin = self.eps * self.best
            if margin < self.min_delta:
                margin = self.min_delta
            if not self.accepted - error >= margin:
                self.waited = self.waited + 1
                if error < self.best:
                    self.best = error
                return self.waited == self.width
        self.kept = layer
        self.accepted = error
        self.best = min(error, self.best)
        self.waited = 0
        return False


# %% exercise="rule" answer="remembers all errors"
class GrowthRule:
    def __init__(self, width: int, eps: float, min_delta: float) -> None:
        self.width, self.eps, self.min_delta = width, eps, min_delta
        self.kept, self.errors = -1, []

    def update(self, layer: int, error: float) -> bool:
        if not self.errors:
            good = True
        else:
            lowest = min([e for e in self.errors if e == e], default=np.inf)
            step = self.errors[self.kept] - error
            good = bool(step >= self.min_delta) and bool(step >= self.eps * lowest)
        self.errors.append(error)
        if good:
            self.kept = layer
        return layer - self.kept >= self.width


# %% exercise="prune" answer="a dict of new places"
def prune(
    wiring: Sequence[np.ndarray], features: int, wanted: Sequence[int] = (0,)
) -> list[tuple[np.ndarray, np.ndarray]]:
    layers = []
    keep = list(wanted)
    for pairs in wiring[::-1]:
        old = [[int(column) for column in pairs[unit]] for unit in keep]
        used = sorted({column for pair in old for column in pair if column >= features})
        place = {column: features + number for number, column in enumerate(used)}
        layers.append((np.array(keep), np.array([[place.get(column, column) for column in pair] for pair in old])))
        keep = [column - features for column in used]
        if not keep:
            break
    return layers[::-1]


# %% exercise="prune" answer="marks, then counts"
def prune(
    wiring: Sequence[np.ndarray], features: int, wanted: Sequence[int] = (0,)
) -> list[tuple[np.ndarray, np.ndarray]]:
    units, kept = np.asarray(wanted), []
    number = len(wiring) - 1
    while number >= 0 and units.size:
        read = wiring[number][units].copy()
        marked = np.zeros(max(int(read.max()) + 1, features), dtype=bool)
        marked[read.ravel()] = True
        marked[:features] = True
        places = np.cumsum(marked) - 1
        kept = [(units, places[read])] + kept
        units = np.flatnonzero(marked[features:])
        number -= 1
    return kept


# %% exercise="bias" answer="by lists"
def bias(terms: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    said = []
    for rows in (np.arange(0, len(y), 2), np.arange(1, len(y), 2)):
        said.append(respond(terms, fit_candidates(terms[:, rows], y[rows], ridge)))
    found = np.sum((said[1] - said[0]) ** 2, axis=-1) / (len(y) * np.var(y))
    found[~np.isfinite(found)] = np.inf
    return found


# %% exercise="bias" answer="the difference of the coefficients responds"
def bias(terms: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    even = np.arange(len(y)) % 2 == 0
    change = fit_candidates(terms[:, even], y[even], ridge) - fit_candidates(terms[:, ~even], y[~even], ridge)
    return regularity(respond(terms, change) + y, y)
