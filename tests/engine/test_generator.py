"""The generator: streams by name, states that can be taken up again, and states that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytorch import Generator

DRAWS = {
    "uniform": lambda g: g.uniform(-1, 2, (3, 2)),
    "normal": lambda g: g.normal(1, 2, 5),
    "integers": lambda g: g.integers(0, 100, 7),
    "permutation": lambda g: g.permutation(9),
    "bernoulli": lambda g: g.bernoulli(0.3, (4,)),
}


@given(seed=st.integers(0, 2**70), before=st.lists(st.sampled_from(sorted(DRAWS)), max_size=5))
@settings(max_examples=50, deadline=None)
def test_a_state_goes_on_where_it_was_taken(seed: int, before: list[str]) -> None:
    first, second = Generator(seed), Generator(0)
    for name in before:
        DRAWS[name](first)
    second.load_state_dict(first.state_dict())
    for name, draw in DRAWS.items():
        np.testing.assert_array_equal(draw(first), draw(second), err_msg=name)
    assert first.split("x").path == second.split("x").path


def test_a_split_depends_on_names_and_not_on_draws() -> None:
    plain, used = Generator(3), Generator(3)
    used.normal(0, 1, 100)
    np.testing.assert_array_equal(plain.split("a").integers(0, 99, 8), used.split("a").integers(0, 99, 8))
    streams = [Generator(3), plain.split("a"), plain.split("b"), plain.split("a").split("b"), Generator(4).split("a")]
    firsts = [stream.integers(0, 2**62, 2).tolist() for stream in streams]
    assert len({tuple(first) for first in firsts}) == len(firsts)


def test_shapes_dtypes_and_ranges() -> None:
    g = Generator(0)
    uniform, normal = g.uniform(-1, 2, (50, 40)), g.normal(3, 0.5, (50, 40))
    assert uniform.dtype == normal.dtype == np.float32 and uniform.shape == normal.shape == (50, 40)
    assert -1 <= uniform.min() < -0.95 and 1.95 < uniform.max() <= 2
    assert abs(normal.mean() - 3) < 0.05 and abs(normal.std() - 0.5) < 0.05
    assert sorted(g.permutation(20)) == list(range(20))
    assert g.bernoulli(0.25, 4000).dtype == np.bool_ and abs(g.bernoulli(0.25, 4000).mean() - 0.25) < 0.03
    integers = g.integers(2, 5, 1000)
    assert integers.dtype == np.int64 and set(integers.tolist()) == {2, 3, 4}


@pytest.mark.parametrize("seed", [True, 1.5, "1", None])
def test_a_seed_is_an_integer(seed: Any) -> None:
    with pytest.raises(TypeError, match="integer"):
        Generator(seed)


def test_a_seed_is_not_negative() -> None:
    with pytest.raises(ValueError, match="-1"):
        Generator(-1)


@pytest.mark.parametrize(
    "change",
    [
        {"buffer_pos": -1},
        {"buffer_pos": 5},
        {"buffer_pos": "1"},
        {"key": [1]},
        {"key": [-1, 2]},
        {"counter": [1, 2, 3]},
        {"buffer": [2**70, 0, 0, 0]},
        {"has_uint32": 2**40},
        {"uinteger": 2**40},
        {"path": 3},
        {"extra": 1},
    ],
)
def test_a_state_that_no_generator_has_changes_nothing(change: dict[str, Any]) -> None:
    generator, twin = Generator(7), Generator(7)
    with pytest.raises(ValueError, match="Generator"):
        generator.load_state_dict({**generator.state_dict(), **change})
    np.testing.assert_array_equal(generator.integers(0, 99, 5), twin.integers(0, 99, 5))
