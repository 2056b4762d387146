"""`tito update`: the course's new text comes, all that is the learner's stays, and it can be undone."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tito import given
from tito.course import Course
from tito.percent import Cell
from tito.revise import revise
from tito.studentfile import StudentCell
from tito.workspace import Workspace

SCALE = '''# %% exercise="scale" points=1
@patch
def scale(self: Vector, by: float) -> Vector:
    """`by` times as long. About 1 line."""
    ### BEGIN SOLUTION
    return Vector(self.data * by)
    ### END SOLUTION


# %% check="scale" points=1
def test_unit_scale():
    check("Vector([1, 2]).scale(2).data", want=[2, 4])


test_unit_scale()

# %% supplied'''
CHANGES = {
    "# Two numbers that belong together:": "# Numbers that belong together.\n\n# %% [markdown]\n# Look:",
    "np.array([3, 4]) * 2": "np.array([3, 4]) * 3",
    "return Vector(-self.data)": "return Vector(-1 * self.data)",
    '"""`(n,) + (n,) -> (n,)`. About 1 line."""': '"""`(n,) + (n,) -> (n,)`, as new. About 1 line."""',
    "want=[11, 22, 33])\n": 'want=[11, 22, 33])\n    check("(Vector([1]) + Vector([2])).data", want=[3])\n',
    '# %% supplied="Vector.repr"': SCALE + '="Vector.repr"',
    "# %% [markdown]\n# And that is all.\n": "",
}
OURS = '''@patch
def __add__(self: Vector, other: Vector) -> Vector:
    """Mine."""
    return Vector(summed(self.data, other.data))'''
HELPER = "def summed(a, b):\n    return a + b"


@pytest.fixture
def newer(learner: Any, tmp_path: Path) -> Callable[[], Course]:
    """Makes the learner's course a newer one."""

    def change() -> Course:
        root = tmp_path / "newer"
        shutil.copytree(learner.course.root, root)
        source = root / "modules" / "01_vector" / "vector.py"
        text = source.read_text(encoding="utf-8")
        for old, new in CHANGES.items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        source.write_text(text, encoding="utf-8")
        (source.parent / "figures" / "01_arrow.svg").write_text("<svg/>", encoding="utf-8")
        (source.parent / "figures" / "01_two.svg").write_text("<svg/>", encoding="utf-8")
        learner.course = Course.load(root)
        return Course.load(root)

    return change


def cell(id: str, source: str, kind: str = "code", **metadata: Any) -> dict[str, Any]:
    code: dict[str, Any] = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "id": id, "metadata": metadata, "source": source, **code}


def work(learner: Any) -> None:
    """What a learner does to a notebook: answers, helpers, notes, a changed twin, a play with a demo."""
    learner.answer(create="", add=OURS, norm="")
    notebook = learner.notebook()
    cells = {each["id"]: each for each in notebook["cells"]}
    cells["twin-Vector-neg"]["source"] = (
        "@patch\ndef __neg__(self: Vector) -> Vector:\n    return Vector(0 - self.data)"
    )
    cells["cell-3"]["source"] = "np.array([3, 4]) * 99"
    cells["exercise-create"]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "made"}]
    after = {
        "cell-1": cell("a1", "My notes at the top.", "markdown"),
        "check-create": cell("a2", "Vector([1])"),
        "exercise-norm": cell("a3", "# a trial\nVector([3, 4]).norm()"),
    }
    own = [cell("a0", HELPER)] + [one for each in notebook["cells"] for one in (each, after.get(each["id"])) if one]
    notebook["cells"] = [own[1], own[0], *own[2:], cell("a4", "The end is mine.", "markdown")]
    learner.save(notebook)


def ids(notebook: dict[str, Any]) -> list[str]:
    return [each["id"] for each in notebook["cells"]]


def source(notebook: dict[str, Any], id: str) -> str:
    return "".join(next(each for each in notebook["cells"] if each["id"] == id)["source"])


