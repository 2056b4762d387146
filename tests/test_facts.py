"""`tito doctor --report`: what a bug report needs, and nobody's name."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pytest

from tito import facts


@pytest.mark.parametrize(
    "text, expected",
    [
        (r"in C:\Users\Ada Löve\my-tinytorch", r"in ~\my-tinytorch"),
        (r"in c:\users\ada löve\x", r"in ~\x"),
        ("in C:/Users/Ada Löve/x", "in ~/x"),
        (r"'C:\\Users\\Ada Löve\\x'", r"'~\\x'"),
        (r"D:\ada\ws, adam and ADA", r"D:\USER\ws, adam and USER"),
    ],
)
def test_a_home_folder_of_windows(text: str, expected: str) -> None:
    assert facts.anonymous(text, PureWindowsPath(r"C:\Users\Ada Löve"), ["ada", None]) == expected


def test_a_home_folder_elsewhere() -> None:
    home = PurePosixPath("/home/ada")
    assert facts.anonymous("/home/ada/ws /home/adam/ws /scratch/ada_1", home) == "~/ws /home/adam/ws /scratch/USER_1"
    assert facts.anonymous("/usr/bin", PurePosixPath("/")) == "/usr/bin"


def test_the_report(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: learner.folder.parent)
    for name in facts.NAMES:
        monkeypatch.setenv(name, "ada")
    learner.solve()
    learner.tito("export 01")
    (learner.folder / "tinytorch" / "vector.py").write_text("# of ada", encoding="utf-8")
    (learner.folder / "tinytorch" / "__init__.py").unlink()
    code, out, err = learner.tito("doctor --report")
    assert (code, err) == (1, "") and out.startswith("```\ntito ") and out.endswith("\n```\n")
    assert str(learner.folder) not in out and str(learner.folder.parent) not in out and "ada" not in out
    for said in (
        "workspace ~/ws with notebooks, build ",
        "01 done, 02 not opened",
        "NumPy",
        "stdout utf-8",
        "numpy 2.",
    ):
        assert said in out, said
    assert "  FAIL  __init__.py is missing in tinytorch/\n        mend it with:  tito export --all\n" in out
    assert "  note  vector.py in tinytorch/ was changed by hand" in out
    learner.tito("export --all")
    assert "tinytorch/ is as it was exported, 3 files" in learner.tito("doctor --report")[1]


def test_the_report_outside_of_a_workspace(learner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "\nin no workspace\n" in learner.tito("doctor --report")[1]
