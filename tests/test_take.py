"""`tito open --from FILE`: what was written in a notebook of the site, or in another copy, comes into a workspace."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tito import release
from tito.carry import Step, carry
from tito.commands.take import _notebook_cell, lesson_of
from tito.commands.update import with_ids
from tito.course import Course
from tito.given import Given, digest
from tito.percent import Cell
from tito.studentfile import StudentCell

MINE = "@patch\ndef __add__(self: Vector, other: Vector) -> Vector:\n    return summed(self, other)"
HELPER = "def summed(a, b):\n    return Vector(a.data + b.data)"


def cell(id: str, source: Any, kind: str = "code", **more: Any) -> dict[str, Any]:
    code: dict[str, Any] = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "id": id, "metadata": {}, "source": source, **code, **more}


def answers(course: Course, key: str = "01") -> dict[str, str]:
    """The course's answers, by cell id."""
    written = (each for each in course.lesson(key).cells() if each.role == "exercise")
    return {each.id: re.sub(r" *### (BEGIN|END) SOLUTION\n", "", each.source) for each in written}


def page(course: Course, sources: Mapping[str, str], key: str = "01") -> dict[str, Any]:
    """A notebook as a lesson's page gives it: the course's cells with the reader's sources."""
    notebook = release.notebook(course.lesson(key))
    for each in notebook["cells"]:
        each["source"] = sources.get(each["id"], "".join(each["source"])).splitlines(keepends=True)
    return notebook


def ids(notebook: dict[str, Any]) -> list[str]:
    return [each["id"] for each in notebook["cells"]]


def source(notebook: dict[str, Any], id: str) -> str:
    return "".join(next(each for each in notebook["cells"] if each["id"] == id)["source"])


def backups(learner: Any) -> list[Path]:
    return sorted((learner.folder / ".tito" / "backups").glob("*"))


@pytest.fixture
def given(learner: Any) -> Callable[..., str]:
    """Puts a file beside the workspace: what names it on the command line."""

    def put(content: Any, name: str = "01_vector.ipynb") -> str:
        path = learner.folder.parent / name
        data = content if isinstance(content, bytes) else (
            content if isinstance(content, str) else json.dumps(content)
        ).encode("utf-8")  # fmt: skip
        path.write_bytes(data)
        return shlex.quote(f"../{name}")

    return put


