"""The small percent reader and writer against jupytext, on sources of every kind that a lesson or a student has."""

from __future__ import annotations

from typing import Any

import jupytext
import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tito import percent
from tito.course import Course, Lesson
from tito.errors import UserError
from tito.percent import Cell

LAYOUT = ("lines_to_next_cell", "cell_marker", "region_name")  # jupytext's notes about a file's looks

SOURCES = {
    "imports": "# %% imports\nfrom tito.notebook import check, draw, patch, probe, raises\nimport numpy as np\n",
    "exercise": '# %% exercise="matmul" points=4\ndef f():\n    pass\n',
    "twin": '# %% twin="Add"\nclass Add:\n    pass\n\n\n# %%\nx = 1\n',
    "supplied": '# %% supplied="Tensor.wrap"\nx = 1\n',
    "check": '# %% check="matmul batches" points=1 hidden=true\n# Also batches.\n### BEGIN HIDDEN TESTS\n1\n',
    "hidden as a flag": '# %% check="matmul" points=1 hidden\n1\n',
    "markdown": "# %% [markdown]\n# Hi\n#\n# there\n#     indented\n#no space\nbare\n",
    "md": "# %% [md]\n# Hi\n",
    "raw": "# %% [raw]\n# Hi\n",
    "titled markdown": '# %% A title [markdown] tags=["a"]\n# Hi\n',
    "markdown in quotes": '# %% [markdown]\n"""\nHi\n\nthere\n"""\n\n# %%\n1\n',
    "markdown in raw quotes": "# %% [markdown]\nr'''Hi \\alpha'''\n",
    "tags": '# %% tags=["a", "b c"] slideshow={"slide_type": "slide"}\n1\n',
    "json": '# %% A title {"k": [1, {"a": null}], "s": "x=1"}\n1\n',
    "json that is broken": '# %% {"k": [1\n1\n',
    "nbgrader": '# %% nbgrader={"grade": true, "grade_id": "relu-test", "locked": true, "points": 4}\n1\n',
    "quotes of the other kind": "# %% a='b' c=True d=-1.5e3\n1\n",
    "equal sign in a value": '# %% check="a = b" points=2\n1\n',
    "escapes": '# %% name="a\\"b \\u00e9 \u00e9"\n1\n',
    "no pairs": "# %% why is a=b here\n1\n",
    "flags and pairs": "# %% a title .hidden k=1 flag\n1\n",
    "wide spaces": '#  %%   exercise = "a"   points = 3  \n1\n',
    "a key twice": "# %% a=1 a=2\n1\n",
    "depth": "# %%% part\n1\n# %%%% [markdown]\n# x\n",
    "no space": "#%%\n1\n#%% [markdown]\n# x\n",
    "spyder": "# <codecell>\n1\n# In[3]:\n2\n",
    "indented mark": "# %%\ndef f():\n    # %% inner\n    return 1\n",
    "no mark": "import numpy\nx = 1\n",
    "text before the first mark": "import numpy\n\n# %%\nx = 1\n",
    "blank lines first": "\n\n# %%\nx = 1\n",
    "blank lines between": "# %%\n1\n# %%\n2\n\n# %%\n3\n\n\n# %%\n4\n\n\n\n# %%\n5\n\n\n\n\n# %%\n6\n\n\n\n",
    "lines of spaces": "# %%\n1\n  \n# %%\n2\n\n  \n# %%\n  \n\n# %%\n",
    "empty cells": "# %%\n# %%\n\n# %%\n\n\n# %%\n",
    "empty": "",
    "one newline": "\n",
    "no newline at the end": "# %%\nx = 1",
    "mark in a string": '# %%\nx = """\n# %% no cell\n"""\n# %%\ny = \'\'\'a\n# %% no\n\'\'\'\n# %%\n1\n',
    "quotes in quotes": (
        "# %%\nx = \"'''\"\n# %%\ny = '\"\"\"' + \"\\\"\"\n# %%\nz = \"\"\"it's \"quoted\" \\\"\"\"\n"
        "# %% in\n\"\"\"\n"
    ),
    "quotes in a comment": '# %%\n# """\n# %%\nx = 1  # """\n# %%\n1\n',
    "four quotes": '# %%\nx = """"quoted" \'\'\'"""\n# %%\n1\n',
    "string that never ends": '# %%\nx = """\n# %%\n1\n',
    "short string that never ends": "# %%\nx = 'abc\n# %%\n1\n",
    "fence": "# %% [markdown]\n# ```\n# %% no cell\n# ```\n# %%\n1\n",
    "fence that never ends": "# %% [markdown]\n# ```python\n# %%\n1\n",
    "fence of tildes": "# %% [markdown]\n# ~~~~ mermaid\n# %% a\n# ~~~\n# %% b\n# ~~~~\n# %%\n1\n",
    "apostrophe in bare markdown": "# %% [markdown]\nIt's\n# %%\n1\n",
    "decorators": (
        "# %%\nx = 1\n\n\n# %%\n@patch\ndef f(self: Tensor):\n    return 1\n\n\n# %%\n@property\n# why\n"
        "class A:\n    x = 1\n"
    ),
    "magics": "# %%\n# %matplotlib inline\n# !ls -l\n# x = !ls\n# np.dot?\n# ?np.dot\nprint(1)\n    # %time f()\n",
    "cell magic": "# %%\n# %%time\nf()\n",
    "magic kept as a comment": "# %%\n# %time f()  # noescape\n",
    "magic in a string": '# %%\nx = """\n# %matplotlib inline\n"""\n',
    "magic over two lines": "# %%\n# !ls \\\n#   -l\n1\n",
    "magic commented twice": "# %%\n# # %matplotlib inline\n",
    "other language": (
        '# %% language="bash" tags=["a"]\n# ls\n#\n# pwd\n# %% language="html" magic_args="--isolated"\n'
        '# <p>\n'
    ),
    "yaml header": "# ---\n# jupyter:\n#   jupytext:\n#     main_language: python\n# ---\n\n# %%\n1\n",
    "yaml header without a blank line": "# ---\n# jupyter:\n#   a: 1\n# ---\n# %%\n1\n",
    "yaml header never closed": "# ---\n# jupyter:\n\n# %%\n1\n",
    "shebang and encoding": (
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# ---\n# jupyter:\n#   a: 1\n# ---\n\n# %%\n1\n"
        ""
    ),
    "encoding": "# coding: utf-8\n# %%\n1\n",
    "comments around functions": (
        "# %%\ndef f():\n    return 1\n# note\n\n# %% [markdown]\n# x\n\n# %%\ndef g():\n    pass\n\n"
        "# %%\n# only\n"
    ),
}  # fmt: skip


