"""Building, keeping and replacing the package; an export that is killed or fails at any step."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tito import package, percent, swap
from tito.errors import UserError
from tito.fold import FoldInput
from tito.workspace import Workspace

PROGRAM = Path(__file__).with_name("export_steps.py")
POINTS = int(os.environ.get("TITO_KILL_POINTS", "20"))


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("export_steps", PROGRAM)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


steps = load()
State = dict[str, bytes]


def state(workspace: Workspace) -> State:
    """The package, the snapshots, the manifest and the map of lines, byte for byte."""
    files = (workspace.private / package.MANIFEST, workspace.private / package.SOURCEMAP)
    roots = (workspace.package, workspace.private / "exported", *files)
    paths = [path for root in roots for path in (root, *root.rglob("*")) if path.is_file()]
    return {path.relative_to(workspace.root).as_posix(): path.read_bytes() for path in paths}


def make(root: Path) -> Workspace:
    """A workspace with the old version exported, and a file of the student's own in the package."""
    workspace = Workspace.create(root)
    (workspace.package / "mine").mkdir()
    (workspace.package / "mine" / "notes.txt").write_text("mine", encoding="utf-8")
    steps.export(workspace, "old")
    return workspace


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> dict[str, State]:
    """What each version looks like when nothing goes wrong."""
    workspace = make(tmp_path_factory.mktemp("states") / "ws")
    found = {"old": state(workspace)}
    for version in steps.VERSIONS[1:]:
        steps.export(workspace, version)
        found[version] = state(workspace)
    return found


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make(tmp_path / "ws")


def remains(workspace: Workspace) -> list[str]:
    known = ("workspace.json", "exported", "package.json", "sourcemap.json", "backups", "cache")
    return [path.name for path in workspace.private.iterdir() if path.name not in known]


def test_versions_differ_and_hold_all(states: dict[str, State]) -> None:
    assert len({tuple(sorted(found.items())) for found in states.values()}) == 3
    assert sorted(states["new"]) == [
        ".tito/exported/01_one.py",
        ".tito/exported/02_two.py",
        ".tito/package.json",
        ".tito/sourcemap.json",
        *(f"tinytorch/{name}" for name in ("__init__.py", "extra.py", "mine/notes.txt", "one.py", "two.py")),
    ]
    assert json.loads(states["new"][".tito/package.json"])["files"].keys() == {
        *("__init__.py", "extra.py", "one.py", "two.py")
    }


# --- an ordinary export ---


def test_commit_names_what_it_rewrote(workspace: Workspace) -> None:
    done = steps.export(workspace, "new")
    assert done.rewrote == ("__init__.py", "extra.py", "one.py", "two.py") and not done.backups
    assert steps.export(workspace, "new").rewrote == ()
    assert remains(workspace) == []


def test_hand_edits_are_backed_up(workspace: Workspace) -> None:
    (workspace.package / "one.py").write_text("edited", encoding="utf-8")
    (workspace.package / "two.py").write_text("in the way", encoding="utf-8")
    done = steps.export(workspace, "new")
    assert {name: path.read_text(encoding="utf-8") for name, path in done.backups.items()} == {
        "one.py": "edited",
        "two.py": "in the way",
    }
    assert all(path.parent == workspace.private / "backups" for path in done.backups.values())


def test_generated_file_that_is_no_more_goes(workspace: Workspace) -> None:
    steps.export(workspace, "new")
    steps.export(workspace, "old")
    assert not (workspace.package / "two.py").exists()


def test_missing_package_folder_is_made(workspace: Workspace, states: dict[str, State]) -> None:
    shutil.rmtree(workspace.package)
    steps.export(workspace, "old")
    assert state(workspace) == {name: text for name, text in states["old"].items() if "mine" not in name}


def test_linked_package_folder_stays_a_link(workspace: Workspace, tmp_path: Path, states: dict[str, State]) -> None:
    shutil.move(workspace.package, tmp_path / "elsewhere")
    workspace.package.symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    steps.export(workspace, "new")
    assert workspace.package.is_symlink() and (tmp_path / "elsewhere" / "two.py").exists()


def test_bytecode_of_the_staging_folder_stays_out(workspace: Workspace) -> None:
    with package.staging(workspace) as folder:
        package.build(folder, [])
        (folder / "tinytorch" / "__pycache__").mkdir()
        package.commit(workspace, folder, {})
    assert sorted(path.name for path in workspace.package.iterdir()) == ["__init__.py", "mine"]


