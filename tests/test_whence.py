"""An error inside the exported package is told at the notebook's cell and line: by tito, by pytest, by programs."""

from __future__ import annotations

import json
import re
from pathlib import Path, PureWindowsPath
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tito import package, whence
from tito.course import Course
from tito.fold import fold

ADD = '''@patch
def __add__(self: Vector, other: Vector) -> Vector:
    """The sum, element by element."""
    ### BEGIN SOLUTION
    if len(self.data) != len(other.data):
        raise ValueError(f"add: {len(self.data)} and {len(other.data)} numbers")
    ### END SOLUTION
    return Vector(self.data + other.data)'''
PROGRAM = """import sys
from tinytorch import Vector
print(sys.argv, __name__, __file__)
if len(sys.argv) > 1:
    Vector([1, 2]) + Vector([1, 2, 3])
"""
PLACE = "  tinytorch/vector.py line {line} = modules/01_vector.ipynb, cell {cell}, line 6"


@pytest.fixture
def exported(learner: Any) -> Any:
    """A learner whose first lesson is exported, and whose `add` refuses vectors of different lengths."""
    learner.solve()
    learner.answer(add=ADD)
    assert learner.tito("export 01")[0] == 0
    (learner.folder / "try.py").write_text(PROGRAM, encoding="utf-8")
    return learner


def place(learner: Any, cell: int = 8) -> str:
    """What is said about the line that raises."""
    lines = (learner.folder / "tinytorch" / "vector.py").read_text(encoding="utf-8").splitlines()
    line = next(number for number, line in enumerate(lines, 1) if "raise ValueError" in line)
    return PLACE.format(line=line, cell=cell)


def test_every_line_of_the_reference_comes_from_the_line_that_it_is_said_to() -> None:
    course = Course.find()
    origins: dict[str, list[Any]] = {}
    inputs = [package.fold_input(each, package.exported(each), "") for each in course.everything]
    texts = {name: text.splitlines() for name, text in fold(inputs, None, origins).items()}
    cells = {(each.name, cell.number): cell.source.split("\n") for each in course.everything for cell in each.cells()}
    pairs = [
        (texts[name][number - 1].strip(), cells[lesson, cell][line + number - first - 1].strip())
        for name, spans in origins.items()
        for first, last, lesson, cell, line in spans
        for number in range(first, last + 1)
    ]
    moved = ("def ", "@patch", '"""')  # annotations and decorators go, and promises of lengths
    edited = [pair for pair in pairs if pair[0] != pair[1] and not pair[1].startswith(moved)]
    assert len(pairs) > 1000
    assert [(one, cell) for one, cell in edited if "About " not in cell and cell != f"{cell.split('.')[0]}.{one}"] == []


def test_a_program_of_the_learners(exported: Any) -> None:
    plain = exported.run(*exported.command()[:1], "-m", "tito.run", "try.py")
    assert (plain.returncode, plain.stderr, plain.stdout) == (0, "", "['try.py'] __main__ try.py\n")
    done = exported.run(*exported.command()[:1], "-m", "tito.run", "try.py", "x")
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "Traceback (most recent call last):"
    assert done.stderr.splitlines()[1].endswith('try.py", line 5, in <module>')
    assert done.stderr.endswith(f"ValueError: add: 2 and 3 numbers\n\nOf your notebooks:\n{place(exported)}\n")


def test_pytest(exported: Any) -> None:
    test = "from tinytorch import Vector\n\n\ndef test():\n    Vector([1, 2]) + Vector([1, 2, 3])\n"
    (exported.folder / "test_mine.py").write_text(test, encoding="utf-8")
    python = exported.command()[0]
    done = exported.run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert f"- Of your notebooks -\n{place(exported)}\n" in re.sub("-+", "-", done.stdout)