def theirs(text: str) -> list[tuple[str, dict[str, Any], str]]:
    """Kind, metadata and source of each cell as jupytext reads it."""
    cells = jupytext.reads(text, "py:percent").cells
    return [(c.cell_type, {k: v for k, v in c.metadata.items() if k not in LAYOUT}, c.source) for c in cells]


def ours(text: str) -> list[tuple[str, dict[str, Any], str]]:
    return [(cell.kind, cell.marks, cell.source) for cell in percent.read(text)]


def jupytext_writes(cells: list[Cell]) -> str:
    make = {
        "code": nbformat.v4.new_code_cell,
        "markdown": nbformat.v4.new_markdown_cell,
        "raw": nbformat.v4.new_raw_cell,
    }
    notebook = nbformat.v4.new_notebook(cells=[make[c.kind](c.source, metadata=dict(c.marks)) for c in cells])
    notebook.metadata["jupytext"] = {"notebook_metadata_filter": "-all", "cell_metadata_filter": "all"}
    return str(jupytext.writes(notebook, "py:percent"))


@pytest.mark.parametrize("text", SOURCES.values(), ids=SOURCES)
def test_reads_as_jupytext_does(text: str) -> None:
    assert ours(text) == theirs(text)


@pytest.mark.parametrize("text", SOURCES.values(), ids=SOURCES)
def test_windows_line_ends_and_a_byte_order_mark_change_nothing(text: str) -> None:
    assert percent.read("\ufeff" + text.replace("\n", "\r\n")) == percent.read(text)


@pytest.mark.parametrize("name", sorted(set(SOURCES) - {"other language"}))
def test_writes_as_jupytext_does(name: str) -> None:
    cells = percent.read(SOURCES[name])
    assert percent.write(cells) == jupytext_writes(cells)