def test_a_failed_build_changes_nothing(workspace: Workspace, states: dict[str, State]) -> None:
    cells = percent.read('# %% exercise="f"\nF = gone\n')
    with pytest.raises(UserError, match="gone"), package.staging(workspace) as folder:
        package.build(folder, [FoldInput("one", "One.", cells)])
    assert state(workspace) == states["old"] and remains(workspace) == []


def test_edits_between_cut_and_recovery_are_kept(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(new: Path, live: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(swap, "exchange", cut)
        with pytest.raises(KeyboardInterrupt):
            steps.export(workspace, "new")
    assert package.pending(workspace)
    (workspace.package / "one.py").write_text("edited meanwhile", encoding="utf-8")
    assert package.recover(workspace) and not package.recover(workspace)
    (backup,) = (workspace.private / "backups").iterdir()
    assert (backup / "one.py").read_text(encoding="utf-8") == "edited meanwhile"
    assert (workspace.package / "two.py").exists() and remains(workspace) == []


def test_damaged_journal_is_told(workspace: Workspace) -> None:
    (workspace.private / "journal.json").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match="journal.json is damaged; delete it"):
        package.recover(workspace)


# --- killed ---


def spread(first: int, last: int, always: Sequence[int] = ()) -> list[int]:
    """About POINTS of the steps from first to last: those in `always`, the rest evenly, both ends included."""
    points = max(2, min(POINTS - len(always), last - first + 1))
    return sorted({*always, *(first + (last - first) * i // (points - 1) for i in range(points))})


def start(workspace: Workspace, template: Workspace, *arguments: object) -> tuple[int, dict[str, Any]]:
    """Run the program on a fresh copy of the template; how it ended, and what it counted."""
    shutil.rmtree(workspace.root, ignore_errors=True)
    shutil.copytree(template.root, workspace.root)
    done = subprocess.run(command(workspace, *arguments), capture_output=True, text=True, check=False)
    assert done.stderr == ""
    counted = done.stdout.partition("\n")[2]
    return done.returncode, json.loads(counted) if counted else {}


def command(workspace: Workspace, *arguments: object) -> list[str]:
    return [sys.executable, "-B", str(PROGRAM), str(workspace.root), *map(str, arguments)]


@pytest.mark.parametrize("way", ["one", "three"])
def test_killed_at_any_step(tmp_path: Path, states: dict[str, State], way: str) -> None:
    template, workspace = make(tmp_path / "template"), Workspace(tmp_path / "ws")
    _, whole = start(workspace, template, way, 0)
    assert state(workspace) == states["newer"]
    seen = set()
    for at in spread(1, whole["count"], whole["renames"]):
        assert start(workspace, template, way, at)[0] == -9
        seen.add(check_recovered(workspace, states, f"step {at}"))
    assert seen == set(states)


@pytest.mark.parametrize("way", ["one", "three"])
def test_killed_while_taking_back(tmp_path: Path, states: dict[str, State], way: str) -> None:
    template, workspace = make(tmp_path / "template"), Workspace(tmp_path / "ws")
    _, whole = start(workspace, template, way, 0)
    fail = whole["renames"][len(whole["renames"]) // 2 - 1]  # the last rename of the first export: all but done
    _, failed = start(workspace, template, way, 0, fail)
    assert state(workspace) == states["old"]
    for at in spread(fail + 1, failed["count"], [n for n in failed["renames"] if n > fail]):
        assert start(workspace, template, way, at, fail)[0] == -9
        check_recovered(workspace, states, f"step {at}")


@pytest.mark.parametrize("way", ["one", "three"])
def test_killed_at_any_time(workspace: Workspace, states: dict[str, State], way: str) -> None:
    chance = random.Random(way)
    for _ in range(max(3, POINTS // 5)):
        with subprocess.Popen(command(workspace, way, -1), stdout=subprocess.PIPE) as process:
            assert process.stdout
            process.stdout.readline()
            time.sleep(chance.uniform(0, 0.2))
            process.kill()
        check_recovered(workspace, states, "a moment")


def check_recovered(workspace: Workspace, states: dict[str, State], when: str) -> str:
    """After a kill and a recovery the workspace is in one of the versions, wholly."""
    package.recover(workspace)
    now = state(workspace)
    version = [name for name, known in states.items() if known == now]
    assert version, f"killed at {when}: a mixture of versions"
    assert remains(workspace) == [] and not package.recover(workspace)
    return version[0]


# --- failed ---


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("way", ["one", "three"])
def test_failed_at_any_step(
    tmp_path: Path, states: dict[str, State], way: str, lasting: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "three":
        monkeypatch.setattr(swap, "in_one_step", lambda new, live: False)
    for module, name in steps.WRAPPED:
        monkeypatch.setattr(module, name, getattr(module, name))  # so that Steps is taken off again
    template = make(tmp_path / "template")
    workspace = Workspace(tmp_path / "ws")

    def full(count: int) -> None:
        if lasting or count == faults.at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    faults = steps.Steps(0, full)
    shutil.copytree(template.root, workspace.root)
    faults.on = True
    steps.export(workspace, "new")
    faults.on, count = False, faults.count
    for at in spread(1, count):
        shutil.rmtree(workspace.root)
        shutil.copytree(template.root, workspace.root)
        faults.at, faults.count, faults.on = at, 0, True
        message = failure(workspace)
        faults.on = False
        assert message is None or message.startswith("the disk is full: ")
        if message and "your package is as it was" in message:
            assert state(workspace) == states["old"], f"step {at}"
        elif message:
            assert lasting and "the next command completes it or takes it back" in message
        package.recover(workspace)
        assert state(workspace) in ((states["new"],) if message is None else (states["old"], states["new"]))
        assert remains(workspace) == []


def failure(workspace: Workspace) -> str | None:
    try:
        steps.export(workspace, "new")
    except UserError as error:
        assert error.code == 2
        return error.message
    return None


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "the disk is full: your package is as it was; free some space, then repeat: tito export"),
        (errno.EROFS, "lies on a read-only disk: your package is as it was; copy the workspace to a folder that"),
        (errno.EACCES, "you may not write"),
        (errno.EXDEV, "look for the cause with tito doctor, then repeat: tito export"),
    ],
)
def test_errors_are_one_sentence(workspace: Workspace, code: int, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(new: Path, live: Path) -> None:
        raise OSError(code, os.strerror(code), str(live))

    before = state(workspace)
    monkeypatch.setattr(swap, "exchange", fail)
    with pytest.raises(UserError) as caught:
        steps.export(workspace, "new")
    assert words in caught.value.message and "\n" not in caught.value.message
    assert state(workspace) == before and remains(workspace) == []


# --- the cache ---

ONE = FoldInput("one", "One.", percent.read('# %% exercise="f"\ndef f():\n    return 1\n'), {"extra": "X = 1\n"})


def test_cached_build_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = package.cached(tmp_path / "cache", [ONE])
    assert sorted(path.name for path in (place / "tinytorch").iterdir()) == ["__init__.py", "extra.py", "one.py"]
    monkeypatch.setattr(package, "build", None)
    assert package.cached(tmp_path / "cache", [ONE]) == place


def test_damaged_cached_build_is_made_again(tmp_path: Path) -> None:
    place = package.cached(tmp_path / "cache", [ONE])
    before = package.hashes(place / "tinytorch")
    (place / "tinytorch" / "one.py").write_text("", encoding="utf-8")
    (place / "tinytorch" / "more.py").write_text("", encoding="utf-8")
    assert package.cached(tmp_path / "cache", [ONE]) == place
    assert package.hashes(place / "tinytorch") == before


def test_key_depends_on_all_that_goes_in() -> None:
    cells = percent.read('# %% exercise="f"\ndef f():\n    return 2\n')
    others = [
        FoldInput("two", ONE.title, ONE.cells, ONE.supplied),
        FoldInput("one", "Other.", ONE.cells, ONE.supplied),
        FoldInput("one", ONE.title, cells, ONE.supplied),
        FoldInput("one", ONE.title, ONE.cells, {"extra": "X = 2\n"}),
        FoldInput("one", ONE.title, ONE.cells),
    ]
    assert len({package.key([lesson]) for lesson in [ONE, *others]} | {package.key([])}) == 7


def test_old_builds_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "CACHED_BUILDS", 2)
    for i, name in enumerate("abcd"):
        place = package.cached(tmp_path, [FoldInput(name, "", [])])
        os.utime(place, (i, i))
    assert len(list(tmp_path.iterdir())) == 2 and place.exists()


def test_unwritable_cache_is_told(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in the way", encoding="utf-8")
    with pytest.raises(UserError, match="then repeat: tito test"):
        package.cached(tmp_path / "cache", [ONE])
