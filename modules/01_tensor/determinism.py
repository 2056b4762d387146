"""Makes a run repeat to the bit: seeds, and the number of threads. Supplied with lesson 01: trace it, don't write it.

Begin at `exact_threads`. What of randomness is this package's own comes from a `Generator` and needs none of this.
"""

from __future__ import annotations

from contextlib import ContextDecorator, ExitStack

import numpy as np

from tinytorch.generator import Generator
from tinytorch.settings import integer

__all__ = ["set_seed", "exact_threads"]


def set_seed(seed: int) -> Generator:
    """Seed Python's `random` and NumPy's global generator, for code of your own, and return `Generator(seed)`.

    NumPy's takes integers below 2**32; a larger seed is handed to it as its 32-bit words, lowest first, so that no two
    seeds become one. Raises TypeError for a seed that is no integer, ValueError for one below 0; then nothing is seeded.
    """
    import random

    generator, number = Generator(seed), int(seed)
    random.seed(number)
    np.random.seed(number if number < 2**32 else _words(number))
    return generator


def _words(number: int) -> list[int]:
    """The digits of `number` to the base 2**32, lowest first."""
    return [number >> shift & 0xFFFFFFFF for shift in range(0, number.bit_length(), 32)]


class exact_threads(ContextDecorator):
    """Compute on `n` threads inside: `with exact_threads(1):`, or `@exact_threads(1)` above a function.

    Promised: on the same machine, with the same NumPy build and the same `n`, the same program gives the same bits. The
    count is that of the BLAS and OpenMP libraries loaded so far, and of the whole process: import first, and enter
    from one Python thread at a time. Afterwards, also after an error, every library has its count of before.

    Not promised: equal bits of matrix products on another machine, or with another `n`. Floats do not associate:
    (1e16 - 1e16) + 1 is 1, 1e16 + (-1e16 + 1) is 0. A BLAS chooses its kernel by the processor, cuts the matrices
    into blocks by cache size and thread count, and so adds in another order; and a fused multiply-add, where there
    is one, rounds once instead of twice. Source: Goldberg, "What every computer scientist should know about
    floating-point arithmetic", ACM Computing Surveys 23(1), 1991.

    Raises TypeError when `n` is no integer, ValueError when it is below 1; on entering, RuntimeError when there is no
    BLAS that can be told its count, or when a library did not take it.
    """

    def __init__(self, n: int) -> None:
        self.n = integer("exact_threads: n", n, least=1)
        self.entered: list[ExitStack] = []  # innermost last

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        with ExitStack() as stack:
            stack.enter_context(threadpool_limits(limits=self.n))
            _require_pinned(self.n)
            self.entered.append(stack.pop_all())  # no error: what would restore now waits for the exit

    def __exit__(self, *error: object) -> None:
        self.entered.pop().close()


def _require_pinned(n: int) -> None:
    """Raise RuntimeError unless there is a BLAS, and every library says that it has `n` threads."""
    from threadpoolctl import threadpool_info

    found = threadpool_info()
    if not any(library["user_api"] == "blas" for library in found):
        lacking = "exact_threads: found no BLAS that can be told its threads (Apple's Accelerate cannot)"
        raise RuntimeError(f"{lacking}; use a NumPy with OpenBLAS: conda install numpy 'libblas=*=*openblas'")
    for library in found:
        if library["num_threads"] != n:
            got = f"{library['prefix']} has {library['num_threads']} threads, not the {n} asked for"
            raise RuntimeError(f"exact_threads: {got}; ask for fewer, and from the main thread: exact_threads(1)")
