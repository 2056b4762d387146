"""Prefetching: the batches, positions and errors of the plain loader, and no thread that outlives its iteration."""

from __future__ import annotations

import _thread
import gc
import itertools
import pickle
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytorch import (
    Adam,
    CrossEntropyLoss,
    DataLoader,
    Dataset,
    Dropout,
    Generator,
    Linear,
    PrefetchLoader,
    ReLU,
    Sequential,
    Tensor,
    TensorDataset,
    Trainer,
    prefetch,
)
from tinytorch.batches import position_of


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """After each test the threads are those from before it."""
    before = threading.enumerate()
    yield
    assert threading.enumerate() == before


def fetching() -> int:
    """How many threads of ours there are."""
    return sum(thread.name == "prefetch" for thread in threading.enumerate())


class Broken(Exception):
    """Raised by Numbers."""


class Numbers(Dataset):
    """The numbers 0 to n - 1; `bad` ones raise; each takes `seconds`."""

    def __init__(self, n: int, bad: tuple[int, ...] = (), seconds: float = 0.0) -> None:
        self.n, self.bad, self.seconds = n, bad, seconds

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> tuple[int]:
        time.sleep(self.seconds)
        if index in self.bad:
            raise Broken(f"sample {index}")
        return (index,)


def numbers(batch: Any) -> list[int]:
    return batch[0].data.tolist()


def epoch(loader: Any) -> list[Any]:
    """What an iteration gives: after each batch the position, and the error at the end with the position then."""
    seen: list[Any] = []
    try:
        for batch in loader:
            seen.append((numbers(batch), loader.position))
    except Exception as error:
        seen.append((repr(error), loader.position))
    return [*seen, loader.position]


def loaders(depth: int, dataset: Dataset, **given: Any) -> tuple[DataLoader, PrefetchLoader]:
    """A plain loader, and one like it that is prefetched."""
    return DataLoader(dataset, **given), PrefetchLoader(DataLoader(dataset, **given), depth)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 13),
    batch_size=st.integers(1, 5),
    drop_last=st.booleans(),
    depth=st.integers(1, 9),
    bad=st.lists(st.integers(0, 12), max_size=2),
    position=st.integers(-2, 30),
)
def test_it_gives_what_the_loader_gives(
    n: int, batch_size: int, drop_last: bool, depth: int, bad: list[int], position: int
) -> None:
    given = {"batch_size": batch_size, "shuffle": True, "drop_last": drop_last, "seed": 4}
    plain, ahead = loaders(depth, Numbers(n, tuple(bad)), **given)
    assert len(ahead) == len(plain)
    plain.position = ahead.position = position
    for _ in range(3):
        assert epoch(ahead) == epoch(plain)
        assert ahead.loader.position == plain.position


STEPS = st.lists(
    st.tuples(st.sampled_from(["next", "next", "next", "begin", "close"]), st.integers(0, 1))
    | st.tuples(st.just("set"), st.integers(0, 12)),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, depth=st.integers(1, 5), size=st.integers(1, 6))
def test_iterations_among_one_another_share_the_position_as_they_do_in_the_loader(
    steps: list[tuple[str, int]], depth: int, size: int
) -> None:
    """Any mixture of two iterations begun, asked, left, and of the position set."""

    def played(loader: Any) -> list[Any]:
        running: dict[int, Any] = {}
        seen = []
        for step, value in steps:
            if step == "begin":
                running[value] = iter(loader)
            elif step == "close":
                running.pop(value, None)
            elif step == "set":
                loader.position = value
            elif value in running:
                seen.append(next(running[value], None))
            seen.append(loader.position)
        return [numbers(item) if isinstance(item, tuple) else item for item in seen]

    plain, ahead = loaders(depth, Numbers(size), shuffle=True)
    assert played(ahead) == played(plain)
    assert ahead.loader.position == plain.position


@pytest.mark.parametrize("depth", [1, 3])
def test_two_iterations_in_turn(depth: int) -> None:
    plain, ahead = loaders(depth, Numbers(7))
    for loader in (plain, ahead):
        pairs = [[numbers(a), numbers(b)] for a, b in zip(loader, loader)]
        assert pairs == [[[0], [1]], [[2], [3]], [[4], [5]]] and loader.position == 7


