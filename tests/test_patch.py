"""tito.notebook: patch, and how a lesson finds the student's package."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tito.checks import engine

ROOT = Path(__file__).parents[1]
Names = dict[str, Any]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Names:
    """A notebook's namespace with patch and a class in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TINYTORCH_PACKAGE", str(tmp_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(engine, "before_check", engine.before_check)
    notebook: ModuleType = importlib.import_module("tito.notebook")
    namespace: Names = {"__name__": "__main__", "patch": notebook.patch}
    cell(namespace, "class Tensor:\n    def __init__(self, data):\n        self.data = data\n")
    return namespace


def cell(namespace: Names, source: str) -> None:
    exec(compile(textwrap.dedent(source), "<cell>", "exec", dont_inherit=True), namespace)


# patch.


def test_a_method(names: Names) -> None:
    cell(
        names,
        """
        @patch
        def double(self: Tensor, times=2):
            return self.data * times
        assert Tensor(3).double() == 6
        assert Tensor.double.__qualname__ == "Tensor.double"
        """,
    )
    with pytest.raises(TypeError, match=r"Tensor\.double\(\) takes"):
        names["Tensor"](3).double(1, 2, 3)


def test_the_class_as_a_string(names: Names) -> None:
    cell(names, "from __future__ import annotations\n@patch\ndef one(self: Tensor) -> Unknown: return 1\n")
    cell(names, "@patch\ndef two(self: 'Tensor'): return 2\n")
    cell(names, "from __future__ import annotations\n@patch\ndef three(self: 'Tensor'): return 3\n")
    cell(names, "@patch(classmethod)\ndef of(cls: 'type[Tensor]', data): return cls(data)\n")
    tensor = names["Tensor"].of(5)
    assert (tensor.one(), tensor.two(), tensor.three(), tensor.data) == (1, 2, 3, 5)


def test_properties_and_class_methods(names: Names) -> None:
    cell(
        names,
        """
        @patch(property)
        def size(self: Tensor):
            return len(self.data)
        @patch(classmethod)
        def zeros(cls: type[Tensor], n):
            return cls([0] * n)
        assert Tensor.zeros(3).size == 3
        """,
    )


def test_a_later_patch_replaces_the_earlier_one(names: Names) -> None:
    cell(names, "@patch\ndef f(self: Tensor): return 1\n")
    cell(names, "@patch\ndef f(self: Tensor): return 2\n")
    assert names["Tensor"](0).f() == 2


def test_the_name_gets_back_what_it_held(names: Names) -> None:
    cell(names, "@patch\ndef sum(self: Tensor): return 1\n")
    cell(names, "@patch\ndef max(self: Tensor): return sum([20, 2])\n")
    cell(names, "size = 7\n@patch\ndef size(self: Tensor): return size\n")
    cell(names, "@patch(property)\ndef min(self: Tensor): return 3\n")
    assert (names["sum"], names["min"], names["size"]) == (sum, min, 7)
    tensor = names["Tensor"](0)
    assert (tensor.sum(), tensor.max(), tensor.size(), tensor.min) == (1, 22, 7, 3)


def test_a_new_name_holds_the_function(names: Names) -> None:
    cell(names, "@patch\ndef relu(self: Tensor): return 1\n")
    assert names["relu"] is names["Tensor"].relu
    cell(names, "@patch(property)\ndef shape(self: Tensor): return 1\n")
    assert names["shape"] is names["Tensor"].shape.fget


UNSAID = "does not say which class it belongs to"
RUN = "run the cell that defines it first."
WRITE = "write @patch, @patch(property) or @patch(classmethod) above a def."


@pytest.mark.parametrize(
    ("source", "error", "text"),
    [
        ("@patch\ndef f(self): ...", TypeError, f"f {UNSAID}; write def f(self: Tensor)."),
        ("@patch\ndef f(): ...", TypeError, f"f {UNSAID}; write def f(self: Tensor)."),
        ("@patch(property)\ndef f(t): ...", TypeError, f"f {UNSAID}; write def f(t: Tensor)."),
        ("@patch\ndef f(self: 'Tensr'): ...", NameError, f"f belongs to Tensr, which is not defined; {RUN}"),
        ("@patch\ndef f(self: 3): ...", TypeError, "f belongs to 3, which is no class; write def f(self: Tensor)."),
        ("@patch(staticmethod)\ndef f(self: Tensor): ...", TypeError, f"cannot use staticmethod; {WRITE}"),
        ("@patch\n@property\ndef f(self: Tensor): ...", TypeError, f"cannot use property; {WRITE}"),
    ],
)
def test_what_patch_refuses(names: Names, source: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        cell(names, source)
    assert str(caught.value) == f"patch: {text}"
    assert not hasattr(names["Tensor"], "f")


def test_mypy_accepts_the_use_of_patch(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(
        textwrap.dedent("""
            from tito.notebook import check, draw, patch, probe, raises
            class Tensor:
                data: list[int] = []
            @patch
            def sum(self: Tensor) -> int:
                return 1
            @patch(property)
            def size(self: Tensor) -> int:
                return len(self.data)
            @patch(classmethod)
            def make(cls: type[Tensor], n: int) -> Tensor:
                return cls()
            @probe
            def seen() -> int:
                return 1
            check("1", want=1, a=draw.normal((2, 3)))
            check(seen(), want=[1.0], dtype="float32", says="x")
            raises("1 / 0", ZeroDivisionError, match="zero")
            total: int = sum([1, 2])
        """),
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "use.py"]
    surroundings = {**os.environ, "MYPYPATH": str(ROOT)}
    run = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, encoding="utf-8", timeout=300)
    assert run.returncode == 0, run.stdout


# The package's folder.


def make_package(folder: Path, word: str) -> Path:
    (folder / "tinytorch").mkdir(parents=True)
    (folder / "tinytorch" / "__init__.py").write_text(f"word = {word!r}\n", encoding="utf-8")
    return folder


def make_workspace(folder: Path, build: str = "one") -> Path:
    (folder / ".tito").mkdir(parents=True)
    (folder / "modules").mkdir()
    export(folder, build)
    return make_package(folder, "workspace")


def export(folder: Path, build: str) -> None:
    (folder / ".tito" / "package.json").write_text(json.dumps({"build": build}), encoding="utf-8")


Ended = subprocess.CompletedProcess[str]


def run(code: str, cwd: Path, package: Path | None = None, path: Path | None = None) -> Ended:
    surroundings = {key: value for key, value in os.environ.items() if key not in ("TINYTORCH_PACKAGE", "PYTHONPATH")}
    surroundings["PYTHONPATH"] = os.pathsep.join(str(entry) for entry in (path, ROOT) if entry)
    surroundings |= {"TINYTORCH_PACKAGE": str(package)} if package else {}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, cwd=cwd, env=surroundings, capture_output=True, encoding="utf-8", timeout=60)