@pytest.mark.parametrize(
    "lesson", [x for x in Course.find().everything if x.source.is_file()], ids=lambda x: str(x.stem)
)
def test_every_lesson_is_read_and_written_as_jupytext_does(lesson: Lesson) -> None:
    text = lesson.source.read_text(encoding="utf-8")
    cells = percent.read(text)
    assert ours(text) == theirs(text)
    assert percent.write(cells) == jupytext_writes(cells)


LINES = st.sampled_from(
    [
        "",
        "",
        "x = 1",
        "def f():",
        "    return 1",
        "@patch",
        "class A:",
        "# note",
        "# %%",
        "# %% [markdown]",
        "# text",
        "#",
    ]
    + ['"""', "'''", 'y = """a', "z = 'it", "# ```", "# %matplotlib inline", "!ls", "# !ls \\", "f?", "  ", ")"]
    + ['# %% exercise="a" points=1', "# %% imports", "#%%", "    # %% x", '"\\""', "x = 1  # '", "%time f()", "# ~~~"]
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(LINES, max_size=25))
def test_reads_made_sources_as_jupytext_does(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert ours(text) == theirs(text)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(LINES, max_size=25))
def test_writes_made_sources_as_jupytext_does(lines: list[str]) -> None:
    cells = percent.read("\n".join(["# %%", *lines]))
    assert percent.write(cells) == jupytext_writes(cells)


VALUES = st.booleans() | st.integers() | st.text()
JSON = st.recursive(VALUES, lambda inner: st.lists(inner | st.none()) | st.dictionaries(st.text(), inner), max_leaves=5)
KEYS = st.from_regex(r"k[a-z0-9_-]{0,8}", fullmatch=True)  # none that jupytext gives a meaning of its own
MARKS = st.dictionaries(KEYS, JSON, max_size=3)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(MARKS)
def test_any_mark_survives_the_file(marks: dict[str, Any]) -> None:
    text = percent.write([Cell("code", marks, "x = 1")])
    assert text == jupytext_writes([Cell("code", marks, "x = 1")])
    assert [cell.marks for cell in percent.read(text)] == [marks]


def test_a_cell_knows_its_role_name_id_and_place() -> None:
    text = """# %% imports
import numpy as np

# %% supplied="Tensor.wrap"
x = 1

# %% exercise="matmul" points=4
y = 2

# %% check="matmul batches" points=1 hidden=true
z = 3

# %% [markdown]
# Text

# %%
1
"""
    cells = percent.read(text)
    assert [cell.role for cell in cells] == ["imports", "supplied", "exercise", "check", "prose", "demo"]
    assert [cell.name for cell in cells] == ["", "Tensor.wrap", "matmul", "matmul batches", "", ""]
    ids = ["imports", "supplied-Tensor-wrap", "exercise-matmul", "check-matmul-batches", "cell-5", "cell-6"]
    assert [cell.id for cell in cells] == ids
    assert [cell.points for cell in cells] == [0, 0, 4, 1, 0, 0]
    assert [cell.hidden for cell in cells] == [False, False, False, True, False, False]
    assert [cell.line for cell in cells] == [2, 5, 8, 11, 14, 17]


def test_an_id_has_at_most_64_characters() -> None:
    cell = Cell("code", {"check": "matmul " * 20})
    assert len(cell.id) == 64 and cell.id.startswith("check-matmul-matmul-")


def test_line_numbers_count_the_header() -> None:
    (cell,) = percent.read(SOURCES["yaml header"])
    assert cell.line == 8


def test_comments_that_only_look_like_commands_stay_comments() -> None:
    (cell,) = percent.read("# %%\n# copy the row, then\n# cd\n# # + 1\n")
    assert cell.source == "# copy the row, then\n# cd\n# # + 1"


def test_a_form_feed_ends_no_line() -> None:
    (cell,) = percent.read("# %%\nx = 'a\x0cb'\n")
    assert cell.source == "x = 'a\x0cb'"


def test_a_broken_mark_of_ours_is_named_with_its_line() -> None:
    with pytest.raises(UserError, match='^line 3: the marks exercise="matmul points=4 cannot be read; write them as'):
        percent.read('# %%\n1\n# %% exercise="matmul points=4\ndef f(): ...\n')