@pytest.mark.parametrize("start", [0, 1, 3])
def test_an_iteration_goes_on_after_the_position_was_set_within_it(start: int) -> None:
    """As an evaluation on the same loader does, after the last batch too."""
    ahead = PrefetchLoader(DataLoader(Numbers(4)))
    ahead.position = start
    seen = []
    for batch in ahead:
        seen += numbers(batch)
        here, ahead.position = ahead.position, 0
        assert [numbers(inner) for inner in ahead] == [[0], [1], [2], [3]]
        ahead.position = here
    assert seen == [0, 1, 2, 3][start:] and ahead.position == ahead.loader.position == 4


def test_the_position_is_the_consumers_and_never_the_threads() -> None:
    ahead = PrefetchLoader(DataLoader(Numbers(6)), depth=4)
    iteration = iter(ahead)
    next(iteration)
    wait_until(lambda: ahead.loader.position == 5)
    assert ahead.position == 1
    iteration.close()
    assert ahead.position == ahead.loader.position == 1
    ahead.loader.position = 3
    assert ahead.position == 3


def wait_until(condition: Callable[[], bool]) -> None:
    """Raise TimeoutError unless it holds within ten seconds."""
    end = time.monotonic() + 10
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.001)


class Counting:
    """Batches that are counted when they are made."""

    made = 0

    def __iter__(self) -> Iterator[int]:
        for i in range(20):
            self.made += 1
            yield i


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_at_most_depth_batches_are_made_ahead(depth: int) -> None:
    source = Counting()
    for received, item in enumerate(PrefetchLoader(source, depth), start=1):
        assert item == received - 1
        most = min(received + depth, 20)
        wait_until(lambda most=most: source.made == most)  # type: ignore[misc]
        time.sleep(0.002)
        assert source.made == most


class TestErrors:
    """An error in the loader."""

    @pytest.mark.parametrize("depth", [1, 3, 8])
    @pytest.mark.parametrize("g", range(6))
    def test_it_comes_at_its_batch_with_the_frames_of_the_loader(self, g: int, depth: int) -> None:
        ahead = PrefetchLoader(DataLoader(Numbers(6, bad=(g,))), depth)
        seen = []
        with pytest.raises(Broken, match=f"sample {g}") as caught:
            for batch in ahead:
                seen += numbers(batch)
        assert seen == list(range(g)) and ahead.position == ahead.loader.position == g
        frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert frames[-1] == "__getitem__" and "batch_at" in frames
        assert caught.value.__context__ is None and caught.value.__cause__ is None

    def test_the_same_batch_is_asked_for_again(self) -> None:
        ahead = PrefetchLoader(DataLoader(Numbers(6, bad=(2,))), depth=3)
        for _ in range(2):
            with pytest.raises(Broken):
                list(ahead)
            ahead.position = 1
        ahead.loader.dataset.bad = ()
        assert [numbers(batch) for batch in ahead] == [[1], [2], [3], [4], [5]]

    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, StopAsyncIteration])
    def test_any_kind_comes_through(self, kind: type[BaseException]) -> None:
        def source() -> Iterator[int]:
            yield 1
            raise kind("here")

        seen = []
        with pytest.raises(kind, match="here"):
            for item in PrefetchLoader(source()):
                seen.append(item)
        assert seen == [1]

    def test_one_in_iter(self) -> None:
        class Refusing:
            def __iter__(self) -> Iterator[int]:
                raise Broken("iter")

        with pytest.raises(Broken, match="iter"):
            list(PrefetchLoader(Refusing()))

    def test_it_does_not_hold_itself(self) -> None:
        gc.collect()
        gc.disable()
        try:
            before = len(gc.get_objects())
            for _ in range(50):
                with pytest.raises(Broken):
                    list(PrefetchLoader(DataLoader(Numbers(2, bad=(1,)))))
            assert len(gc.get_objects()) - before < 50
        finally:
            gc.enable()

    def test_an_epoch_without_batches_is_refused_by_the_loader(self) -> None:
        ahead = PrefetchLoader(DataLoader(Numbers(2), batch_size=3, drop_last=True))
        with pytest.raises(ValueError, match="2 samples make no batch of 3"):
            list(ahead)


