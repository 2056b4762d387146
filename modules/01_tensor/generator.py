"""Random numbers with one explicit owner. Supplied with lesson 01: trace it, don't write it.

Nothing in this package reads a global generator: whatever draws is handed a `Generator`, so a run repeats when its
seed does. `split` gives a stream of its own by name, so that one more draw in one place never shifts another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Generator"]


class Generator:
    """A stream of random numbers, fixed by a seed and the names it was split by.

    The bits are Philox's, a counter-based generator: its state is a key and a count (Salmon, Moraes, Dror and Shaw,
    "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Equal seeds give equal numbers on one NumPy version.

    Raises TypeError when the seed is not an integer, ValueError when it is negative.
    """

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise TypeError(f"Generator: the seed must be an integer, got {seed!r}; write Generator(0)")
        if seed < 0:
            raise ValueError(f"Generator: the seed must be 0 or more, got {seed}")
        self._start(str(int(seed)))

    def _start(self, path: str) -> None:
        """Begin the stream that `path` names: the seed, then the names it was split by."""
        import hashlib  # here, since it takes a while and not every program draws

        self.path = path
        key = int.from_bytes(hashlib.sha256(path.encode("utf-8")).digest()[:16], "little")
        self._stream = np.random.Generator(np.random.Philox(key=key))

    def split(self, name: str) -> Generator:
        """Return the stream called `name`; it depends on this one's seed and names, never on what was drawn."""
        child = object.__new__(Generator)
        child._start(f"{self.path}/{name}")
        return child

    def uniform(self, low: float, high: float, shape: int | tuple[int, ...]) -> np.ndarray:
        """Float32 array of `shape`, each number between `low` and `high` with equal chance."""
        return self._stream.random(shape, dtype=np.float32) * np.float32(high - low) + np.float32(low)

    def normal(self, mean: float, std: float, shape: int | tuple[int, ...]) -> np.ndarray:
        """Float32 array of `shape` from the bell curve with this mean and standard deviation."""
        return self._stream.standard_normal(shape, dtype=np.float32) * np.float32(std) + np.float32(mean)

    def integers(self, low: int, high: int, shape: int | tuple[int, ...]) -> np.ndarray:
        """Int64 array of `shape`, each at least `low` and below `high`."""
        return self._stream.integers(low, high, shape)

    def permutation(self, n: int) -> np.ndarray:
        """The numbers 0 to n - 1 in random order, int64 `(n,)`."""
        return self._stream.permutation(n)

    def bernoulli(self, p: float, shape: int | tuple[int, ...]) -> np.ndarray:
        """Bool array of `shape`, each True with chance `p`."""
        return self._stream.random(shape, dtype=np.float32) < p

    def state_dict(self) -> dict[str, Any]:
        """Return where the stream stands, in plain containers and integers."""
        state: Any = self._stream.bit_generator.state
        inner = {name: values.tolist() for name, values in state["state"].items()}
        rest = {name: int(state[name]) for name in ("buffer_pos", "has_uint32", "uinteger")}
        return {"path": self.path, **inner, "buffer": state["buffer"].tolist(), **rest}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from where `state_dict` stood: the next numbers are the ones that followed then.

        Raises ValueError, with nothing changed, when `state` is not what `state_dict` gives.
        """
        wanted = set(self.state_dict())
        if set(state) != wanted:
            raise ValueError(f"Generator: a state has the entries {sorted(wanted)}, got {sorted(state)}")
        fresh = object.__new__(Generator)
        try:
            fresh.path, fresh._stream = str(state["path"]), _stream(state)
        except (TypeError, ValueError, OverflowError, IndexError) as error:
            raise ValueError(f"Generator: a state that no generator has: {error}") from error
        if fresh.state_dict() != state:
            raise ValueError("Generator: a state that no generator has: an entry is out of range")
        self.path, self._stream = fresh.path, fresh._stream


def _stream(state: dict[str, Any]) -> np.random.Generator:
    """NumPy's generator in the given state."""
    if not 0 <= state["buffer_pos"] <= 4:  # NumPy itself does not look, and would read beside its buffer
        raise ValueError(f"buffer_pos is {state['buffer_pos']}, not 0 to 4")
    words = {name: np.array(state[name], dtype=np.uint64) for name in ("counter", "key", "buffer")}
    bits: Any = np.random.Philox(key=0)
    bits.state = {
        "bit_generator": "Philox",
        "state": {"counter": words["counter"], "key": words["key"]},
        "buffer": words["buffer"],
        **{name: int(state[name]) for name in ("buffer_pos", "has_uint32", "uinteger")},
    }
    return np.random.Generator(bits)
