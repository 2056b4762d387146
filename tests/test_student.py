"""A student's file, read and planned: whole, moved, deleted, copied, broken."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tito import pycell, release, student
from tito.course import Course, Lesson
from tito.errors import UserError

MakeLesson = Callable[..., Lesson]

WRITTEN = [lesson for lesson in Course.find().everything if lesson.source.is_file()]
IN_ORDER = [
    "imports",
    "exercise-Box",
    "supplied-Box-wrap",
    "twin-Add",
    "exercise-Sub",
    "check-Box",
    "check-Add",
    "check-Sub",
]
ANSWER = "class Sub:\n    def forward(self, a, b):\n        return a - b"


class Notebook:
    """A student's notebook that a test changes as a student would."""

    def __init__(self, lesson: Lesson, folder: Path) -> None:
        self.lesson = lesson
        self.path = folder / "01_toy.ipynb"
        self.json: dict[str, Any] = release.notebook(lesson)
        self.cells: list[dict[str, Any]] = self.json["cells"]

    def at(self, id: str) -> int:
        return next(i for i, cell in enumerate(self.cells) if cell["id"] == id)

    def write(self, id: str, source: str) -> None:
        self.cells[self.at(id)]["source"] = source

    def add(self, before: str, source: str, kind: str = "code", id: str = "f00d") -> None:
        self.cells.insert(self.at(before), {"cell_type": kind, "id": id, "metadata": {}, "source": source})

    def move(self, id: str, to: int) -> None:
        self.cells.insert(to, self.cells.pop(self.at(id)))

    def plan(self) -> student.Plan:
        self.path.write_text(json.dumps(self.json), encoding="utf-8")
        return student.plan(self.lesson, student.read(self.path))


@pytest.fixture
def notebook(toy: Lesson, tmp_path: Path) -> Notebook:
    return Notebook(toy, tmp_path)


def ids(plan: student.Plan) -> list[str]:
    return [cell.id for cell in plan.cells]


def one(plan: student.Plan, id: str) -> student.PlanCell:
    (cell,) = [cell for cell in plan.cells if cell.id == id]
    return cell


def percent_plan(lesson: Lesson, folder: Path, text: str) -> student.Plan:
    path = folder / "modules" / "01_toy.py"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode())
    return student.plan(lesson, student.read(path))


# A plan of an untouched file


def test_an_untouched_notebook_runs_as_it_is(notebook: Notebook) -> None:
    plan = notebook.plan()
    assert ids(plan) == IN_ORDER
    assert plan.notes == ()
    assert [cell.number for cell in plan.cells] == [3, 4, 7, 9, 12, 5, 10, 13]
    assert [cell.file for cell in plan.cells] == [f"<cell {cell.number}>" for cell in plan.cells]
    assert all(cell.error is None and cell.line == 1 for cell in plan.cells)
    assert [cell.role for cell in plan.checks] == ["check"] * 3
    assert [cell.role for cell in plan.definitions] == ["imports", "exercise", "supplied", "twin", "exercise"]
    assert one(plan, "exercise-Box").name == one(plan, "check-Box").name == "Box"


def test_an_untouched_percent_file_runs_as_it_is(toy: Lesson, tmp_path: Path) -> None:
    text = release.percent_text(toy)
    plan = percent_plan(toy, tmp_path, text)
    assert ids(plan) == IN_ORDER and plan.notes == ()
    assert [cell.number for cell in plan.cells] == [3, 4, 7, 9, 12, 5, 10, 13]
    for cell in plan.cells:
        assert cell.file == "modules/01_toy.py"
        height = cell.source.count("\n") + 1
        assert text.split("\n")[cell.line - 1 : cell.line - 1 + height] == cell.source.split("\n")


