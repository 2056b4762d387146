"""Notebooks from students: deep, huge, broken, of other formats and encodings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from handed import GOOD, NAME, NOTEBOOK, notebook, reason, take
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tito.teach.intake import capped, intake


def test_a_notebook_of_60_MB_is_not_parsed(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    with open(folder / NOTEBOOK, "wb") as file:
        file.truncate(60 * 10**6)
    assert reason(lambda: intake.read_submission(folder)) == f"{NOTEBOOK} has more than 50 MB"


# Notebooks


def refusal(data: bytes) -> str:
    return reason(lambda: take({NOTEBOOK: data})).removeprefix(f"{NOTEBOOK} ")


@pytest.mark.parametrize("begin, mark", [("", "["), ("", '{"a":'), ("", "[[],"), ("", '["\\"",'), ('["\\\\", ', "[")])
def test_deep_json_is_refused_before_it_is_parsed(begin: str, mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", lambda text: pytest.fail("parsed"))
    data = f'{{"nbformat": 4, "cells": {begin}{mark * 100_000}'.encode()
    assert refusal(data) == "is nested more than 64 levels deep"


def test_brackets_in_strings_are_not_depth() -> None:
    source = 'x = "' + "[" * 100_000 + '\\"' + "\\\\" + "{" * 100_000
    taken = take({NOTEBOOK: json.dumps(notebook(source)).encode()})
    assert taken.cells[0].source == source


def test_json_that_fills_the_memory_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", lambda text: pytest.fail("parsed"))
    for many in (b"[],", b"1,", b'"",', b'""'):
        assert "the most is 500000" in refusal(b"[" + many * 600_000 + b"1]")


@pytest.mark.parametrize(
    "data, why",
    [
        (GOOD.decode().encode("utf-16"), "is UTF-16, not UTF-8"),
        (b'{"nbformat": "\xff"}', "is not UTF-8 at byte 14"),
        (GOOD[:-5], "is broken, line 1, column"),
        (b"", "is broken, line 1, column 1"),
        (b"[]", "is broken, it holds JSON but no notebook"),
        (b'{"nbformat": ' + b"9" * 5000 + b"}", "is broken, "),
        (json.dumps(notebook(nbformat=3)).encode(), "cannot be read, its format 3.5 is too old"),
        (json.dumps(notebook(nbformat=5)).encode(), "cannot be read, its format 5.5 is newer"),
        (json.dumps(notebook(nbformat="4")).encode(), "is broken, its nbformat is no number"),
        (json.dumps(notebook(cells=[7])).encode(), "is broken, cell 1 has no type or no source"),
        (json.dumps(notebook(cells={"a": 1})).encode(), "is broken, it has no list of cells"),
        (json.dumps(notebook(cells=[{"cell_type": "code", "source": [1]}])).encode(), "is broken, cell 1 has"),
        (json.dumps(notebook(cells=[])).encode(), "has no cells"),
        (json.dumps(notebook(cells=notebook()["cells"] * 2001)).encode(), "has 2001 cells, the most is 2000"),
        (json.dumps(notebook("'\ud800'")).encode(), "holds half a character (U+D800)"),
    ],
)
def test_a_broken_notebook_is_refused_in_a_sentence(data: bytes, why: str) -> None:
    assert refusal(data).startswith(why)


def test_a_byte_order_mark_is_taken_away() -> None:
    assert take({NOTEBOOK: b"\xef\xbb\xbf" + GOOD}).files == {NOTEBOOK: GOOD}


def test_whole_emoji_are_fine() -> None:
    assert take({NOTEBOOK: json.dumps(notebook("'\U0001f600'")).encode()}).cells[0].source == "'\U0001f600'"


def test_nothing_parses_what_a_student_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    import ast
    import tokenize

    for module, name in ((ast, "parse"), (tokenize, "generate_tokens")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("parsed"))
    take({NOTEBOOK: json.dumps(notebook("(" * 100_000)).encode(), f"{NAME}.py": b"(" * 100_000})


ODD = st.text(alphabet='[]{}"\\a', max_size=6)
JSON = st.recursive(ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=2))


@settings(max_examples=300, deadline=None)
@given(JSON.map(json.dumps))
@example('["\\\\", [1]]')
@example('["\\\\\\"[[[", {}]')
def test_the_depth_is_what_the_parser_finds(text: str) -> None:
    """The scanner's count against a parser's own, on text full of quotes and backslashes."""
    assert capped.nesting(capped.outside_strings(text.encode())) == depth(json.loads(text))


def depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)
