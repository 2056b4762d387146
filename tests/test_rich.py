"""A failing check in a notebook is drawn; in a terminal and in a pipe it is text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from tito.checks import CheckFailed, check, rich

SQUARE = re.compile(r'<td style="(?P<style>[^"]*background:rgb\((?P<ground>[\d,]+)\)[^"]*)">(?P<number>[^<]*)</td>')
one = np.array([[1.0, -2.0], [0.0, 4.0]], dtype=np.float32)
wide = np.zeros((40, 64), dtype=np.float32)
deep = np.arange(24).reshape(2, 3, 4)


def failed(expression: str, **more: Any) -> CheckFailed:
    with pytest.raises(CheckFailed) as caught:
        check(expression, **more)
    return caught.value


def squares(html: str) -> list[tuple[str, bool]]:
    """The numbers in the squares, and whether each is framed."""
    return [(match["number"], "outline" in match["style"]) for match in SQUARE.finditer(html)]


def test_a_square_a_number_and_a_frame_where_they_differ() -> None:
    html = rich.html(failed("one", want=np.array([[1.0, -2.0], [0.5, 4.0]]), says="Mind the <corner>."))
    want, got = squares(html)[:4], squares(html)[4:]
    assert want == [("1", False), ("-2", False), ("0.5", True), ("4", False)]
    assert got == [("1", False), ("-2", False), ("0", True), ("4", False)]
    grounds = [match["ground"] for match in SQUARE.finditer(html)][4:]
    assert grounds == ["249,233,198", "140,192,220", "255,255,255", "232,169,26"]  # orange, blue, white, more orange
    assert "first differs at [1, 0]: want 0.5, got 0; 1 of 4 differ" in html.replace(".0", "")
    assert "Mind the &lt;corner&gt;." in html and "shape (2, 2), float32" in html


def test_a_large_array_is_cut_around_the_first_difference() -> None:
    want = wide.copy()
    want[30, 50] = 7
    html = rich.html(failed("wide", want=want))
    assert len(squares(html)) == 2 * 8 * 12
    assert [number for number, framed in squares(html) if framed] == ["7", "0"]
    assert html.count("rows 26 to 33, columns 44 to 55") == 2


def test_of_several_matrices_the_one_that_differs() -> None:
    want = deep.copy()
    want[1, 2, 3] = -1
    html = rich.html(failed("deep", want=want))
    assert len(squares(html)) == 2 * 3 * 4 and html.count("at [1]") == 2


@pytest.mark.parametrize(
    "expression, want",
    [
        ("one.T[:1]", one),
        ("one / 0", one),
        ("one[:0]", one),
        ("one.sum()", np.array(1.0)),
        ("np.array(2)", 3),
        ("one > 0", np.array([[True, True], [False, True]])),
        ("[one, 1]", [one, 2]),
        ("[one, one]", [one, one + 1]),
        ("undefined", 1),
        ("np.array([2**62])", [1]),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_whatever_differs_can_be_drawn(expression: str, want: Any) -> None:
    html = rich.html(failed(expression, want=want))
    assert html.count("<td") == html.count("</td>") and html.count("<table") == html.count("</table>")
    assert "want" in html and "got" in html


def test_elsewhere_it_is_text() -> None:
    failure = failed("one", want=[[1.0]])
    assert failure._render_traceback_() == str(failure).splitlines()


def test_in_a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYTORCH_PACKAGE", str(tmp_path))
    import_ = "from tito.notebook import check\nimport numpy as np"
    cells = [nbformat.v4.new_code_cell(text) for text in (import_, 'check("np.array([1, 2])", want=[1, 3])')]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=60, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}}).execute()
    drawn, error = notebook.cells[1].outputs
    assert drawn.output_type == "display_data"
    assert squares(drawn.data["text/html"]) == [("1", False), ("3", True), ("1", False), ("2", True)]
    assert drawn.data["text/plain"] == "np.array([1, 2])\nwant  [1 3]\ngot   [1 2]"
    assert (error.output_type, error.ename) == ("error", "CheckFailed")
    assert error.traceback == ["check failed: np.array([1, 2])"]
    assert error.evalue == drawn.data["text/plain"]