@pytest.mark.parametrize("lesson", WRITTEN, ids=lambda lesson: str(lesson.stem))
@pytest.mark.parametrize("ending", [".ipynb", ".py"])
def test_every_lesson_is_planned_without_a_note(lesson: Lesson, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"{lesson.stem}{ending}"
    text = release.percent_text(lesson) if ending == ".py" else release.notebook_text(lesson)
    path.write_text(text, encoding="utf-8")
    plan = student.plan(lesson, student.read(path))
    roles = ("imports", "exercise", "twin", "supplied")
    assert [cell.id for cell in plan.definitions] == [cell.id for cell in lesson.cells() if cell.role in roles]
    assert [cell.id for cell in plan.checks] == [c.id for c in lesson.cells() if c.role == "check" and not c.hidden]
    assert plan.notes == () and all(cell.error is None for cell in plan.cells)


def test_the_students_answer_is_what_runs(notebook: Notebook) -> None:
    notebook.write("exercise-Sub", ANSWER)
    assert one(notebook.plan(), "exercise-Sub").source == ANSWER


def test_windows_line_ends_are_read(toy: Lesson, tmp_path: Path) -> None:
    text = "\ufeff" + release.percent_text(toy).replace("\n", "\r\n")
    assert percent_plan(toy, tmp_path, text) == percent_plan(toy, tmp_path, release.percent_text(toy))


# Cells that were moved, deleted, copied, retyped


def test_moved_cells_run_in_course_order(notebook: Notebook) -> None:
    notebook.cells.reverse()
    plan = notebook.plan()
    assert ids(plan) == IN_ORDER and plan.notes == ()
    assert one(plan, "imports").number == len(notebook.cells) - 2


def test_the_metadata_may_be_gone_as_long_as_the_ids_are_there(notebook: Notebook) -> None:
    for cell in notebook.cells:
        cell["metadata"] = {}
    assert ids(notebook.plan()) == IN_ORDER


def test_nbgraders_name_counts_before_jupyters(notebook: Notebook) -> None:
    for cell in notebook.cells:
        cell["id"] = "x" + cell["id"]
    assert ids(notebook.plan())[:3] == IN_ORDER[:3]


def test_a_deleted_exercise_is_its_stub(notebook: Notebook) -> None:
    del notebook.cells[notebook.at("exercise-Sub")]
    plan = notebook.plan()
    assert ids(plan) == IN_ORDER
    assert plan.notes == ("exercise Sub is missing; its stub is used",)
    cell = one(plan, "exercise-Sub")
    assert (cell.number, cell.file, cell.line) == (0, "<exercise-Sub>", 1)
    assert cell.source.endswith("raise NotImplementedError")


@pytest.mark.parametrize("source", ["", "  \n", "# later\n# I promise", "%matplotlib inline\n# x"])
def test_an_exercise_without_code_is_its_stub(notebook: Notebook, source: str) -> None:
    notebook.write("exercise-Sub", source)
    plan = notebook.plan()
    assert plan.notes == ("exercise Sub is empty (cell 12); its stub is used",)
    assert one(plan, "exercise-Sub").source.endswith("raise NotImplementedError")


@pytest.mark.parametrize("id", ["imports", "supplied-Box-wrap", "twin-Add", "check-Add"])
def test_a_deleted_given_cell_is_the_original(notebook: Notebook, id: str) -> None:
    original = "".join(notebook.cells.pop(notebook.at(id))["source"])
    plan = notebook.plan()
    assert ids(plan) == IN_ORDER
    assert one(plan, id).source == original and one(plan, id).number == 0
    (note,) = plan.notes
    assert note.endswith(" is missing; the original is used")


def test_all_cells_deleted_is_a_lesson_not_begun(notebook: Notebook) -> None:
    notebook.cells.clear()
    plan = notebook.plan()
    assert ids(plan) == IN_ORDER
    assert plan.notes == ("none of the lesson's cells is here; put them back with: tito reset 01",)


def test_of_two_cells_of_one_name_the_first_counts(notebook: Notebook) -> None:
    copy = {**notebook.cells[notebook.at("exercise-Sub")], "id": "c0ffee", "source": "class Sub: pass"}
    notebook.cells.append(copy)
    plan = notebook.plan()
    assert ids(plan) == IN_ORDER
    assert plan.notes == ("cells 12 and 14 are both exercise Sub; the first counts",)
    assert "raise NotImplementedError" in one(plan, "exercise-Sub").source


def test_a_cell_that_was_split_is_run_in_its_parts(notebook: Notebook) -> None:
    at = notebook.at("exercise-Sub")
    first = notebook.cells[at]
    notebook.cells.insert(at + 1, {**first, "id": "f00d", "source": "class Helper:\n    pass"})
    plan = notebook.plan()
    assert plan.notes == ()
    parts = [cell for cell in plan.cells if cell.id == "exercise-Sub"]
    assert [(cell.number, cell.role, cell.name) for cell in parts] == [(12, "exercise", "Sub"), (13, "exercise", "Sub")]
    assert ids(plan)[4:6] == ["exercise-Sub"] * 2


def test_imports_that_lack_something_follow_the_original(notebook: Notebook) -> None:
    notebook.write("imports", "import operator")
    plan = notebook.plan()
    assert [(cell.id, cell.number) for cell in plan.cells[:2]] == [("imports", 0), ("imports", 3)]
    assert plan.notes == ("imports (cell 3) lacks lines; the course's run before it",)


def test_imports_may_grow(notebook: Notebook) -> None:
    notebook.write("imports", "import operator\n" + "".join(notebook.cells[notebook.at("imports")]["source"]))
    plan = notebook.plan()
    assert ids(plan) == IN_ORDER and plan.notes == ()


@pytest.mark.parametrize("source", ["def {}(x):\n    return x", "class {}:\n    pass", "{} = 3"])
@pytest.mark.parametrize("name", ["Add", "Box", "patch", "list"])
def test_a_name_that_is_taken_is_noted(notebook: Notebook, source: str, name: str) -> None:
    notebook.add("check-Sub", source.format(name))
    assert notebook.plan().notes == (f"cell 13 defines {name} anew; call yours something else",)


def test_a_patch_and_an_exercises_own_names_are_not_noted(notebook: Notebook) -> None:
    notebook.write("exercise-Sub", ANSWER + "\n\n\ndef _helper(x):\n    return x")
    notebook.add("check-Sub", "@patch\ndef sum(self: Box):\n    return 3\n\n\nimport builtins\nmine = 3")
    assert notebook.plan().notes == ()


def test_a_copied_demo_is_nobodys_business(notebook: Notebook) -> None:
    notebook.cells.append(notebook.cells[notebook.at("cell-2")])
    plan = notebook.plan()
    assert ids(plan) == IN_ORDER and plan.notes == ()


def test_an_exercise_turned_into_text_is_its_stub(notebook: Notebook) -> None:
    notebook.cells[notebook.at("exercise-Sub")]["cell_type"] = "markdown"
    plan = notebook.plan()
    assert plan.notes == ("exercise Sub has become a text cell (cell 12); its stub is used",)
    assert one(plan, "exercise-Sub").number == 0


def test_a_changed_twin_is_used_and_named(notebook: Notebook) -> None:
    notebook.write("twin-Add", "class Add:\n    pass")
    plan = notebook.plan()
    assert plan.notes == ("twin Add (cell 9) is not the course's text; yours is used",)
    assert one(plan, "twin-Add").source == "class Add:\n    pass"


@pytest.mark.parametrize("kind", ["code", "raw"])
def test_a_changed_check_is_the_original(notebook: Notebook, kind: str) -> None:
    notebook.write("check-Sub", "assert True")
    notebook.cells[notebook.at("check-Sub")]["cell_type"] = kind
    plan = notebook.plan()
    assert plan.notes == ("check Sub (cell 13) was changed; the original is used",)
    check = one(plan, "check-Sub")
    assert check.source == next(cell.source for cell in notebook.lesson.cells() if cell.id == "check-Sub")
    assert (check.number, check.file) == (13, "<check-Sub>")


def test_a_check_that_was_only_laid_out_anew_is_not_changed(notebook: Notebook) -> None:
    old = "".join(notebook.cells[notebook.at("check-Sub")]["source"])
    notebook.write("check-Sub", "# mine\n" + old.replace('"', "'") + "\n\n")
    plan = notebook.plan()
    assert plan.notes == ()
    assert one(plan, "check-Sub").source == old


def test_a_hidden_check_never_runs(notebook: Notebook) -> None:
    notebook.write("check-Box-negative", "def helper(): pass")
    assert ids(notebook.plan()) == IN_ORDER


# What the student added


@pytest.mark.parametrize(
    "source",
    [
        "import math",
        "from math import sqrt",
        "def helper(x):\n    return print(x)",
        "class Helper: pass",
        "async def f(): pass",
        "SIZE = 3\nNAMES = ['a', ('b', -1.5), {'c': None}]\n'a text'\npass",
        "a, b = 1, 2",
        "size: int = 3",
        "Box.size: int = 3",
        "size: int",
        "%%time\nimport math",
        "\n%%capture out\n%%time\nimport math",
        "!pip list\n%matplotlib inline\nimport math\nmath.sqrt?\nfiles = !ls \\\n  -l",
        "def f():\n    %time x = 1",
        '!pip list\nTEXT = """\n%%bash\n"""',
    ],
)
def test_added_definitions_run(notebook: Notebook, source: str) -> None:
    notebook.add("exercise-Sub", source)
    plan = notebook.plan()
    assert ids(plan) == [*IN_ORDER[:4], "f00d", *IN_ORDER[4:]]
    added = one(plan, "f00d")
    assert (added.role, added.number, added.file, added.error) == ("added", 12, "<cell 12>", None)
    compile(added.source, added.file, "exec")
    assert added.source.count("\n") == source.count("\n")


@pytest.mark.parametrize(
    "source",
    [
        "print(1)",
        "x = compute()",
        "x = []\nx += [1]",
        "for i in range(3): pass",
        "if True:\n    import math",
        "Box(1)",
        "x[0] = 1",
        "def f(: pass",
        "'a text'",
        "pass",
        "# a note",
        "%matplotlib inline",
        "%%bash\nls",
        "%%html\nx = 1",
        "%%writefile x.py\nimport math",
    ],
)
def test_other_added_cells_do_not_run(notebook: Notebook, source: str) -> None:
    notebook.add("exercise-Sub", source)
    plan = notebook.plan()
    assert ids(plan) == IN_ORDER and plan.notes == ()


def test_an_added_text_cell_does_not_run(notebook: Notebook) -> None:
    notebook.add("exercise-Sub", "import math", kind="markdown")
    assert ids(notebook.plan()) == IN_ORDER


def test_an_added_cell_stays_behind_the_cell_that_it_follows(notebook: Notebook) -> None:
    notebook.add("cell-1", "FIRST = 1", id="first")
    notebook.add("twin-Add", "SECOND = 2", id="second")
    notebook.add("twin-Add", "THIRD = 3", id="third")
    notebook.move("exercise-Box", len(notebook.cells))
    notebook.cells.append({"cell_type": "code", "id": "last", "metadata": {}, "source": "LAST = 4"})
    expected = ["imports", "first", "exercise-Box", "last", "supplied-Box-wrap", "second", "third", *IN_ORDER[3:]]
    assert ids(notebook.plan()) == expected


def test_a_demo_does_not_run_unless_the_student_put_a_definition_there(notebook: Notebook, toy: Lesson) -> None:
    notebook.write("cell-8", "SIZE = 3")
    assert ids(notebook.plan()) == [*IN_ORDER[:3], "cell-8", *IN_ORDER[3:]]


def test_the_courses_own_demos_do_not_run_even_if_they_only_define(make_lesson: MakeLesson, tmp_path: Path) -> None:
    lesson = make_lesson(tmp_path, "# %% imports\nimport math\n\n# %%\nSIZE = 3\n\n# %%\ndef f():\n    pass\n")
    assert ids(percent_plan(lesson, tmp_path, release.percent_text(lesson))) == ["imports"]
    assert ids(Notebook(lesson, tmp_path).plan()) == ["imports"]


def test_an_added_cell_of_a_percent_file_runs(toy: Lesson, tmp_path: Path) -> None:
    text = release.percent_text(toy).replace("# %% twin=", "# %% mine\n# %matplotlib inline\nSIZE = 3\n\n# %% twin=")
    plan = percent_plan(toy, tmp_path, text)
    (added,) = [cell for cell in plan.cells if cell.role == "added"]
    assert added.source == "# %matplotlib inline\nSIZE = 3"
    assert text.split("\n")[added.line] == "SIZE = 3"


# Cells that are no Python


def test_a_syntax_error_stays_in_its_cell(notebook: Notebook) -> None:
    notebook.write("exercise-Sub", "class Sub:\n    def forward(self, a, b)\n        return a - b")
    plan = notebook.plan()
    assert ids(plan) == IN_ORDER
    assert one(plan, "exercise-Sub").error == pycell.CellError(2, "def forward(self, a, b)", "expected ':'")
    assert [cell.id for cell in plan.cells if cell.error] == ["exercise-Sub"]


def test_a_cell_of_another_language_is_an_error_of_its_exercise(notebook: Notebook) -> None:
    notebook.write("exercise-Sub", "%%writefile sub.py\nclass Sub: pass")
    error = one(notebook.plan(), "exercise-Sub").error
    assert error == pycell.CellError(1, "%%writefile sub.py", "%%writefile makes the cell no Python")


@pytest.mark.parametrize("source", ["x = '\0'", "x = '\ud800'", "(" * 5000, "-" * 100_000 + "1", "x = 1\n  y = 2"])
def test_a_source_that_breaks_the_parser_is_an_error_of_its_cell(notebook: Notebook, source: str) -> None:
    notebook.write("exercise-Sub", source)
    plan = notebook.plan()
    assert ids(plan) == IN_ORDER
    error = one(plan, "exercise-Sub").error
    assert error is not None and error.message


def test_a_doubtful_escape_is_no_error(notebook: Notebook) -> None:
    notebook.write("exercise-Sub", "x = '\\d'")
    assert one(notebook.plan(), "exercise-Sub").error is None


def test_commands_are_commented_out_and_lines_stay(notebook: Notebook) -> None:
    source = "%%time\nclass Sub:\n    %matplotlib inline\n    def forward(self, a, b):\n        return a - b\nSub?"
    source += "\n!ls \\\n -l"
    notebook.write("exercise-Sub", source)
    cell = one(notebook.plan(), "exercise-Sub")
    assert cell.error is None
    assert cell.source == (
        "# %%time\nclass Sub:\n    pass  # %matplotlib inline\n    def forward(self, a, b):\n"
        "        return a - b\n# Sub?\n# !ls \\\n#  -l"
    )


def test_python_that_looks_like_a_command_is_left_alone(notebook: Notebook) -> None:
    source = 'a, b = 7, 4\nx = (a\n    %b)\ny = """\n%matplotlib inline\n!ls\n"""'
    notebook.write("exercise-Sub", source)
    assert one(notebook.plan(), "exercise-Sub").source == source


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_a_string_that_is_never_closed_costs_one_cell_of_a_percent_file(
    toy: Lesson, tmp_path: Path, quotes: str
) -> None:
    text = release.percent_text(toy).replace("    def twice(self):", f"    x = {quotes}open\n    def twice(self):")
    plan = percent_plan(toy, tmp_path, text)
    assert ids(plan) == IN_ORDER and plan.notes == ()
    assert [cell.id for cell in plan.cells if cell.error] == ["exercise-Box"]
    for cell in plan.cells:
        assert text.split("\n")[cell.line - 1] == cell.source.split("\n")[0]
    assert [cell.number for cell in plan.cells] == [3, 4, 7, 9, 12, 5, 10, 13]
    broken = one(plan, "exercise-Box")
    assert broken.error is not None and broken.error.message.startswith("unterminated triple-quoted string literal")
    assert broken.source.endswith("raise NotImplementedError")


def test_a_mark_in_a_whole_string_is_no_cell(toy: Lesson, tmp_path: Path) -> None:
    text = release.percent_text(toy).replace("# %% twin=", 'X = """\n# %% no\n"""\n\n# %% twin=')
    path = tmp_path / "01_toy.py"
    path.write_text(text, encoding="utf-8")
    assert len(student.read(path).cells) == len(toy.cells())


# Files that cannot be read


def refused(path: Path, content: str | bytes | None) -> str:
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(UserError) as caught:
        student.read(path)
    assert caught.value.code == 2 and "\n" not in caught.value.message
    return caught.value.message.replace(str(path), "FILE")


CELLS = '"nbformat": 4, "nbformat_minor": 5, "cells": '
AGAIN = ", then repeat: tito test 01"
ANEW = "; put an earlier copy back, or start anew with: tito reset 01"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "there is no FILE; make it with: tito open 01"),
        ("", f"FILE is broken, line 1, column 1: Expecting value{ANEW}"),
        ('{"cells": [\n{"cell_type" "code"}]}', f"FILE is broken, line 2, column 14: Expecting ':' delimiter{ANEW}"),
        ("[]", f"FILE is broken, it holds JSON but no notebook{ANEW}"),
        ('{"cells": []}', f"FILE is broken, it holds JSON but no notebook{ANEW}"),
        ('{"nbformat": 4}', f"FILE is broken, it has no list of cells{ANEW}"),
        ('{"nbformat": "4", "cells": []}', f"FILE is broken, its nbformat is no number{ANEW}"),
        ("[" * 200_000, f"FILE is broken, it is nested too deeply{ANEW}"),
        ("{" + CELLS + "[7]}", f"FILE is broken, cell 1 has no type or no source{ANEW}"),
        ("{" + CELLS + '[{"cell_type": "code"}]}', f"FILE is broken, cell 1 has no type or no source{ANEW}"),
        (
            "{" + CELLS + '[{"cell_type": "code", "source": [1]}]}',
            f"FILE is broken, cell 1 has no type or no source{ANEW}",
        ),
        (
            '{"nbformat": 4, "nbformat_minor": 6, "cells": []}',
            f"FILE: its format 4.6 is newer than 4.5; upgrade with pip install -U tinytorch-course{AGAIN}",
        ),
        (
            '{"nbformat": 5, "cells": []}',
            f"FILE: its format 5.0 is newer than 4.5; upgrade with pip install -U tinytorch-course{AGAIN}",
        ),
        (
            '{"nbformat": 3, "worksheets": []}',
            f"FILE: its format 3.0 is too old; save it anew in Jupyter{AGAIN}",
        ),
        (b'{"nbformat": 4, "x": "\xff"}', f"FILE is not UTF-8 at byte 22; save it as UTF-8{AGAIN}"),
    ],
)
def test_a_broken_notebook_is_one_sentence(tmp_path: Path, content: str | bytes | None, sentence: str) -> None:
    assert refused(tmp_path / "01_toy.ipynb", content) == sentence