WHICH = "import tito.notebook, tinytorch\nprint(tinytorch.word)"


def test_the_enclosing_workspace_comes_first(tmp_path: Path) -> None:
    workspace, other = make_workspace(tmp_path / "my"), make_package(tmp_path / "other", "other")
    deep = workspace / "modules" / "deeper"
    deep.mkdir()
    assert run(WHICH, deep).stdout == "workspace\n"
    assert run(WHICH, deep, package=other).stdout == "workspace\n"
    assert run(WHICH, deep, path=other).stdout == "workspace\n"  # another tinytorch on the path


def test_the_nearest_workspace_counts(tmp_path: Path) -> None:
    make_workspace(tmp_path / "outer")
    inner = make_workspace(tmp_path / "outer" / "inner")
    code = "import tito.notebook, tinytorch\nprint(tinytorch.__file__)"
    assert Path(run(code, inner / "modules").stdout.strip()) == inner / "tinytorch" / "__init__.py"


def test_else_the_folder_that_is_named(tmp_path: Path) -> None:
    assert run(WHICH, tmp_path, package=make_package(tmp_path / "other", "other")).stdout == "other\n"


def test_what_a_runner_put_on_the_path_stays(tmp_path: Path) -> None:
    workspace, staged = make_workspace(tmp_path / "my"), make_package(tmp_path / "staged", "staged")
    assert run(WHICH, workspace / "modules", package=staged, path=staged).stdout == "staged\n"


def test_outside_there_is_one_sentence(tmp_path: Path) -> None:
    said = run("import tito.notebook", tmp_path)
    wanted = "run tito init, open it there, or set TINYTORCH_PACKAGE to tinytorch's folder."
    assert said.stderr.splitlines()[-1] == f"ImportError: This notebook lies in no workspace; {wanted}"
    gone = tmp_path / "gone"
    said = run("import tito.notebook", tmp_path, package=gone)
    wanted = f"names {gone}, which is no folder; set it to the folder that holds tinytorch."
    assert said.stderr.splitlines()[-1] == f"ImportError: TINYTORCH_PACKAGE {wanted}"


STALE = "tinytorch was exported again; restart the kernel to use the new build.\n"
EXPORTED_TWICE = """
    import json, pathlib
    from tito.notebook import check, raises
    {first}
    def export(build):
        pathlib.Path("../.tito/package.json").write_text(build, encoding="utf-8")
    check("1", want=1)
    print("before")
    export('{{"build": "two"}}')
    {use}
    {use}
    export('{{"bui')
    {use}
    export('[]')
    {use}
"""


@pytest.mark.parametrize("use", ["check('1', want=1)", "check(1, want=1)", "raises('1 / 0', ZeroDivisionError)"])
def test_a_kernel_is_told_once_that_its_build_is_old(tmp_path: Path, use: str) -> None:
    workspace = make_workspace(tmp_path / "my")
    said = run(EXPORTED_TWICE.format(first="import tinytorch", use=use), workspace / "modules")
    assert (said.stdout, said.stderr) == ("before\n", STALE)


def test_a_kernel_without_the_package_is_not_told(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path / "my")
    said = run(EXPORTED_TWICE.format(first="", use="check('1', want=1)"), workspace / "modules")
    assert (said.stdout, said.stderr) == ("before\n", "")


def test_under_a_runner_nothing_is_said(tmp_path: Path) -> None:
    workspace, staged = make_workspace(tmp_path / "my"), make_package(tmp_path / "staged", "staged")
    code = EXPORTED_TWICE.format(first="import tinytorch", use="check('1', want=1)")
    assert run(code, workspace / "modules", package=staged, path=staged).stderr == ""