@pytest.fixture
def percent(learner: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The learner in a workspace of percent files."""
    monkeypatch.chdir(learner.folder.parent)
    learner.tito("init py --py")
    learner.folder = learner.folder.parent / "py"
    monkeypatch.chdir(learner.folder)
    learner.said.clear()
    return learner


# Round trips


def test_what_is_said(learner: Any, given: Callable[..., str]) -> None:
    all_of_it = answers(learner.course)
    learner.tito("open --help")
    learner.said[:] = [re.sub(r"(?<=\S) {2,}|\n {6,}", "  ", learner.said[0])]  # Python 3.13 sets the columns anew
    part = page(learner.course, {id: all_of_it[id] for id in ("exercise-create", "exercise-norm")})
    learner.tito(f"open --from {given(part, '01_vector (1).ipynb')} --no-launch")
    learner.tito("test")
    learner.answer(add=MINE)
    both = page(learner.course, {**all_of_it, "twin-Vector-neg": "pass"})
    both["cells"].insert(8, cell("mine", HELPER))
    learner.tito(f"open 01 --from {given(both)}")
    learner.tito(f"open 01 --from {given(both)}")
    learner.tito("test")
    learner.tito(f"open 01 --from {given(page(learner.course, {}))}")
    learner.tito(f"open --from {given(page(learner.course, {}), 'x' * 50 + '.ipynb')}")
    learner.tito("open --no-launch")
    for name, content in (
        ("other.ipynb", page(learner.course, {}, "02")), ("none.ipynb", page(learner.course, {}) | {"cells": []}),
        ("half.ipynb", json.dumps(both)[:99]), ("new.ipynb", both | {"nbformat": 5}), ("01.given.py", "# %% given='x'"),
    ):  # fmt: skip
        assert learner.tito(f"open 01 --from {given(content, name)}")[0] == 2
    for line in ("open 01 --from ../none.py", "open 02 --from ../other.ipynb", "open --from ../other.ipynb"):
        learner.tito(line)
    learner.agrees("open_from")


def test_a_lesson_done_in_the_page_is_exported_here(learner: Any, given: Callable[..., str]) -> None:
    before = learner.notebook()
    code, _, err = learner.tito(f"open --from {given(page(learner.course, answers(learner.course)))}")
    assert (code, err, backups(learner)) == (0, "", [])  # nothing was written here yet
    notebook = learner.notebook()
    nbformat.validate(nbformat.from_dict(notebook))
    assert [each["metadata"] for each in notebook["cells"]] == [each["metadata"] for each in before["cells"]]
    assert learner.tito("export 01")[0] == 0
    code, out, _ = learner.tito(f"open --from {given(page(learner.course, answers(learner.course, '02'), '02'))}")
    assert code == 0 and out.startswith("02 line   modules/02_line.ipynb has what you wrote in 01_vector.ipynb.\n")
    assert learner.tito("export 02")[0] == 0


def test_the_file_is_made_where_it_is_missing(learner: Any, given: Callable[..., str]) -> None:
    shutil.rmtree(learner.folder / "modules")
    out = learner.tito(f"open 01 --from {given(page(learner.course, answers(learner.course)))}")[1]
    assert "load it anew" not in out and learner.tito("test 01")[0] == 0
    assert (learner.folder / "modules" / "figures" / "01_arrow.svg").exists()


def test_work_that_is_here_is_kept_in_a_backup_or_in_place(learner: Any, given: Callable[..., str]) -> None:
    learner.answer(create="", add=MINE, norm="def norm(self): ...")
    before = learner.file().read_bytes()
    theirs = {**answers(learner.course), "exercise-create": "raise NotImplementedError"}
    del theirs["exercise-add"]
    out = learner.tito(f"open 01 --from {given(page(learner.course, theirs))}")[1]
    assert "  taken    sub, norm\n" in out and "  kept     yours, as nothing is done there: create, add\n" in out
    [backup] = backups(learner)
    assert backup.read_bytes() == before and f"As it was:  .tito/backups/{backup.name}\n" in out
    notebook = learner.notebook()
    assert source(notebook, "exercise-add") == MINE and "NotImplemented" not in source(notebook, "exercise-create")
    assert source(notebook, "exercise-norm") == theirs["exercise-norm"]


def test_taking_twice_changes_nothing(learner: Any, given: Callable[..., str]) -> None:
    theirs = page(learner.course, answers(learner.course))
    theirs["cells"].insert(4, cell("mine", HELPER))
    theirs["cells"].insert(0, cell("", "On top.\n\nTwice", "markdown"))
    learner.tito(f"open 01 --from {given(theirs)}")
    before = learner.file().read_bytes()
    assert learner.tito(f"open 01 --from {given(theirs)}")[0] == 0
    assert learner.file().read_bytes() == before and backups(learner) == []


def test_cells_of_the_readers_own_stand_where_they_stood(learner: Any, given: Callable[..., str]) -> None:
    theirs = page(learner.course, {"exercise-add": MINE, "cell-3": "HALF = 0.5"})
    at = ids(theirs).index("exercise-add")
    theirs["cells"][at:at] = [cell("h1", HELPER), cell("h2", "A note.", "markdown")]
    theirs["cells"][0:0] = [cell("lite-code", "from tito.inpage import lite"), cell("top", "x = 1")]
    theirs["cells"].append(cell("h3", " \n"))
    learner.tito(f"open 01 --from {given(theirs)}")
    found = ids(learner.notebook())
    assert found[0] == "top" and "h3" not in found and "lite-code" not in found
    assert found[found.index("check-Vector-neg") + 1 :][:3] == ["h1", "h2", "exercise-add"]
    demo = learner.notebook()["cells"][found.index("cell-3") + 1]  # a demo that became a definition
    assert "".join(demo["source"]) == "HALF = 0.5" and demo["id"].startswith("yours-")
    assert "HALF" not in source(learner.notebook(), "cell-3")


def test_an_own_cell_that_was_changed_is_not_there_twice(learner: Any, given: Callable[..., str]) -> None:
    learner.save(page(learner.course, {}) | {"cells": [cell("h1", "a = 1"), *page(learner.course, {})["cells"]]})
    theirs = page(learner.course, {}) | {"cells": [*page(learner.course, {})["cells"], cell("h1", "a = 2")]}
    assert "  added    1 cell of your own\n" in learner.tito(f"open 01 --from {given(theirs)}")[1]
    assert ids(learner.notebook()).count("h1") == 1 and source(learner.notebook(), "h1") == "a = 2"


def test_parts_of_a_split_exercise_come_together(learner: Any, given: Callable[..., str]) -> None:
    grading = {"nbgrader": {"grade_id": "exercise-norm"}}
    first, rest = "SQUARE = 2", answers(learner.course)["exercise-norm"]
    theirs = page(learner.course, {"exercise-norm": first})
    at = ids(theirs).index("exercise-norm") + 1
    theirs["cells"][at:at] = [cell("p2", rest, metadata=grading), cell("p3", "SQUARE = 3", metadata=grading)]
    out = learner.tito(f"open 01 --from {given(theirs)}")[1]
    assert source(learner.notebook(), "exercise-norm") == f"{first}\n\n\n{rest}" and "p2" not in ids(learner.notebook())
    assert f"  left     in 01_vector.ipynb: exercise norm (cell {at + 2})\n" in out  # a second one, which never counts
    learner.save(theirs)
    learner.tito(f"open 01 --from {given(page(learner.course, {'exercise-norm': 'def norm(self): ...'}))}")
    assert source(learner.notebook(), "exercise-norm") == "def norm(self): ..." and "p2" not in ids(learner.notebook())


def test_an_exercise_that_is_missing_here_comes_back_in_its_place(learner: Any, given: Callable[..., str]) -> None:
    notebook = learner.notebook()
    notebook["cells"] = [each for each in notebook["cells"] if each["id"] not in ("exercise-add", "check-Vector-neg")]
    learner.save(notebook)
    learner.tito(f"open 01 --from {given(page(learner.course, {'exercise-add': MINE}))}")
    found = learner.notebook()
    assert ids(found)[ids(found).index("twin-Vector-neg") + 1] == "exercise-add"
    added = next(each for each in found["cells"] if each["id"] == "exercise-add")
    assert added["metadata"]["nbgrader"]["grade_id"] == "exercise-add" and source(found, "exercise-add") == MINE


def test_percent_files_in_all_directions(percent: Any, given: Callable[..., str]) -> None:
    theirs = page(percent.course, {**answers(percent.course), "exercise-add": MINE})
    theirs["cells"].insert(4, cell("mine", HELPER))
    theirs["cells"].insert(5, cell("note", "A *note*.\n\nTwo.", "markdown"))
    percent.tito(f"open --from {given(theirs)}")
    path = percent.file()
    assert path.suffix == ".py" and backups(percent) == [] and percent.tito("test")[0] == 0
    text = path.read_text(encoding="utf-8")
    assert f"# %%\n{HELPER}\n\n\n# %% [markdown]\n# A *note*.\n" in text
    percent.tito(f"open --from {given(theirs)}")
    assert path.read_text(encoding="utf-8") == text
    percent.tito("reset 01")
    crlf = ("\ufeff" + text.replace("\n", "\r\n")).encode("utf-8")
    percent.tito(f"open --from {given(crlf, 'earlier.py')}")
    assert path.read_text(encoding="utf-8") == text
    percent.tito("reset 01")
    assert "added" not in percent.tito(f"open --from {given(path.read_text(encoding='utf-8'), 'untouched.py')}")[1]


def test_a_percent_file_comes_into_a_notebook(learner: Any, given: Callable[..., str]) -> None:
    text = release.percent_text(learner.course.lesson("01"), solutions=True)
    text = re.sub(r" *### (BEGIN|END) SOLUTION\n", "", text).replace("\n", "\r\n")
    assert "  taken    create, add, sub, norm\n" in learner.tito(f"open --from {given(text, 'v.py')}")[1]
    assert learner.tito("test")[0] == 0 and "\r" not in json.dumps(learner.notebook())


def test_line_ends_of_windows_make_no_difference(learner: Any, given: Callable[..., str]) -> None:
    theirs = page(learner.course, {id: text.replace("\n", "\r\n") for id, text in answers(learner.course).items()})
    learner.tito(f"open --from {given(json.dumps(theirs, indent=1).replace(chr(10), chr(13) + chr(10)))}")
    learner.tito(f"open --from {given(page(learner.course, answers(learner.course)))}")
    assert "  same     create, add, sub, norm\n" in learner.said[-1] and "\\r" not in json.dumps(learner.notebook())


# What comes from elsewhere


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is broken, line 1, column 1"),
        (b"[]", "is broken, it holds JSON but no notebook"),
        (b'{"nbformat": 4}', "is broken, it has no list of cells"),
        (b'{"nbformat": 4, "cells": [1]}', "is broken, cell 1 has no type or no source"),
        (b'{"nbformat": 3, "cells": []}', "its format 3.0 is too old"),
        (b'{"nbformat": 4, "nbformat_minor": 6, "cells": []}', "is newer than 4.5; upgrade"),
        (b"\xff\xfe{\x00", "is UTF-16, not UTF-8"),
        (b'{"a": "\xff"}', "is not UTF-8 at byte 7"),
        (b"[" * 10**5, "is nested more than 64 levels deep"),
        (b'{"nbformat": 4, "cells": [' + b"[]," * 10**6 + b"[]]}", "values, the most is"),
        (b'{"nbformat": 4, "n": 1' + b"0" * 5000 + b"}", "is broken, Exceeds the limit"),
        (
            b'{"nbformat": 4, "cells": [{"cell_type": "code", "id": "exercise-add", "source": "\\ud800"}]}',
            "holds half a character (U+D800)",
        ),
        (
            b'{"nbformat": 4, "cells": [{"cell_type": "co\\u001bde", "id": "exercise-add", "source": ""}]}',
            "has in cell 1 a 'co\\x1bde', which is no kind of cell",
        ),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_a_hostile_notebook_changes_nothing(
    learner: Any, given: Callable[..., str], content: bytes, reason: str
) -> None:
    shutil.rmtree(learner.folder / "modules")
    before = sorted(learner.folder.rglob("*"))
    code, out, err = learner.tito(f"open 01 --from {given(content)}")
    assert (code, out) == (2, "") and reason in err
    assert err.endswith("then repeat: tito open 01 --from ../01_vector.ipynb\n") and err.count("\n") == 1
    assert sorted(learner.folder.rglob("*")) == before and "\x1b" not in err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"# %%\n" * 3000, "has over 2000 cells"),
        (b"#" * 1_000_001, "has more than 1 MB"),
        (b"\xff", "is not UTF-8 at byte 0"),
        (b'# %% exercise="add\n', "cannot be read, line 1: the marks"),
    ],
)
def test_a_hostile_percent_file_changes_nothing(
    learner: Any, given: Callable[..., str], content: bytes, reason: str
) -> None:
    before = learner.file().read_bytes()
    code, out, err = learner.tito(f"open 01 --from {given(content, 'x.py')}")
    assert (code, out, learner.file().read_bytes()) == (2, "", before) and reason in err
    assert err.endswith("then repeat: tito open 01 --from ../x.py\n") and err.count("\n") == 1


def test_what_is_no_file_is_not_read(learner: Any) -> None:
    os.mkfifo(learner.folder.parent / "pipe.ipynb")
    for name in ("../pipe.ipynb", "/dev/zero", "..", "../none.ipynb", "''"):
        code, _, err = learner.tito(f"open 01 --from {name}")
        assert code == 2 and err.startswith("there is no file ")


def test_only_text_comes_over(learner: Any, given: Callable[..., str]) -> None:
    evil = {"nbgrader": {"grade_id": "x", "solution": True}, "deletable": False}
    shown = [{"output_type": "display_data", "metadata": {}, "data": {"text/html": "<script>"}}]
    theirs = page(learner.course, {"exercise-add": MINE, "check-add": "assert True", "imports": "import os"})
    theirs["metadata"]["kernelspec"] = {"name": "evil", "display_name": "evil"}
    for each in theirs["cells"]:
        each["metadata"]["evil"] = each["outputs"] = shown
    theirs["cells"] += [
        cell("a b", "x = 1", metadata=evil, outputs=shown, attachments={}),
        cell("i" * 65, "y = 1"),
        cell("check-mine", "z = 1"),
        cell("cell-99", "w = 1"),
        cell("exercise-\x1b[31m", "v = 1"),
        cell("exercise-\x1b[31m", "v = 2"),
    ]
    before = learner.notebook()
    out = learner.tito(f"open 01 --from {given(theirs)}")[1]
    notebook = learner.notebook()
    nbformat.validate(nbformat.from_dict(notebook))
    text = json.dumps(notebook)
    assert "evil" not in text and "script" not in text and "\x1b" not in out + text.encode().decode("unicode_escape")
    new = [each for each in notebook["cells"] if each["id"] not in ids(before)]
    assert ["".join(each["source"]) for each in new] == ["x = 1", "y = 1", "v = 1"]
    assert [each["id"][:6] for each in new] == ["x", "yours-", "yours-"] and not any(each["metadata"] for each in new)
    assert source(notebook, "check-add") == source(before, "check-add")
    assert source(notebook, "imports") == source(before, "imports") and "imports (cell 2)" in out


@pytest.mark.parametrize(
    "text", ['x = 1\n\n# %% check="add"\nassert True', 'x = """', "# %%\nx = 1", 'x = 1\n# %% exercise="norm"\n1']
)
def test_text_that_would_become_other_cells_is_refused(percent: Any, given: Callable[..., str], text: str) -> None:
    before = percent.file().read_bytes()
    for theirs in (page(percent.course, {"exercise-add": text}), page(percent.course, {})):
        theirs["cells"].insert(3, cell("mine", text))
        code, out, err = percent.tito(f"open 01 --from {given(theirs)}")
        assert (code, out, percent.file().read_bytes()) == (2, "", before) and backups(percent) == []
        assert "has an open string, or a line that begins a cell of a .py file; change it, then repeat: tito" in err
    note = page(percent.course, {"exercise-add": MINE})
    note["cells"].append(cell("note", "%% exercise='sub'", "markdown"))
    assert percent.tito(f"open 01 --from {given(note)}")[0] == 2


