"""The same seed and thread count, the same bits: seeds, streams, and runs in processes of their own."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import threadpoolctl
import tinytorch
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytorch import (
    CrossEntropyLoss,
    DataLoader,
    Dropout,
    Generator,
    Linear,
    Sequential,
    Tensor,
    TensorDataset,
    Trainer,
    exact_threads,
    set_seed,
)

PACKAGE = str(Path(tinytorch.__file__).parent.parent)


# Seeds


def numbers(seed: int) -> list[Any]:
    """A few numbers from each of the three generators that a seed starts."""
    generator = set_seed(seed)
    return [random.random(), *np.random.random(3).tolist(), *generator.integers(0, 2**62, 3).tolist()]


@given(seed=st.integers(0, 2**100), other=st.integers(0, 2**100))
@settings(max_examples=50, deadline=None)
def test_the_same_seed_gives_the_same_numbers(seed: int, other: int) -> None:
    first = numbers(seed)
    assert numbers(seed) == first
    if other != seed:
        assert not set(numbers(other)) & set(first)


def test_the_generators_are_seeded_as_they_seed_themselves() -> None:
    drawn = numbers(7)
    assert drawn[0] == random.Random(7).random()
    assert drawn[1:4] == np.random.RandomState(7).random_sample(3).tolist()
    assert drawn[4:] == Generator(7).integers(0, 2**62, 3).tolist()


def test_seeds_that_end_in_the_same_words_or_differ_in_one_are_apart() -> None:
    seeds = [5, 2**32 - 1, 2**32, 2**32 + 5, 2**64 + 5, 5 * 2**32, 5 * 2**32 + 5, 2**200, 2**200 + 2**32]
    assert len({numbers(seed)[1] for seed in seeds}) == len(seeds)
    set_seed(3 * 2**32 + 5)
    words = np.random.random(3).tolist()
    assert words == np.random.RandomState([5, 3]).random_sample(3).tolist()


def test_an_integer_of_numpy_is_a_seed() -> None:
    assert numbers(np.int64(7)) == numbers(7) and numbers(np.uint64(2**40)) == numbers(2**40)


@pytest.mark.parametrize(("seed", "kind"), [(-1, ValueError), (True, TypeError), (1.0, TypeError), (None, TypeError)])
def test_a_refused_seed_seeds_nothing(seed: Any, kind: type[Exception]) -> None:
    set_seed(3)
    with pytest.raises(kind, match="seed"):
        set_seed(seed)
    after = random.random(), np.random.random()
    set_seed(3)
    assert after == (random.random(), np.random.random())


def test_streams_by_name_do_not_see_draws_elsewhere() -> None:
    plain, busy = set_seed(11), set_seed(11)
    random.random(), np.random.random(50), busy.normal(0, 1, 99), busy.split("a").permutation(9)
    for name in ("a", "b"):
        wanted = plain.split(name).integers(0, 2**62, 5).tolist()
        assert busy.split(name).integers(0, 2**62, 5).tolist() == wanted


def test_training_draws_nothing_from_a_global_generator() -> None:
    rng = set_seed(2)
    before = random.getstate(), repr(np.random.get_state())
    data = TensorDataset(Tensor(rng.normal(0, 1, (9, 4))), Tensor(rng.integers(0, 3, (9,))))
    model = Sequential(Linear(4, 3, rng=rng.split("weights")), Dropout(0.5, rng=rng.split("dropout")))
    trainer = Trainer(model, tinytorch.Adam(model.parameters()), CrossEntropyLoss())
    trainer.train_epoch(DataLoader(data, batch_size=2, shuffle=True, seed=5))
    assert (random.getstate(), repr(np.random.get_state())) == before


# Threads


def counts() -> list[int]:
    """The thread count of every library that has one."""
    return [library["num_threads"] for library in threadpoolctl.threadpool_info()]


def all_are(n: int) -> bool:
    return set(counts()) == {n}


def test_the_count_holds_inside_and_is_restored_after() -> None:
    before = counts()
    for n in (1, 2, 3):
        with exact_threads(n):
            assert all_are(n)
        assert counts() == before


def test_nested_counts_and_one_object_used_again() -> None:
    before, two = counts(), exact_threads(2)
    with two, exact_threads(1):
        with two:
            assert all_are(2)
        assert all_are(1)
        with exact_threads(3):
            assert all_are(3)
        assert all_are(1)
    assert counts() == before


def test_the_count_is_restored_after_an_error() -> None:
    before = counts()
    with pytest.raises(KeyError, match="inside"), exact_threads(3), exact_threads(1):
        raise KeyError("inside")
    assert counts() == before


@exact_threads(2)
def outer(depth: int) -> list[list[int]]:
    """What the counts are on the way down, and again on the way up."""
    found = [counts()]
    return [*found, *inner(depth), counts()]


@exact_threads(1)
def inner(depth: int) -> list[list[int]]:
    found = [counts()]
    return [*found, *(outer(depth - 1) if depth else []), counts()]


def test_a_decorated_function_runs_on_its_count() -> None:
    before = counts()
    found = [set(each) for each in outer(1)]
    assert found == [{2}, {1}, {2}, {1}, {1}, {2}, {1}, {2}]
    assert counts() == before
    assert outer.__doc__ and outer.__name__ == "outer"


@pytest.mark.parametrize(("n", "kind"), [(0, ValueError), (-1, ValueError), (True, TypeError), (1.0, TypeError)])
def test_a_count_is_an_integer_from_1_up(n: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="exact_threads: n must be"):
        exact_threads(n)


def test_a_count_that_the_library_does_not_take() -> None:
    before, n = counts(), 100_000  # an OpenBLAS has an upper limit, 64 in NumPy's own
    with pytest.raises(RuntimeError, match="not the 100000 asked for"), exact_threads(n):
        raise KeyError("must not run")
    assert counts() == before


NO_BLAS = """
import threadpoolctl
threadpoolctl._ALL_CONTROLLERS.clear()  # it now knows no library, as with Apple's Accelerate
import tinytorch
with tinytorch.exact_threads(1):
    print("must not run")
