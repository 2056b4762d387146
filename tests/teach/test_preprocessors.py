"""What nbgrader's pages get to see of a submission: plain text, pictures encoded anew, markdown that runs nothing."""

from __future__ import annotations

import base64
import copy
import io
import re
import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image, PngImagePlugin

from tito.teach.nbgrader_hooks import plain
from tito.teach.nbgrader_hooks.preprocessors import HideHidden, PlainOutputs, _add_missing, _mark

# What a page may hold of a student's markdown: these tags, and of attributes those that mistune gives lists and tables.
TAGS = "p|em|strong|del|code|pre|ul|ol|li|blockquote|br|hr|table|thead|tbody|tr|td|th|dl|dt|dd"
SAFE = re.compile(
    rf'</?(?:{TAGS}) ?/?>|<ol start="\d+">|<t[hd] style="text-align:\w+">|<a href="https?://[^"<>]*">|</a>'
    r'|<li class="task-list-item">|<input class="task-list-item-checkbox" type="checkbox" disabled(?: checked)?/>'
)
HOSTILE = [
    "<script>alert(1)</script>",
    "text <img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "[click](javascript:alert(1))",
    "[click][a]\n\n[a]: javascript:alert(1)",
    "![picture](data:image/svg+xml;base64,AAAA)",
    "![picture](https://elsewhere.test/seen.png)",
    "<javascript:alert(1)>",
    "<!-- a comment --><p>",
    "`` ` `` <b onclick=alert(1)>b</b>",
    "# score\n\nA heading gets an id",
    "- # check-create",
    "underlined\n---",
    '```mermaid\nclick A href "javascript:alert(1)"\n```',
    "$\\href{javascript:alert(1)}{x}$",
    "$\\require{html}\\style{position:fixed}{x}$",
    "\\$&#92;href{javascript:alert(1)}{x}$",
    "&lt;img src=x&gt; <im\x00g src=x>",
    "```\n```\n<script>alert(1)</script>",
    "```~",
    "~~~\n```\n~~~\n<iframe srcdoc='&lt;script>'>",
]
HARMLESS = [
    "Softmax divides by the **sum**, so that all is in (0, 1), shape [N, C]; a < b.",
    "It is $\\frac{1}{1 + e^{-x}}$, since\n\n1. `x` is large\n2. $x \\le 0$\n\n> quoted",
    "100 % & more *emphasis*, see https://arxiv.org/abs/1706.03762",
]


@pytest.mark.parametrize("source", HOSTILE)
def test_hostile_markdown_is_shown_as_text(source: str) -> None:
    rendered = markdown2html_mistune(plain.markdown(source))
    assert re.fullmatch(r"<pre><code>[^<]*</code></pre>\s*", rendered)


@pytest.mark.parametrize("source", HARMLESS)
def test_an_ordinary_answer_stays_as_it_is(source: str) -> None:
    assert plain.markdown(source) == source
    assert "<pre>" not in markdown2html_mistune(source)