def test_a_number_without_end_is_refused(tmp_path: Path) -> None:
    assert "Exceeds the limit" in refused(tmp_path / "01_toy.ipynb", '{"nbformat": ' + "1" * 5000 + "}")


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "01_toy.ipynb"
    with path.open("wb") as file:
        file.truncate(61_000_000)
    assert refused(path, None) == f"FILE has 61 MB, the most is 50; clear its outputs in Jupyter and save it{AGAIN}"


def test_a_folder_is_no_notebook(tmp_path: Path) -> None:
    path = tmp_path / "01_toy.ipynb"
    path.mkdir()
    assert refused(path, None).startswith("FILE cannot be read: ")


def test_a_broken_mark_names_the_file_and_line(tmp_path: Path) -> None:
    message = refused(tmp_path / "01_toy.py", '# %%\n1\n# %% exercise="Sub points=1\n')
    assert message.startswith('FILE: line 3: the marks exercise="Sub points=1 cannot be read; write them as')


def test_a_notebook_of_an_older_minor_format_and_odd_ids_is_read(tmp_path: Path) -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "source": ["a\r\n", "b"], "metadata": None},
        {"cell_type": "code", "source": "c", "metadata": {"nbgrader": {"grade_id": "exercise-x"}}, "id": "y"},
        {"cell_type": "markdown", "source": [], "metadata": {"nbgrader": 3}, "id": "z"},
    ]
    path = tmp_path / "01_toy.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 2, "cells": cells}), encoding="utf-8-sig")
    read = student.read(path).cells
    assert [(cell.number, cell.source, cell.id) for cell in read] == [
        (1, "a\nb", ""),
        (2, "c", "exercise-x"),
        (3, "", "z"),
    ]


def test_reading_and_planning_import_nothing_heavy() -> None:
    program = "import sys, tito.student; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "jupytext", "nbformat", "nbgrader", "libcst", "matplotlib"} & set(loaded)
