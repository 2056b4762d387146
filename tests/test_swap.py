"""Exchanging two folders: in one step, in three renames, and what a cut between those leaves."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tito import swap


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A new folder inside a staging folder, and a live one."""
    new, live = tmp_path / "staging" / "tinytorch", tmp_path / "tinytorch"
    for folder, text in ((new, "new"), (live, "live")):
        folder.mkdir(parents=True)
        (folder / "tensor.py").write_text(text, encoding="utf-8")
    return new, live


def texts(*folders: Path) -> list[str | None]:
    paths = [folder / "tensor.py" for folder in folders]
    return [path.read_text(encoding="utf-8") if path.exists() else None for path in paths]


def refuse(new: Path, live: Path) -> bool:
    return False


@pytest.mark.parametrize("way", ["one step", "three renames"])
def test_exchange(folders: tuple[Path, Path], way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "three renames":
        monkeypatch.setattr(swap, "in_one_step", refuse)
    swap.exchange(*folders)
    assert texts(*folders) == ["live", "new"]
    swap.finish(*folders)
    assert texts(*folders) == ["live", "new"]
    assert [path.name for path in folders[0].parent.iterdir()] == ["tinytorch"]


def test_this_system_exchanges_in_one_step_where_it_can(folders: tuple[Path, Path]) -> None:
    assert swap.in_one_step(*folders) is (sys.platform in ("linux", "darwin"))


def test_call_by_number_where_the_library_is_old(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    class OldLibrary:
        syscall = getattr(ctypes.CDLL(None), "syscall", None)

    monkeypatch.setattr(ctypes, "CDLL", lambda *a, **k: OldLibrary)
    assert swap.in_one_step(*folders) is (sys.platform == "linux")


@pytest.mark.parametrize("code", sorted(swap.REFUSALS))
def test_refused_call_falls_back_to_renames(
    folders: tuple[Path, Path], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swap, "_call", lambda new, live: code)
    swap.exchange(*folders)
    assert texts(*folders) == ["live", "new"]


def test_other_errors_are_told(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap, "_call", lambda new, live: errno.EXDEV)
    with pytest.raises(OSError) as caught:
        swap.exchange(*folders)
    assert caught.value.errno == errno.EXDEV and caught.value.filename == str(folders[1])


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_failed_rename_is_taken_back(folders: tuple[Path, Path], failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    count, rename = 0, os.rename

    def sometimes(source: Any, target: Any) -> None:
        nonlocal count
        count += 1
        if count == failing:
            raise PermissionError(errno.EACCES, "in use", str(source))
        rename(source, target)

    monkeypatch.setattr(swap, "in_one_step", refuse)
    monkeypatch.setattr(os, "rename", sometimes)
    with pytest.raises(PermissionError):
        swap.exchange(*folders)
    assert texts(*folders) == ["new", "live"]
    assert [path.name for path in folders[0].parent.iterdir()] == ["tinytorch"]


@pytest.mark.parametrize("done", [1, 2])
def test_finish_after_a_cut(folders: tuple[Path, Path], done: int) -> None:
    new, live = folders
    away = new.with_name("tinytorch.away")
    for source, target in [(live, away), (new, live)][:done]:
        source.rename(target)
    swap.finish(new, live)
    assert texts(new, live, away) == ["live", "new", None]
