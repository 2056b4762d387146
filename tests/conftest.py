"""What several test files share: a small lesson that has every kind of cell."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tito.course import Lesson

# The extra with nbgrader is offered from Python 3.11 on.
collect_ignore = [] if sys.version_info >= (3, 11) else ["test_nbgrader_release.py"]

TOY = '''# %% [markdown]
# # 01 Toys
#
# One number, twice.

# %%
2 * 21

# %% imports
from tito.notebook import check, draw, patch, probe, raises
import numpy as np

# %% exercise="Box" points=3
class Box:
    """Holds a number.

    About 1 line.
    """

    def __init__(self, value):
        ### BEGIN SOLUTION
        self.value = value
        ### END SOLUTION

    def twice(self):
        ### BEGIN SOLUTION
        return 2 * self.value
        ### END SOLUTION


# %% check="Box" points=2
def test_unit_box():
    check("Box(21).twice()", want=42)


test_unit_box()

# %% check="Box negative" points=1 hidden=true
# Also for numbers below zero.
### BEGIN HIDDEN TESTS
def test_unit_box_negative():
    check("Box(-1).twice()", want=-2)


test_unit_box_negative()
### END HIDDEN TESTS

# %% supplied="Box.wrap"
@patch(classmethod)
def wrap(cls: type[Box], value):
    return cls(value)


# %% tags=["figure"]
Box(1)

# %% twin="Add"
class Add:
    def forward(self, a, b):
        return a + b


# %% check="Add" points=1
def test_unit_add():
    check("Add().forward(1, 2)", want=3)


test_unit_add()

# %% [markdown]
# Now the other one:

# %% exercise="Sub" points=1
class Sub:
    def forward(self, a, b):
        ### BEGIN SOLUTION
        return a - b
        ### END SOLUTION


# %% check="Sub" points=1
def test_unit_sub():
    check("Sub().forward(3, 2)", want=1)


test_unit_sub()
'''


MakeLesson = Callable[..., Lesson]


@pytest.fixture(scope="session")
def make_lesson() -> MakeLesson:
    """Makes a lesson 01 `toy` of a source, the toy lesson's unless another is given, in a folder of its own."""

    def make(root: Path, source: str = TOY) -> Lesson:
        folder = root / "modules" / "01_toy"
        folder.mkdir(parents=True)
        (folder / "toy.py").write_text(source, encoding="utf-8", newline="\n")
        return Lesson("01", "toy", "Toys", 60, (), folder)

    return make


@pytest.fixture
def toy(make_lesson: MakeLesson, tmp_path: Path) -> Lesson:
    """The toy lesson."""
    return make_lesson(tmp_path / "toy")