class TestClosing:
    """An iteration that is left before its end; `no_thread_is_left` looks at each."""

    @pytest.mark.parametrize("depth", [1, 2, 7])
    @pytest.mark.parametrize("g", range(5))
    @pytest.mark.parametrize("full", [True, False])
    def test_break(self, g: int, depth: int, full: bool) -> None:
        ahead = PrefetchLoader(DataLoader(Numbers(5)), depth)
        for batch in ahead:
            if full:
                wait_until(lambda: ahead.loader.position == min(ahead.position + depth, 5))
            if numbers(batch) == [g]:
                break
        assert fetching() == 0
        assert ahead.position == ahead.loader.position == g + 1

    def test_a_slow_loader_finishes_the_batch_at_hand_and_no_other(self) -> None:
        ahead = PrefetchLoader(DataLoader(Numbers(50, seconds=0.05)), depth=40)
        begun = time.perf_counter()
        for _ in ahead:
            break
        assert time.perf_counter() - begun < 1.5
        assert fetching() == 0 and ahead.loader.position == 1

    def test_an_exception_in_the_consumer(self) -> None:
        ahead = PrefetchLoader(DataLoader(Numbers(5)))
        with pytest.raises(Broken):
            for _ in ahead:
                raise Broken
        assert fetching() == 0
        assert ahead.position == ahead.loader.position == 1

    def test_ctrl_c_while_the_consumer_waits(self) -> None:
        """Raised in the main thread, as the signal does it."""
        ahead = PrefetchLoader(DataLoader(Numbers(50, seconds=0.1)))
        main = threading.main_thread().ident
        assert main is not None
        timer = threading.Timer(0.15, _thread.interrupt_main)
        timer.start()
        seen = []
        with pytest.raises(KeyboardInterrupt):
            for batch in ahead:
                seen += numbers(batch)
        timer.join()
        assert fetching() == 0
        assert seen == list(range(len(seen))) and ahead.position == ahead.loader.position == len(seen)

    @pytest.mark.parametrize("source", [lambda: DataLoader(Numbers(9)), lambda: list(range(9))])
    def test_one_in_a_circle_is_closed_by_the_collector(self, source: Callable[[], Any]) -> None:
        circle: list[Any] = [iter(PrefetchLoader(source()))]
        circle.append(circle)
        next(circle[0])
        del circle
        gc.collect()
        assert fetching() == 0

    def test_the_collector_may_run_in_the_thread_that_it_closes(self) -> None:
        """It cannot wait for itself; the position is right before, and after, it has ended."""
        go, done = threading.Event(), threading.Event()

        class Collecting(Numbers):
            def __getitem__(self, index: int) -> tuple[int]:
                if index == 1:
                    go.wait(10)
                    gc.collect()
                    done.set()
                    time.sleep(0.05)
                return (index,)

        ahead = PrefetchLoader(DataLoader(Collecting(5)))
        circle: list[Any] = [iter(ahead)]
        circle.append(circle)
        next(circle[0])
        gc.disable()
        try:
            del circle
            go.set()
            assert done.wait(10)
        finally:
            gc.enable()
        assert ahead.position == 1
        assert [numbers(batch) for batch in ahead] == [[1], [2], [3], [4]]
        assert ahead.position == ahead.loader.position == 5

    def test_two_hundred_iterators(self) -> None:
        ahead = PrefetchLoader(DataLoader(Numbers(5)), depth=2)
        uncounted = PrefetchLoader(list(range(5)))
        for i in range(100):
            for loader in (ahead, uncounted):
                iteration = iter(loader)
                list(itertools.islice(iteration, i % 6))
                del iteration
                assert fetching() == 0

    def test_one_that_never_began_has_no_thread(self) -> None:
        iteration = iter(PrefetchLoader(DataLoader(Numbers(5))))
        assert fetching() == 0
        del iteration

    def test_a_generator_in_the_loader_is_closed(self) -> None:
        closed = []

        class Source:
            def __iter__(self) -> Iterator[int]:
                try:
                    yield from range(9)
                finally:
                    closed.append(threading.current_thread().name)

        for _ in PrefetchLoader(Source()):
            break
        assert closed == ["prefetch"]


