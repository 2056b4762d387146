"""What the exporter makes of cells, word for word, and what it refuses."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tito import percent
from tito.errors import UserError
from tito.fold import FoldError, FoldInput, fold

GOLDEN = Path(__file__).parent / "golden" / "fold"
SWITCH = (GOLDEN / "switch.py").read_text(encoding="utf-8")


def golden_lessons() -> list[FoldInput]:
    shapes, drawing = (
        percent.read((GOLDEN / f"{name}.percent.txt").read_text("utf-8")) for name in ("01_shapes", "02_drawing")
    )
    return [
        FoldInput("shapes", "Lesson 01: Shapes.", shapes),
        FoldInput("drawing", "Lesson 02: Drawing.", drawing, {"switch": SWITCH}),
    ]


def lesson(name: str, *cells: str, added: tuple[str, ...] = (), **supplied: str) -> FoldInput:
    """A lesson whose first cell holds the imports; its cells are numbered from 1, those of the student last."""
    text = "\n\n".join(f'# %% exercise="{i}"\n{cell}' for i, cell in enumerate(cells))
    text += "".join(f"\n\n# %%\n{cell}" for cell in added)
    return FoldInput(name, f"Lesson {name}.", percent.read(text), supplied)


TENSOR = lesson(
    "tensor",
    "import math\n\nfrom functools import cached_property",
    "EPS = 1e-8\n_GAP = 1\n\n\nclass Tensor:\n    pass",
)
FROM_TENSOR = "from tinytorch.tensor import Tensor"


def patched(*cells: str, imports: str = FROM_TENSOR, **supplied: str) -> str:
    """The text of tensor.py after a second lesson with these cells."""
    return fold([TENSOR, lesson("later", imports, *cells, **supplied)])["tensor.py"]


def test_golden_package() -> None:
    notes: dict[str, list[str]] = {}
    folded = fold(golden_lessons(), notes)
    for name, text in folded.items():
        assert text == (GOLDEN / "tinytorch" / name).read_text(encoding="utf-8"), name
    assert notes["shapes"] == [
        'shapes, cell 4, line 20: left out of the package: Circle("for a look")',
        'shapes, cell 4, line 21: left out of the package: for shape in "ab":',
    ]


def test_first_lesson_folds_alone() -> None:
    text = fold(golden_lessons()[:1])["shapes.py"]
    assert "is_on" not in text
    assert "# Told apart by what it measures.\n    def area(self) -> float:\n        return 0.0" in text


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=GOLDEN, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("job", [("check", "--select", "E,F,I,UP,B"), ("format", "--check")], ids=["check", "format"])
def test_golden_package_passes_ruff(job: tuple[str, ...]) -> None:
    done = run("-m", "ruff", *job, "--isolated", "--no-cache", "--line-length", "120", "tinytorch")
    assert done.returncode == 0, done.stdout


def test_golden_package_runs() -> None:
    program = (
        "import tinytorch as t\n"
        "from tinytorch.drawing import is_on\n"
        "square, circle = t.Square('s', 3.0), t.Circle(2.0)\n"
        "with square.sum(start=1) as total: pass\n"
        "print(t.total([square, circle]), circle, t.Shape.make('x')[0].area(), total, square.dashed, is_on())\n"
        "print(repr(square.label), t.Pen().draw(square), sorted(t.__all__))\n"
    )
    done = run("-B", "-c", program)
    assert done.stderr == ""
    assert done.stdout == (
        "21.0 Kreis of 12.0 1.0 4 True True\n"
        "'Shape:\\n  left as it is\\n        # no comment\\n    s\\n 3\\n    ' ------------------ "
        "['Circle', 'Pen', 'SIDES', 'Shape', 'Square', 'UNIT', 'corners', 'edges', 'is_on', 'state', 'total']\n"
    )


REFUSED: dict[str, tuple[tuple[str, ...], tuple[int, int, str], str]] = {
    "helper of the later lesson": (
        ("def helper():\n    return 1", "@patch\ndef f(self: Tensor):\n    a = 1\n    return a + helper()"),
        (3, 4, "helper"),
        "f uses helper, which tensor.py does not have",
    ),
    "import of the later lesson": (
        ("import numpy as np", "@patch\ndef f(self: Tensor):\n    return np.zeros(3)"),
        (3, 3, "np"),
        "f uses np, which tensor.py does not have",
    ),
    "annotation from the later lesson": (
        ("class Module:\n    pass", "@patch\ndef f(self: Tensor, m: list[Module]):\n    pass"),
        (3, 2, "Module"),
        "f uses Module",
    ),
    "annotation in quotes": (
        ("class Module:\n    pass", "@patch\ndef f(self: Tensor) -> 'Module | None':\n    pass"),
        (3, 2, "Module"),
        "f uses Module",
    ),
    "local annotation": (
        ("import numpy as np", "@patch\ndef f(self: Tensor):\n    x: np.ndarray = self.x\n    return x"),
        (3, 3, "np"),
        "f uses np",
    ),
    "typing name at run time": (
        ("from typing import cast", "@patch\ndef f(self: Tensor):\n    return cast(int, 1)"),
        (3, 3, "cast"),
        "f uses cast",
    ),
    "same name, another thing": (
        ("_GAP = 2", "@patch\ndef f(self: Tensor):\n    return _GAP"),
        (3, 3, "_GAP"),
        "_GAP, which is something else in tensor.py",
    ),
    "name of the target that the notebook lacks": (
        ("@patch\ndef f(self: Tensor):\n    return EPS",),
        (2, 3, "EPS"),
        "EPS, which no exported cell of later defines",
    ),
    "a method called as a function": (
        ("@patch\ndef g(self: Tensor):\n    return 1", "@patch\ndef f(self: Tensor):\n    return g(self)"),
        (3, 3, "g"),
        "f uses g",
    ),
    "comprehension at large": (
        ("SCALE = 2", "@patch\ndef f(self: Tensor):\n    return [SCALE * x for x in self]"),
        (3, 3, "SCALE"),
        "f uses SCALE",
    ),
    "class body in a method": (
        (
            "SCALE = 2",
            "@patch\ndef f(self: Tensor):\n    class A:\n        SCALE = 1\n        g = lambda: SCALE\n    return A",
        ),
        (3, 4, "SCALE"),
        "f uses SCALE",
    ),
    "global": (
        ("COUNT = 0", "@patch\ndef f(self: Tensor):\n    global COUNT\n    COUNT = 1"),
        (3, 4, "COUNT"),
        "f uses COUNT",
    ),
    "decorator": (
        ("def twice(f):\n    return f", "@patch\n@twice\ndef f(self: Tensor):\n    return 1"),
        (3, 2, "twice"),
        "f uses twice",
    ),
    "super": (
        ("@patch\ndef f(self: Tensor):\n    return super().f()",),
        (2, 3, "super"),
        "f uses super, which works in no patch; name the base class instead",
    ),
    "default": (
        ("@patch\ndef f(self: Tensor, *, n=len('abc')):\n    return n",),
        (2, 2, "len('abc')"),
        "f has the default len('abc'), which is no literal",
    ),
    "unknown class": (
        ("@patch\ndef f(self: Matrix):\n    return 1",),
        (2, 2, "Matrix"),
        "Matrix is no class of the package",
    ),
    "class in a module": (
        ("import numpy as np", "@patch\ndef f(self: np.ndarray):\n    return 1"),
        (3, 2, "np.ndarray"),
        "np.ndarray is no class of the package",
    ),
    "no class": (("@patch\ndef f(self):\n    return 1",), (2, 2, "f"), "f is patched into no class"),
    "no parameter": (("@patch\ndef f():\n    return 1",), (2, 2, "f"), "f is patched into no class"),
    "static method": (
        ("@patch(staticmethod)\ndef f(self: Tensor):\n    return 1",),
        (2, 2, "staticmethod"),
        "patch(staticmethod) is not offered",
    ),
    "private name": (
        ("@patch\ndef f(self: Tensor):\n    return self.__x",),
        (2, 2, "__x"),
        "f uses __x, which means another name inside a class",
    ),
    "second class": (
        ("class Tensor:\n    pass",),
        (2, 1, "Tensor"),
        "class Tensor is defined in cell 2 of tensor already",
    ),
    "second function": (("EPS = 3",), (2, 1, "EPS"), "EPS is exported by tensor.py already"),
    "star": (("from tinytorch.tensor import *",), (2, 1, "*"), "import single names"),
    "whole package": (("import tinytorch.tensor as t",), (2, 1, "tinytorch.tensor"), "import single names"),
    "relative import": (("from .tensor import Tensor",), (2, 1, "Tensor"), "import single names"),
    "missing name": (("from tinytorch.tensor import Missing",), (2, 1, "Missing"), "tinytorch.tensor has no Missing"),
    "import inside a patch": (
        ("@patch\ndef f(self: Tensor):\n    from tinytorch.later import g\n    return g",),
        (2, 3, "tinytorch.later"),
        "f imports tinytorch.later",
    ),
    "tito inside a function": (
        ("def f():\n    import tito.notebook\n    return tito",),
        (2, 2, "tito.notebook"),
        "f imports tito.notebook",
    ),
    "undefined in a function": (
        ("def f(x):\n    return x + y",),
        (2, 2, "y"),
        "f uses y, which no exported cell defines",
    ),
    "undefined in a class": (("class A(Missing):\n    pass",), (2, 1, "Missing"), "A uses Missing"),
    "undefined in a method": (("class A:\n    x = 1\n\n    def f(self):\n        return x",), (2, 5, "x"), "f uses x"),
    "undefined in a value": (("A = [b for c in range(3)]",), (2, 1, "b"), "A uses b"),
    "check in an exercise": (("def f():\n    check('1', want=1)",), (2, 2, "check"), "f uses check"),
    "attribute below": (
        ("def late():\n    pass", "class Own:\n    pass", "X = 1", "Own.x = X"),
        (5, 1, "X"),
        "x uses X, which comes below class Own",
    ),
    "attribute of itself": (("Tensor.x = Tensor.f",), (2, 1, "Tensor"), "x uses Tensor, which comes below"),
    "attribute changed": (("Tensor.x += 1",), (2, 1, "x"), "Tensor.x must be assigned alone"),
    "two attributes": (("Tensor.x = Tensor.y = 1",), (2, 1, "x"), "Tensor.x must be assigned alone"),
    "attribute of an unknown class": (("Matrix.x = 1",), (2, 1, "Matrix"), "Matrix is no class of the package"),
    "no Python": (("x = 1\ny = (2",), (2, 2, "y = (2"), "is no Python"),
    "return outside": (("x = 1\nreturn x",), (2, 2, "return x"), "is no Python"),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refusal_names_cell_line_and_name(case: str) -> None:
    cells, place, words = REFUSED[case]
    with pytest.raises(FoldError) as caught:
        patched(*cells)
    error = caught.value
    assert (error.lesson, error.cell, error.line, error.name) == ("later", *place)
    assert error.message.startswith(f"later, cell {place[0]}, line {place[1]}: ")
    assert words in error.message and error.name in error.message
    assert error.code == 2


ALLOWED = {
    "comprehension": "return [y for x in self for y in x if (z := y) or z]",
    "nested function": "def g(a, *b, c=1, **d):\n        return a, b, c, d, self\n\n    return g",
    "nonlocal": "n = 0\n\n    def g():\n        nonlocal n\n        n += 1\n\n    return g",
    "lambda": "return lambda a, b=1: a + b",
    "class": "class A:\n        b = 1\n        c = b\n\n    return A",
    "handlers": "try:\n        pass\n    except OSError as e:\n        e\n    with self as s:\n        return s",
    "match": "match self:\n        case [a, *b]:\n            a, b\n        case {'k': c}:\n            return c",
    "local import": "import math as m\n    from os import path\n\n    return m, path",
    "annotation": "x: int = 1\n    y: Tensor | None = None\n    return x, y",
    "literal": "def g(mode: Literal['mean', 'sum']):\n        return mode\n\n    return g",
    "built-ins": "return sum(map(abs, self)), __name__, NotImplemented",
    "delete": "a = 1\n    del a",
    "star": "a, *b = self\n    for c, (d, e) in self:\n        return a, b, c, d, e",
}


@pytest.mark.parametrize("case", ALLOWED, ids=str)
def test_names_of_its_own_are_no_uses(case: str) -> None:
    text = patched(
        f"@patch\ndef f(self: Tensor):\n    {ALLOWED[case]}", imports=f"{FROM_TENSOR}\nfrom typing import Literal"
    )
    assert "    def f(self):\n" in text


def test_a_patch_brings_leaf_modules_and_type_names_along() -> None:
    cell = "@patch\ndef f(self: Tensor, c: Callable[[Any], int]) -> Any:\n    return is_on()"
    names = "from collections.abc import Callable\nfrom typing import Any\nfrom tinytorch.switch import is_on"
    text = patched(cell, imports=f"{FROM_TENSOR}\n{names}", switch=SWITCH)
    assert text.startswith(
        '"""Lesson tensor."""\n\nfrom __future__ import annotations\n\nfrom collections.abc import Callable\n'
        "from typing import Any\n\nfrom tinytorch.switch import is_on\n\n__all__ = "
    )


def test_a_patch_brings_no_module_that_imports_ours() -> None:
    probe = "from tinytorch.tensor import Tensor\n\n\ndef probe(x):\n    return Tensor\n"
    with pytest.raises(FoldError, match="f uses probe, which tensor.py does not have"):
        patched("@patch\ndef f(self: Tensor):\n    return probe(self)", probe=probe)


ABOVE = "from tinytorch.later import g\n\n\ndef twice():\n    return 2 * g()\n"


def test_a_supplied_module_that_imports_its_own_lesson_is_handed_on_by_the_package() -> None:
    texts = fold([TENSOR, lesson("later", "def g():\n    return 1", twice=ABOVE)])
    assert "twice" not in texts["later.py"]
    assert "from tinytorch.twice import twice" in texts["__init__.py"] and '"twice"' in texts["__init__.py"]


def test_while_the_lesson_is_not_there_yet_nor_is_what_builds_on_it() -> None:
    assert "twice" not in fold([TENSOR, lesson("later", twice=ABOVE)])["__init__.py"]


def test_a_lesson_that_uses_such_a_module_is_a_circle() -> None:
    with pytest.raises(UserError, match=r"later.py -> twice.py -> later.py"):
        fold([TENSOR, lesson("later", "from tinytorch.twice import twice", "def g():\n    return twice", twice=ABOVE)])


@pytest.mark.parametrize("listed", ["__all__ = []", "__all__: list[str] = []"])
def test_a_supplied_module_may_offer_nothing(listed: str) -> None:
    texts = fold([TENSOR, lesson("later", "def g():\n    return 1", tool=f"{listed}\n\n\ndef tool():\n    return 2\n")])
    assert "tool" not in texts["later.py"] + texts["__init__.py"]


def test_an_import_follows_the_name_to_its_file() -> None:
    middle = lesson(
        "middle", f"{FROM_TENSOR}\nfrom tinytorch.switch import is_on", "class A(Tensor):\n    pass", switch=SWITCH
    )
    last = lesson(
        "last", "from tinytorch import A\nfrom tinytorch.middle import Tensor, is_on", "B = (A, Tensor, is_on)"
    )
    text = fold([TENSOR, middle, last])["last.py"]
    wanted = ["from tinytorch.middle import A", "from tinytorch.switch import is_on", FROM_TENSOR]
    assert [line for line in text.split("\n") if "tinytorch" in line] == wanted


def test_unused_additions_stay_out_and_used_ones_are_private() -> None:
    added = (
        "def helper():\n    return inner()",
        "def inner():\n    return 1",
        "def idle():\n    return nowhere",
        "import os",
    )
    text = fold([lesson("one", "import math", "def f():\n    return helper()", added=added)])["one.py"]
    assert (
        "def helper" in text
        and "def inner" in text
        and "idle" not in text
        and "import" not in text.split("annotations")[1]
    )
    assert '__all__ = ["f"]' in text


def test_what_the_course_does_not_define_is_the_students_own() -> None:
    course = percent.read('# %% exercise="0"\ndef f():\n    return 1\n\n\ndef g():\n    return 2\n')
    cells = lesson(
        "one",
        "def helper():\n    return 1\n\n\nidle = 3\n\n\ndef f():\n    return helper()",
        added=("def g():\n    return 2",),
    )
    text = fold([replace(cells, course=course)])["one.py"]
    assert '__all__ = ["f", "g"]' in text and "def helper" in text and "idle" not in text


def test_students_may_use_a_name_of_their_own_in_every_lesson() -> None:
    own = "class Pair:\n    pass\n\n\ndef help():\n    return Pair()"
    one = lesson("one", "def f():\n    return help()", added=(own,))
    two = lesson("two", "def g():\n    return help()", added=(own,))
    three = lesson("three", "class Pair:\n    pass")
    texts = fold([one, two, three])
    assert all("class Pair" in texts[f"{name}.py"] for name in ("one", "two", "three"))
    assert "from tinytorch.three import Pair" in texts["__init__.py"]


def test_settings_of_other_packages_are_left_out() -> None:
    notes: dict[str, list[str]] = {}
    text = fold([lesson("one", "import sys", "sys.stdout = None\nsys.flags.x[0] = 1\nX = 1")], notes)["one.py"]
    assert "sys" not in text and [note.split(": ")[-1] for note in notes["one"]] == [
        "sys.stdout = None",
        "sys.flags.x[0] = 1",
    ]


def test_an_added_function_may_replace_an_exported_one() -> None:
    text = fold([lesson("one", "", "def f():\n    return 1", added=("def f():\n    return 2",))])["one.py"]
    assert "return 2" in text and "return 1" not in text and '__all__ = ["f"]' in text


F = "    def f(self):\n        return 1\n"
N = "class Tensor:\n    n = None\n\n"
CLASSES = {
    "class Tensor: pass": f"{N}{F}",
    "class Tensor: x = 1; y = 2": f"class Tensor:\n    x = 1\n    y = 2\n    n = None\n\n{F}",
    "class Tensor:\n  'Two.'": "class Tensor:\n  'Two.'\n\n  n = None\n\n  def f(self):\n      return 1\n",
    "class Tensor:\n\tn: int\n\tdef f(self): ...": "class Tensor:\n\tn = None\n\n\tdef f(self):\n\t    return 1\n",
    "class Tensor:\n    f = None\n    def n(self): ...": f"{N}{F}",
    "class Tensor(\n    object,  # base\n):\n    # why\n    ...": (
        f"class Tensor(\n    object,  # base\n):\n    n = None\n\n{F}"
    ),
    "class Tensor:\n    @property\n    def f(self): ...\n    @f.setter\n    def f(self, x): ...\n    g: int": (
        f"{N}{F}\n    g: int\n"
    ),
    "class Tensor:\n    def g(self):\n        return 2\n        # end of g\n    # end of Tensor": (
        f"{N}    def g(self):\n        return 2\n        # end of g\n    # end of Tensor\n\n{F}"
    ),
}


@pytest.mark.parametrize("source", CLASSES, ids=range(len(CLASSES)))
def test_members_find_their_place(source: str) -> None:
    text = fold([lesson("one", "", source, "@patch\ndef f(self: Tensor):\n    return 1", "Tensor.n = None")])["one.py"]
    assert text.partition("\n\n\n")[2] == CLASSES[source]
    ast.parse(text)


STRINGS = [
    'x = """a\n  b\n"""',
    "x = '''a\n\\\n  b'''",
    'x = f"""a\n{self.x:\n>3}\n  {1 + 1}"""',
    'x = ("""a\n  b""" \'c\'\n  """d\n""")',
    'x = b"""a\nb"""\n    # comment\n# at the margin',
    "x = 'a\\\n  b'",
    'x = [  # why\n1,\n  """a\n""",\n]',
    "x = 1 + \\\n  2",
    'x = f"{self!r}" rf"""\\d\n"""',
]


@pytest.mark.parametrize("code", STRINGS, ids=range(len(STRINGS)))
def test_indenting_changes_no_string(code: str) -> None:
    source = f"def f(self: Tensor):\n    {code}\n    return x"
    folded = ast.parse(fold([lesson("one", "", "class Tensor: pass", f"@patch\n{source}")])["one.py"])
    owner = next(node for node in folded.body if isinstance(node, ast.ClassDef))
    assert ast.dump(method(owner)) == ast.dump(method(ast.parse(source)))


def method(owner: Any) -> ast.FunctionDef:
    found = owner.body[0]
    assert isinstance(found, ast.FunctionDef)
    found.args.args[0].annotation = None
    return found


def test_imports_are_sorted_as_ruff_wants(tmp_path: Path) -> None:
    names = ["log10", "log2", "Beta", "alpha", "MAX", "_private", "A_B", "Gamma2", "Gamma10", "T"]
    cell = (
        f"import b.c as d, zlib, abc\nfrom numpy import {', '.join(names)}, one as two\nimport numpy as np, os.path\n"
    )
    cell += "from zlib import crc32\nfrom typing import " + ", ".join(
        f"{x}_long_name_{i}" for i, x in enumerate("abcdefghij")
    )
    used = "(d, zlib, abc, two, np, os, crc32, " + ", ".join(names)
    used += ", " + ", ".join(f"{x}_long_name_{i}" for i, x in enumerate("abcdefghij")) + ",)"
    path = tmp_path / "one.py"
    path.write_text(
        fold([lesson("one", cell, f"A = {used}")])["one.py"].replace("A = (d", "A = (\n    d"), encoding="utf-8"
    )
    done = run("-m", "ruff", "check", "--isolated", "--no-cache", "--line-length", "120", "--select", "I", str(path))
    assert done.returncode == 0, done.stdout + path.read_text(encoding="utf-8")


def test_a_cell_keeps_the_number_that_its_mark_gives() -> None:
    cells = percent.read('# %% exercise="f" cell=17\ndef f():\n    return gone\n')
    with pytest.raises(FoldError, match="one, cell 17, line 2: f uses gone"):
        fold([FoldInput("one", "One.", cells)])


def test_nothing_exported_is_an_empty_package() -> None:
    assert fold([]) == {"__init__.py": '"""What the exported lessons define."""\n\n__all__: list[str] = []\n'}