def test_new_text_comes_and_all_that_is_theirs_stays(learner: Any, newer: Callable[[], Course]) -> None:
    work(learner)
    learner.tito("update 01")
    before = learner.file().read_bytes()
    newer()
    code, out, err = learner.tito("update 01")
    assert (code, err) == (0, "") and len(out.splitlines()) <= 12 and max(map(len, out.splitlines())) <= 78
    notebook = learner.notebook()
    nbformat.validate(nbformat.from_dict(notebook))
    shown = [id for id in ids(notebook) if not id.startswith(("check", "cell-"))]
    assert shown == [
        "a0", "a1", "imports", "exercise-create", "a2", "twin-Vector-neg", "exercise-add", "exercise-sub",
        "exercise-scale", "supplied-Vector-repr", "exercise-norm", "a3", "a4",
    ]  # fmt: skip
    assert source(notebook, "exercise-add") == OURS and source(notebook, "a0") == HELPER
    assert "-1 * self.data" in source(notebook, "twin-Vector-neg")
    assert "want=[3]" in source(notebook, "check-add")
    assert next(each for each in notebook["cells"] if each["id"] == "exercise-create")["outputs"]
    assert (learner.folder / "modules" / "figures" / "01_two.svg").exists()
    [backup] = (learner.folder / ".tito" / "backups").glob("*.ipynb")
    assert backup.read_bytes() == before
    learner.tito("update 01")
    assert learner.notebook() == notebook
    learner.tito("test 01")
    learner.tito("update 01 --undo")
    assert learner.file().read_bytes() == before
    learner.tito("update 01 --undo")
    learner.tito("update 01")
    learner.agrees("update")


def test_a_file_that_is_not_touched_becomes_that_of_the_new_course(learner: Any, newer: Callable[[], Course]) -> None:
    newer()
    learner.tito("update 01")
    updated = learner.file().read_text(encoding="utf-8")
    learner.tito("reset 01")
    assert json.loads(updated)["cells"] == learner.notebook()["cells"]


def test_a_workspace_of_an_older_tito(learner: Any, newer: Callable[[], Course]) -> None:
    work(learner)
    shutil.rmtree(learner.folder / ".tito" / "given")
    assert "nothing to do" not in learner.tito("update 01")[1]  # the learner's own changes cannot be told from ours
    learner.tito("update 01 --undo")
    newer()
    shutil.rmtree(learner.folder / ".tito" / "given", ignore_errors=True)
    learner.tito("update 01")
    notebook = learner.notebook()
    assert {"a0", "a1", "a2", "a3", "a4", "exercise-scale"} <= set(ids(notebook))
    assert source(notebook, "exercise-add") == OURS