def test_a_file_here_that_cannot_be_read_stays(learner: Any, given: Callable[..., str]) -> None:
    learner.file().write_text("{", encoding="utf-8")
    code, out, err = learner.tito(f"open 01 --from {given(page(learner.course, answers(learner.course)))}")
    assert (code, out, learner.file().read_text(encoding="utf-8")) == (2, "", "{") and "tito reset 01" in err


def test_another_lessons_cells_stay_behind(learner: Any, given: Callable[..., str]) -> None:
    theirs = page(learner.course, {"exercise-add": MINE})
    theirs["cells"] += page(learner.course, answers(learner.course, "02"), "02")["cells"]
    out = learner.tito(f"open --from {given(theirs)}")[1]
    assert "exercise dot (cell " in out and "taken    add\n" in out
    assert not any("Line" in "".join(each["source"]) for each in learner.notebook()["cells"])


def test_a_file_that_may_be_of_two_lessons_is_asked_about(learner: Any, given: Callable[..., str]) -> None:
    both = page(learner.course, {}) | {"cells": [cell("exercise-add", MINE), cell("exercise-dot", "x = 1")]}
    code, _, err = learner.tito(f"open --from {given(both)}")
    assert (
        code == 2 and "may be of 01 vector or 02 line; name one, as in: tito open 01 --from ../01_vector.ipynb" in err
    )
    assert learner.tito(f"open 01 --from {given(both)}")[0] == 0