PIECES = [
    *"<>[]()!#&;:\\`*_~-=|$ \n\"'/x1",
    *("script", "javascript:", "href", "onerror=", "http://", "&lt;", "&#60;", "](", "]:", "```", "~~~", "\\<", "- "),
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_whatever_stands_in_markdown_no_other_tag_comes_out(source: str) -> None:
    rendered = markdown2html_mistune(plain.markdown(source))
    assert "<" not in SAFE.sub("", rendered), rendered


@pytest.mark.parametrize("piece", ["\n", " ", "-", "> ", "`", "[", "&a", "\\a", "#", "=", "*", "- - ", "\t", "<", "1."])
def test_looking_at_markdown_takes_time_in_proportion(piece: str) -> None:
    source = (piece * 100_000)[:100_000] + "x"
    began = time.perf_counter()
    plain.markdown(source)
    assert time.perf_counter() - began < 1.0


def png(text: str = "", size: tuple[int, int] = (3, 2)) -> str:
    about = PngImagePlugin.PngInfo()
    if text:
        about.add_text("Comment", text)
    made = io.BytesIO()
    Image.new("RGB", size, (250, 120, 0)).save(made, format="PNG", pnginfo=about)
    return base64.b64encode(made.getvalue() + (b"<script>" if text else b"")).decode()


def test_a_picture_is_encoded_anew_and_brings_nothing_along() -> None:
    (made,) = plain.outputs([new_output("display_data", {"image/png": png("<script>alert(1)</script>")})])
    raw = base64.b64decode(made["data"]["image/png"])
    assert b"script" not in raw
    with Image.open(io.BytesIO(raw)) as image:
        assert (image.size, image.getpixel((0, 0)), image.info) == ((3, 2), (250, 120, 0, 255), {})


def svg() -> str:
    return base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>").decode()


@pytest.mark.parametrize("picture", ["", "no base64 %", svg(), png()[:40], png(size=(4000, 1001)), ["iVBOR", 5]])
def test_what_is_no_small_picture_is_left_out(picture: Any) -> None:
    assert plain.outputs([{"output_type": "display_data", "data": {"image/png": picture}}]) == []


def test_only_text_and_pictures_are_kept() -> None:
    rich = {"text/html": "<script>", "image/svg+xml": "<svg>", "application/javascript": "x", "text/latex": "y"}
    (made,) = plain.outputs([new_output("execute_result", {**rich, "text/plain": "4"}, metadata={"isolated": True})])
    assert made == {"output_type": "display_data", "metadata": {}, "data": {"text/plain": "4"}}


def test_output_is_limited_by_characters() -> None:
    given = [new_output("stream", text="x" * 10**6)] * 50
    assert sum(len(each["text"]) for each in plain.outputs(given)) <= plain.TEXT + 50 * len(plain.CUT)


def test_terminal_codes_and_lone_surrogates_are_taken_out() -> None:
    assert plain.text("\x1b[31mred\x1b[0m\ud800\x07 and\r\nmore", 100) == "red and\nmore"


def mended(*outputs: Any) -> list[Any]:
    cell = new_code_cell("check", outputs=list(outputs))
    PlainOutputs().preprocess(new_notebook(cells=[cell]), {})
    return list(cell.outputs)


def test_neither_stderr_nor_a_last_value_is_a_mark() -> None:
    from nbgrader.utils import determine_grade

    for output in (
        new_output("stream", name="stderr", text="a warning"),
        new_output("execute_result", {"text/plain": "0"}),
    ):
        cell = new_code_cell("check", outputs=[output])
        cell.metadata["nbgrader"] = {"grade": True, "solution": False, "points": 4}
        before = determine_grade(cell)
        cell.outputs = mended(output)
        assert (before, determine_grade(cell)) == ((0, 4), (4, 4))


def test_feedback_shows_of_a_hidden_check_only_whether_it_was_ok() -> None:
    source = (
        "# Also below zero.\n### BEGIN HIDDEN TESTS\ndef test():\n    check('f(-7)', want=49)\n### END HIDDEN TESTS"
    )
    error = new_output("error", ename="AssertionError", evalue="want 49", traceback=["check('f(-7)', want=49)"])
    cell, visible = (
        new_code_cell(source, outputs=[error]),
        new_code_cell("check('f(2)')", outputs=[copy.deepcopy(error)]),
    )
    HideHidden().preprocess(new_notebook(cells=[cell, visible]), {})
    assert "49" not in cell.source + str(cell.outputs) and cell.source.startswith("# Also below zero.")
    assert cell.outputs[0]["text"] == "not ok"
    assert visible.outputs[0]["traceback"] == ["AssertionError: want 49"]


def known(name: str, graded: bool = False) -> Any:
    table = {"grade_id": name, **({"points": 1.0} if graded else {})}
    return SimpleNamespace(cell_type="code", source=f"# {name}", metadata=table)


def cell(name: str | None) -> Any:
    made = new_code_cell("")
    if name:
        made.metadata["nbgrader"] = {"grade_id": name, "points": 1000, "grade": False}
    return made


def names(cells: list[Any]) -> list[str | None]:
    return [each.metadata.get("nbgrader", {}).get("grade_id") for each in cells]


def test_metadata_is_the_courses_and_the_first_of_two_counts() -> None:
    cells = [cell("a"), cell("a"), cell("foreign"), cell(None), cell("b")]
    notes = _mark(cells, {"a": known("a", graded=True), "b": known("b")})
    assert names(cells) == ["a", None, None, None, "b"]
    assert cells[0].metadata["nbgrader"] == {"grade_id": "a", "points": 1.0}
    assert notes == ["cell a stands here twice; the first counts"]


def test_a_deleted_check_comes_back_behind_what_stood_before_it() -> None:
    order = ["imports", "exercise", "supplied", "check", "check-more", "last"]
    table = {name: known(name, graded="check" in name) for name in order}
    cells = [cell("imports"), cell(None), cell("exercise"), cell("supplied"), cell(None), cell("last")]
    assert len(_add_missing(cells, table, order)) == 2
    assert names(cells) == ["imports", None, "exercise", "supplied", "check", "check-more", None, "last"]