def test_percent_files(learner: Any, newer: Callable[[], Course], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(learner.folder.parent)
    learner.tito("init py --py")
    learner.folder = learner.folder.parent / "py"
    monkeypatch.chdir(learner.folder)
    path = learner.file()
    text = path.read_text(encoding="utf-8")
    head = "# ---\n# jupyter:\n#   kernelspec:\n#     name: python3\n# ---\n\n"
    text = text.replace("Two numbers", "Two or more numbers").replace("# %% twin", "# %%\nmine = 1\n\n# %% twin")
    text = re.sub(r"(class Vector:.*?)raise NotImplementedError", r"\1self.data = np.array(numbers)", text, flags=re.S)
    path.write_text(head + text, encoding="utf-8")
    newer()
    assert learner.tito("update 01")[0] == 0
    updated = path.read_text(encoding="utf-8")
    assert updated.startswith(head + "# %% [markdown]\n# # 01 Vectors\n#\n# Numbers that belong together.\n")
    assert updated.index("mine = 1") < updated.index("# %% twin") and "self.data = np.array(numbers)" in updated
    assert "Two or more" not in updated and updated.count('exercise="scale"') == 1
    learner.tito("update 01 --undo")
    assert path.read_text(encoding="utf-8") == head + text
    path.write_text(text.replace("by adding the negative.", '"""'), encoding="utf-8")
    learner.tito("update 01")
    code, _, err = learner.tito("update 01")
    assert (code, err) == (0, "") or "is no Python" in err


def test_an_open_string_is_mended_first(learner: Any, newer: Callable[[], Course], monkeypatch: Any) -> None:
    monkeypatch.chdir(learner.folder.parent)
    learner.tito("init py --py")
    learner.folder = learner.folder.parent / "py"
    monkeypatch.chdir(learner.folder)
    path = learner.file()
    path.write_text(path.read_text(encoding="utf-8") + '\n# %%\nx = """\n\n# %%\ny = 1\n', encoding="utf-8")
    before = path.read_bytes()
    newer()
    code, _, err = learner.tito("update 01")
    assert (code, path.read_bytes()) == (2, before)
    assert "is no Python, and hides the next; mend it: tito test 01" in err


def test_undo_keeps_what_was_written_since(learner: Any, newer: Callable[[], Course]) -> None:
    newer()
    learner.tito("update 01")
    learner.answer(scale="def later(): pass")
    learner.tito("update 01 --undo")
    backups = [path.read_text(encoding="utf-8") for path in (learner.folder / ".tito" / "backups").glob("*.ipynb")]
    assert any("def later" in text for text in backups)
    learner.tito("update 01")
    for backup in (learner.folder / ".tito" / "backups").iterdir():
        backup.unlink()
    code, _, err = learner.tito("update 01 --undo")
    assert code == 2 and "is gone, so the update stays; go on with: tito test 01" in err


NEW = [Cell("code", {"title": "imports"}, "import x"), Cell("code", {"exercise": "f"}, "stub new")]
OLD = [given.Given("imports", "code", given.digest("import x"))]


def kept(own: list[StudentCell], before: list[given.Given]) -> list[str]:
    revision = revise(NEW, own, before)
    return [own[s.own].source if s.own is not None and s.keep else NEW[s.course or 0].source for s in revision.steps]


@pytest.mark.parametrize(
    "stub, mine, expected",
    [
        ("stub old", "stub old", "stub new"),  # untouched
        ("stub old", "answer", "answer"),
        ("stub new", "answer", "answer"),
        ("stub new", "", ""),  # even one that was emptied
    ],
)
def test_an_answer_and_a_stub(stub: str, mine: str, expected: str) -> None:
    own = [StudentCell(1, "code", "import x", "imports"), StudentCell(2, "code", mine, "exercise-f")]
    assert kept(own, [*OLD, given.Given("exercise-f", "code", given.digest(stub))])[1] == expected


def test_a_split_answer_stays_together_and_a_lost_exercise_stays() -> None:
    sources = {"exercise-f": "one", "mine": "two", "exercise-g": "old answer", "check-g": "gone"}
    own = [StudentCell(i, "code", text, id) for i, (id, text) in enumerate(sources.items(), 1)]
    own.insert(1, StudentCell(9, "code", "rest", "exercise-f"))
    known = [*OLD, given.Given("exercise-g", "code", "0"), given.Given("check-g", "code", given.digest("gone"))]
    revision = revise(NEW, own, known)
    assert kept(own, known) == ["import x", "one", "rest", "two", "old answer"]
    assert revision.gone == ["check g"] and revision.notes == ["g (cell 3) is no exercise any more; yours stays"]


def test_what_is_remembered_may_be_damaged(learner: Any, newer: Callable[[], Course]) -> None:
    workspace, lesson = Workspace.find(learner.folder), learner.course.lesson("01")
    for text in ("[", "[]", '{"cells": 3}', '{"cells": [1, ["a"], ["a", "b", 3]], "before": 1}', '{"before": {}}'):
        given.path_of(workspace, lesson).write_text(text, encoding="utf-8")
        assert given.recall(workspace, lesson) == [] and given.before(workspace, lesson) is None
    assert os.listdir(given.path_of(workspace, lesson).parent) == ["01_vector.json"]