@pytest.mark.parametrize("lesson", Course.find().everything, ids=lambda lesson: str(lesson.stem))
def test_each_lesson_is_known_by_its_cells(lesson: Any) -> None:
    cells = [StudentCell(i, each.kind, each.source, each.id) for i, each in enumerate(lesson.cells(), 1)]
    assert lesson_of(Course.find(), cells, None, Path("x")) == lesson


def test_an_elective_is_known_too(with_elective: Callable[..., Course], tmp_path: Path) -> None:
    course = with_elective(tmp_path / "more")
    cells = [StudentCell(i, each.kind, each.source, each.id) for i, each in enumerate(course.lesson("e1").cells(), 1)]
    assert lesson_of(course, cells, None, Path("x")) == course.lesson("e1")


# One cell


STUB = 'def f():\n    """As asked."""\n    raise NotImplementedError\n\n\ndef g():\n    raise NotImplementedError'
OLD = STUB.replace("As asked.", "As it was asked.")
BEGUN = STUB.replace("    raise", "    x = 1\n    raise", 1)
HALF = STUB.replace("raise NotImplementedError", "return 1", 1)


@pytest.mark.parametrize(
    ("mine", "theirs", "list", "text"),
    [
        (STUB, STUB, "open", STUB),
        (STUB, "# nothing", "open", STUB),
        (STUB, BEGUN, "taken", BEGUN),
        (OLD, STUB, "open", OLD),  # the stub that was given here
        (HALF, STUB, "kept", HALF),
        (HALF, OLD, "kept", HALF),
        (HALF, "", "kept", HALF),
        (HALF, BEGUN, "kept", HALF),
        (HALF, STUB.replace("def f()", "def f(x)"), "kept", HALF),  # a stub of another version
        (BEGUN, HALF, "taken", HALF),
        (HALF, HALF + "  \n\n", "same", HALF),
        (HALF, HALF + "\n# more", "taken", HALF + "\n# more"),
    ],
)
def test_a_stub_never_takes_the_place_of_work(mine: str, theirs: str, list: str, text: str) -> None:
    course = [Cell("code", {"exercise": "f"}, STUB, 1, 1)]
    own, copy = ([StudentCell(1, "code", one, "exercise-f")] for one in (mine, theirs))
    carried = carry(course, own, copy, [Given("exercise-f", "code", digest(OLD))])
    assert getattr(carried, list) == ["f"]
    [step] = carried.steps
    assert (mine if step.source is None else step.source) == text