SCRIPT = """
import atexit, sys, threading, time
atexit.register(lambda: print(*[thread.name for thread in threading.enumerate()]))
sys.path.insert(0, sys.argv[1])
from tinytorch import DataLoader, Dataset, PrefetchLoader
class Slow(Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        time.sleep(float(sys.argv[2]))
        return (index,)
inner = DataLoader(Slow()) if sys.argv[3] == "counted" else [1] * 1000
loader = PrefetchLoader(inner, depth=500)
iteration = iter(loader)
next(iteration)
{end}
"""
ENDS = {"held": "", "in a circle": "loop = [iteration]; loop.append(loop); del iteration, loop"}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(("seconds", "kind"), [("0", "counted"), ("0.05", "counted"), ("0", "uncounted")])
def test_an_abandoned_iteration_does_not_hold_up_the_end_of_the_program(end: str, seconds: str, kind: str) -> None:
    """And its thread has ended by then: what was registered first is called last."""
    package = str(Path(prefetch.__file__).parent.parent)
    command = [sys.executable, "-W", "error", "-c", SCRIPT.replace("{end}", ENDS[end]), package, seconds, kind]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "MainThread\n", "")


class TestOtherLoaders:
    """Anything that can be iterated."""

    def test_a_list(self) -> None:
        ahead = PrefetchLoader([1, 2, 3])
        assert list(ahead) == list(ahead) == [1, 2, 3]
        assert list(zip(ahead, ahead)) == [(1, 1), (2, 2), (3, 3)]
        assert len(ahead) == 3 and ahead.position is None and position_of(ahead) is None

    def test_a_generator(self) -> None:
        ahead = PrefetchLoader((i * i for i in range(5)), depth=1)
        assert list(ahead) == [0, 1, 4, 9, 16] and list(ahead) == []
        assert position_of(ahead) is None
        with pytest.raises(TypeError, match="len"):
            len(ahead)
        with pytest.raises(TypeError, match="generator has no position"):
            ahead.position = 3

    def test_nothing(self) -> None:
        assert list(PrefetchLoader([])) == []

    @pytest.mark.parametrize("stop", [0, 1, 3, 7, 9])
    def test_one_that_prefetches(self, stop: int) -> None:
        middle = PrefetchLoader(DataLoader(Numbers(7)), depth=2)
        ahead = PrefetchLoader(middle, depth=2)
        assert [numbers(batch) for batch in itertools.islice(ahead, stop)] == [[i] for i in range(min(stop, 7))]
        assert ahead.position == middle.position == middle.loader.position == min(stop, 7)

    @pytest.mark.parametrize("loader", [3, None, Numbers(3)])
    def test_what_cannot_be_iterated_is_refused(self, loader: Any) -> None:
        with pytest.raises(TypeError, match="needs an iterable of batches"):
            PrefetchLoader(loader)

    def test_a_position_without_a_length_is_refused(self) -> None:
        class Endless:
            position = 0

            def __iter__(self) -> Iterator[int]:
                return itertools.count()

        with pytest.raises(TypeError, match="__len__"):
            PrefetchLoader(Endless())

    @pytest.mark.parametrize("depth", [0, -1, 1.5, True, None])
    def test_a_depth_is_an_integer_from_1_up(self, depth: Any) -> None:
        with pytest.raises((TypeError, ValueError), match="PrefetchLoader: depth"):
            PrefetchLoader([], depth)

    def test_it_can_be_pickled_between_iterations(self) -> None:
        ahead = PrefetchLoader(DataLoader(Numbers(4)))
        list(itertools.islice(ahead, 2))
        assert [numbers(batch) for batch in pickle.loads(pickle.dumps(ahead))] == [[2], [3]]

    def test_settings_of_numpy_hold_in_the_thread(self) -> None:
        def source() -> Iterator[Any]:
            yield np.float32(1) / np.zeros(1, np.float32)

        with np.errstate(divide="ignore"):
            (got,) = PrefetchLoader(source())
        assert np.isinf(got).all()
        with pytest.raises(RuntimeWarning, match="divide"):
            list(PrefetchLoader(source()))


