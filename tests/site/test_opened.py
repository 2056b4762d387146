"""The search for leaks finds a planted line however it is wrapped, and nothing where there is none."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from html import escape
from pathlib import Path

import opened
import pytest
import secrets_of_course

from tito.course import Course

ROOT = Path(__file__).resolve().parents[2]
SECRET = "return {\"loss\": total / count} if a < b else 'none'"
LINE = opened.squeezed(SECRET).decode()


def zipped(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return file.getvalue()


def tarred(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


def highlighted(code: str) -> bytes:
    """As Pygments writes it: each word a span, entities for quotes and signs."""
    spans = "".join(f'<span class="n">{escape(word)}</span><span class="w"> </span>' for word in code.split())
    return f'<div class="highlight"><pre><span></span>{spans}\n</pre></div>'.encode()


def notebook(code: str) -> bytes:
    cell = {"cell_type": "code", "source": ["def f():\n", f"    {code}\n"]}
    return json.dumps({"cells": [cell]}).encode()


WRAPPED: dict[str, Callable[[str], bytes]] = {
    "module.py": lambda code: f"def f():\n    {code}\n".encode(),
    "page.html": highlighted,
    "lesson.ipynb": notebook,
    "course.whl": lambda code: zipped("tito/x.py", code.encode()),
    "all.zip": lambda code: zipped("lesson.ipynb", notebook(code)),
    "deep.zip": lambda code: zipped("inner.whl", zipped("x.py", code.encode())),
    "pages.tar.gz": lambda code: tarred("page.html", highlighted(code)),
    "table.csv.gz": lambda code: gzip.compress(code.encode()),
    "searchindex.js": lambda code: f"Search.setIndex({json.dumps({'titles': [code]})})".encode(),
    "notebook-in-json.json": lambda code: json.dumps({"content": notebook(code).decode()}).encode(),
    "html-in-notebook.ipynb": lambda code: json.dumps({"text/html": highlighted(code).decode()}).encode(),
    "data.bin": lambda code: b"\0\1" + code.encode() + b"\0",
}


@pytest.mark.parametrize("name", WRAPPED)
def test_a_planted_line_is_found(tmp_path: Path, name: str) -> None:
    search = opened.Search([SECRET, "another_line_of_a_solution()"])
    for place, code, expected in (("bad", SECRET, {LINE}), ("good", SECRET.replace("total", "sum"), set())):
        (tmp_path / place).mkdir()
        (tmp_path / place / name).write_bytes(WRAPPED[name](code))
        found = {line for _, all in opened.texts(tmp_path / place) for text in all for line in search.found(text)}
        assert found == expected


def test_a_line_is_found_at_every_place_of_a_text() -> None:
    search = opened.Search([SECRET])
    for before in range(20):
        assert search.found(b"x" * before + LINE.encode()) == {LINE}
    assert search.found(LINE.encode()[:-1]) == set() == search.found(b"")


def test_the_secrets_are_those_of_the_course() -> None:
    course = Course.load(ROOT)
    found = secrets_of_course.of(course)
    least = {"solutions": 200, "hidden": 400, "mistakes": 200, "answers": 6}
    assert not {name for name, count in least.items() if len(getattr(found, name)) < count}
    search = opened.Search(found.all())
    assert not {line for text in secrets_of_course.shown(course) for line in search.found(opened.squeezed(text))}