def test_answers_in_words_and_cells_of_another_kind() -> None:
    course = [Cell("markdown", {"answer": "think 1"}, "YOUR ANSWER HERE", 1, 1), Cell("code", {"exercise": "f"}, STUB)]
    own = [StudentCell(1, "markdown", "YOUR ANSWER HERE", "answer-think-1"), StudentCell(2, "code", STUB, "exercise-f")]
    copy = [
        StudentCell(1, "markdown", "Because.", "answer-think-1"),
        StudentCell(2, "markdown", "No idea.", "exercise-f"),
    ]
    carried = carry(course, own, copy, [])
    assert (carried.taken, carried.open, carried.left) == (["think 1"], ["f"], ["exercise f (cell 2)"])


def test_an_answer_to_what_the_lesson_has_no_more_comes_as_a_cell(learner: Any, given: Callable[..., str]) -> None:
    theirs = page(learner.course, {})
    theirs["cells"] += [
        cell("exercise-old", "def old(): pass"),
        cell("exercise-older", STUB),
        cell("twin-old", "x = 1"),
    ]
    learner.tito(f"open --from {given(theirs)}")
    assert learner.notebook()["cells"][-1]["source"] == ["def old(): pass"]
    assert learner.notebook()["cells"][-1]["id"].startswith("yours-")  # the course's ids are for its own cells


def test_a_cell_of_another_kind_here_becomes_that_of_the_text() -> None:
    for kind, other in (("markdown", "code"), ("code", "markdown")):
        step = Step(own=0, source="x", copy=StudentCell(1, kind, "x", "a"))
        made = _notebook_cell(step, [cell("here", "y", other, metadata={"m": 1})], [])
        assert made == cell("here", ["x"], kind, metadata={"m": 1})


def test_many_cells_do_not_take_long(learner: Any, given: Callable[..., str]) -> None:
    many = page(learner.course, {})
    many["cells"] += [cell(f"m{i}", f"x = {i}\n" * 50) for i in range(1900)]
    learner.tito(f"open --from {given(many)}")
    assert len(learner.notebook()["cells"]) > 1900
    assert "nothing in 01_vector.ipynb" in learner.tito(f"open --from {given(many)}")[1]


def test_new_ids_are_no_old_ones() -> None:
    made = with_ids([{"id": "a"}, {"id": "yours-3"}, {}, {"id": "a"}, {"id": "yours-4"}, {"id": None}])
    assert len({each["id"] for each in made}) == 6 and made[1]["id"] == "yours-3" and made[4]["id"] == "yours-4"
