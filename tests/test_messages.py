"""Which of the course's messages an error is: in the lessons as they are, and in texts made to be near them."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tito import messages
from tito.course import Course, Lesson

COURSE = Course.find()


@pytest.mark.parametrize(
    ("key", "error", "text", "said"),
    [
        (
            "01", "ValueError", "matmul: inner sizes differ: (2, 3) @ (2, 4) has 3 and 2; transpose one side?",
            "matmul: inner sizes differ: …; transpose one side?",
        ),
        ("01", "TypeError", "Tensor: needs numbers, got str of dtype <U1", "Tensor: needs numbers, got … of dtype …"),
        ("01", "ValueError", "Tensor: needs numbers, got str of dtype <U1", ""),  # another error
        ("02", "TypeError", "Tensor: needs numbers, got str of dtype <U1", ""),  # another lesson
        ("01", "TypeError", "Tensor needs numbers", ""),
        ("08", "CheckpointError", "x: y", ""),  # `…: …` says nothing of its own
    ],
)  # fmt: skip
def test_the_message_that_an_error_is(key: str, error: str, text: str, said: str) -> None:
    assert messages.said(COURSE.lesson(key), error, text) == said


@pytest.mark.parametrize(
    ("message", "text", "fits"),
    [
        ("a … b … c", "a 1 b 2 c", True),
        ("a … b … c", "a 1 b 2 c ", False),
        ("a … b … c", "0 a 1 b 2 c", False),
        ("a … b … c", "a 1 c", False),
        ("one ab…ba two", "one aba two", False),  # what begins and ends the text may not overlap
        ("a … b … b c", "a 1 b c", False),
        ("all of it", "all of it", True),
        ("all of it", "all of it.", False),
    ],
)
def test_what_stands_in_a_gap(message: str, text: str, fits: bool) -> None:
    assert messages.fits(message, text) is fits


def test_no_text_takes_long() -> None:
    began = time.perf_counter()
    assert not messages.fits("a b" + "…ab" * 20 + "…c", "a b" + "ab" * 10**5)
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("'plain'", "plain"),
        ("f'{a}: needs {b!r:.50}'", "…: needs …"),
        ("f'{a} and ' + 'more'", "… and more"),
        ("error", ""),
        ("3", ""),
    ],
)
def test_the_text_with_gaps(expression: str, text: str) -> None:
    assert messages.template(ast.parse(expression, mode="eval").body) == text


def test_only_what_is_exported_and_supplied_counts(make_lesson: Callable[..., Lesson], tmp_path: Path) -> None:
    source = '# %%\nraise ValueError("a demo\'s own")\n\n# %% twin="f"\ndef f():\n    raise errors.Own("of a twin")\n'
    lesson = make_lesson(tmp_path, source)
    (lesson.folder / "beside.py").write_text('raise KeyError("of a supplied file")\n', encoding="utf-8")
    assert messages.of(lesson) == [("Own", "of a twin"), ("KeyError", "of a supplied file")]