"""


def test_no_blas_that_can_be_told() -> None:
    done = python(NO_BLAS)
    assert done.returncode == 1 and done.stdout == ""
    assert "RuntimeError: exact_threads: found no BLAS that can be told its threads" in done.stderr


def python(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh process that finds the package."""
    command, known = [sys.executable, "-c", program, *arguments], {**os.environ, "PYTHONPATH": PACKAGE, **environment}
    return subprocess.run(command, env=known, capture_output=True, encoding="utf-8", check=False)


TRAINING = """
import hashlib, sys
from tinytorch import *
rng = set_seed(4)
rows, labels = Tensor(rng.normal(0, 1, (300, 200))), Tensor(rng.integers(0, 7, (300,)))
layers = Linear(200, 257, rng=rng.split("a")), Tanh(), Dropout(0.2, rng=rng.split("b")), Linear(257, 7, rng=rng)
model = Sequential(*layers)
trainer = Trainer(model, Adam(model.parameters()), CrossEntropyLoss())
with exact_threads(int(sys.argv[1])):
    trainer.train_epoch(DataLoader(TensorDataset(rows, labels), batch_size=100, shuffle=True, seed=5))
bits = b"".join(parameter.data.tobytes() for parameter in model.parameters())
print(hashlib.sha256(bits).hexdigest(), trainer.loss_sum.hex())
"""


@pytest.mark.parametrize("n", [1, 2])
def test_a_training_run_has_the_same_bits_in_fresh_processes(n: int) -> None:
    """Though they begin with other counts: one, and two. 1 and 2 need not agree, and with NumPy's OpenBLAS do not."""
    runs = [python(TRAINING, str(n), OPENBLAS_NUM_THREADS=start, PYTHONHASHSEED=start) for start in ("1", "2")]
    assert [run.stderr for run in runs] == ["", ""]
    assert runs[0].stdout == runs[1].stdout != ""


BUSY = """
import sys, time
import numpy as np
from tinytorch import exact_threads
matrix = np.random.default_rng(0).random((1200, 1200))
def clocks():
    return np.array([time.process_time(), time.thread_time(), time.perf_counter()])
with exact_threads(int(sys.argv[1])):
    matrix @ matrix
    time.sleep(0.5)  # until threads that wait for work no longer spin
    start = clocks()
    for _ in range(3):
        matrix @ matrix
    print(*(clocks() - start))
"""


def test_one_thread_means_that_no_other_computes() -> None:
    """By the clocks: CPU time of the process, of its main thread, and time on the wall."""
    process, main, wall = map(float, python(BUSY, "1", OPENBLAS_NUM_THREADS="2").stdout.split())
    assert process < 1.1 * main and process < 1.1 * wall + 0.05
    process, main, _ = map(float, python(BUSY, "2", OPENBLAS_NUM_THREADS="1").stdout.split())
    assert process > 1.3 * main  # about twice: the other thread does half