def test_a_milestone(exported: Any) -> None:
    exported.tito("open 02 --no-launch")
    exported.solve("02")
    assert exported.tito("export 02")[0] == 0
    vector = exported.folder / "tinytorch" / "vector.py"
    text = vector.read_text(encoding="utf-8")
    vector.write_text(text.replace("!= len(other.data)", ">= len(other.data)"), encoding="utf-8")
    code, _, err = exported.tito("milestone m1")
    assert code == 1
    assert "\nOf your notebooks:\n  tinytorch/line.py line " in err
    assert err.endswith(f"\n{place(exported)}\n")


def test_tito_test(exported: Any) -> None:
    exported.tito("open 02 --no-launch")
    exported.solve("02")
    exported.said.clear()
    snapshot = exported.folder / ".tito" / "exported" / "01_vector.py"
    snapshot.write_text(snapshot.read_text(encoding="utf-8").replace("!=", ">="), encoding="utf-8")
    exported.answer(add=ADD.replace("!=", ">="))
    exported.tito("test 02")
    exported.agrees("inside_the_package")
    [check] = json.loads(exported.tito("test 02 --json")[1])["lessons"][0]["checks"][-1:]
    assert (check["file"], check["inside"]) == ("<cell 5>", "modules/01_vector.ipynb, cell 8, line 6")


def test_a_check_in_a_kernel(exported: Any) -> None:
    lines = (
        "from tito.notebook import check",
        "from tinytorch import Vector",
        "two, three = Vector([1, 2]), Vector([1, 2, 3])",
    )
    cells = [nbformat.v4.new_code_cell("\n".join(lines)), nbformat.v4.new_code_cell('check("two + three", want=1)')]
    notebook = nbformat.v4.new_notebook(cells=cells)
    where = {"metadata": {"path": str(exported.folder / "modules")}}
    NotebookClient(notebook, timeout=60, allow_errors=True, resources=where).execute()
    drawn = notebook.cells[1].outputs[0].data
    cell = place(exported).partition(" = ")[2]
    assert re.search(rf">in</td><td [^>]*>{re.escape(cell)}</td>", drawn["text/html"])
    assert f"\nin    {cell}\n" in drawn["text/plain"] + "\n"


def test_the_notebook_has_changed_since(exported: Any) -> None:
    notebook = exported.notebook()
    added = {"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "A note."}
    notebook["cells"].insert(2, added)
    exported.save(notebook)
    python = exported.command()[0]
    assert place(exported, cell=9) in exported.run(python, "-m", "tito.run", "try.py", "x").stderr
    exported.answer(add="")
    as_exported = place(exported).replace("cell 8", "cell 8 as exported")
    assert as_exported in exported.run(python, "-m", "tito.run", "try.py", "x").stderr
    (exported.folder / ".tito" / "sourcemap.json").write_text("[", encoding="utf-8")
    assert "notebooks" not in exported.run(python, "-m", "tito.run", "try.py", "x").stderr


def test_percent_files_have_lines(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(learner.folder.parent)
    learner.tito("init py --py")
    monkeypatch.chdir(learner.folder.parent / "py")
    path = Path("modules", "01_vector.py")
    ours = learner.course.lesson("01").source.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in ours if " SOLUTION" not in line), encoding="utf-8")
    assert learner.tito("export 01")[0] == 0
    text = path.read_text(encoding="utf-8").splitlines()
    lines = Path("tinytorch", "vector.py").read_text(encoding="utf-8").splitlines()
    [(number, line)] = [pair for pair in enumerate(lines, 1) if "self.data + other.data" in pair[1]]
    found = whence.origin(Path(".tito", "sourcemap.json"), Path(), "vector.py", number, line)
    assert str(found) == f"modules/01_vector.py, line {text.index(line.removeprefix('    ')) + 1}"


def test_paths_of_windows() -> None:
    ours = PureWindowsPath(r"C:\Users\Ada Löve\my-tinytorch\tinytorch\tensor.py")
    assert whence.file_of_package(ours) == "tensor.py"
    assert whence.file_of_package(PureWindowsPath(r"C:\tinytorch\my\tensor.py")) == ""