def build(depth: int) -> tuple[Trainer, Any, Any]:
    """A run in which the order of batches and of random numbers matters; depth 0 is without prefetching."""
    rng = Generator(3)
    model = Sequential(
        Linear(4, 8, rng=rng.split("a")), ReLU(), Dropout(0.3, rng=rng.split("b")), Linear(8, 3, rng=rng.split("c"))
    )
    rows, labels = Generator(9).normal(0, 1, (22, 4)), Generator(9).integers(0, 3, (22,))
    dataset = TensorDataset(Tensor(rows), Tensor(labels))
    train, test = (DataLoader(dataset, batch_size=4, shuffle=True, seed=seed) for seed in (5, 6))
    trainer = Trainer(model, Adam(model.parameters(), lr=0.01), CrossEntropyLoss())
    return trainer, *(PrefetchLoader(loader, depth) if depth else loader for loader in (train, test))


def everything(trainer: Trainer, folder: Path) -> bytes:
    """All that a checkpoint holds, as bytes: equal only when every bit is."""
    trainer.save_checkpoint(folder / "now.ckpt")
    return (folder / "now.ckpt").read_bytes()


class TestTraining:
    """The Trainer's bits are those without prefetching."""

    @pytest.mark.parametrize("depth", [1, 2, 9])
    @pytest.mark.parametrize("steps", [1, 2, 4])
    def test_training_and_evaluating(self, tmp_path: Path, depth: int, steps: int) -> None:
        runs = []
        for each in (0, depth):
            trainer, train, test = build(each)
            for _ in range(3):
                trainer.train_epoch(train, accumulation_steps=steps)
                trainer.evaluate(test)
                trainer.evaluate(train)
            runs.append((everything(trainer, tmp_path), train.position, test.position))
        assert runs[0] == runs[1]

    @pytest.mark.parametrize("saved_by", [0, 2])
    @pytest.mark.parametrize("resumed_by", [0, 2])
    def test_resuming(self, tmp_path: Path, saved_by: int, resumed_by: int) -> None:
        straight, train, _ = build(saved_by)
        for count in range(4):
            if count == 2:
                straight.save_checkpoint(tmp_path / "run.ckpt")
            straight.train_epoch(train)
        resumed, train, _ = build(resumed_by)
        resumed.load_checkpoint(tmp_path / "run.ckpt", train)
        for _ in range(2):
            resumed.train_epoch(train)
        assert everything(resumed, tmp_path) == everything(straight, tmp_path)

    @pytest.mark.parametrize("g", range(6))
    def test_an_error_at_a_batch_leaves_what_it_leaves_without(self, tmp_path: Path, g: int) -> None:
        class Once(TensorDataset):
            left = g

            def gather(self, indices: np.ndarray) -> Any:
                self.left -= 1
                if self.left == -1:
                    raise Broken("once")
                return self[indices]

        runs = []
        for depth in (0, 3):
            trainer, train, _ = build(depth)
            plain = train.loader if depth else train
            plain.dataset = Once(*plain.dataset.tensors)
            with pytest.raises(Broken, match=f"batch {g}: once"):
                trainer.train_epoch(train, accumulation_steps=2)
            assert fetching() == 0
            after = everything(trainer, tmp_path), train.position, plain.position
            trainer.train_epoch(train, accumulation_steps=2)
            runs.append((*after, everything(trainer, tmp_path), train.position))
        assert runs[0] == runs[1]


def test_a_batch_is_made_while_another_is_used() -> None:
    """2 ms to make and 2 ms to use a batch: 4 ms one after the other, 2 ms and what is lost on the way at once."""

    def seconds(loader: Any) -> float:
        begun = time.perf_counter()
        for _ in loader:
            time.sleep(0.002)
        return time.perf_counter() - begun

    plain, ahead = loaders(2, Numbers(60, seconds=0.002))
    assert min(seconds(ahead) / seconds(plain) for _ in range(3)) < 0.75
