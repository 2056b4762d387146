"""Sessions on pages: commands really run in a workspace; what they print is kept, and shown as a reader sees it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tito.course import Course

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "site"))

from pages import commands  # noqa: E402
from pages.results import Results  # noqa: E402
from pages.site import TEXT, Site  # noqa: E402
from pages.tree import Tree  # noqa: E402

COURSE = Course.load(ROOT)
STORY = """
init = ["tito init my-tinytorch", "cd my-tinytorch"]
open = ["tito open 01"]
todo = ["tito test"]
wrong = [{ write = "create", lines = ["array = np.array(data)", "return 2 * array"] }, "tito test"]
mistake = [{ write = "create", mistake = "makes floats of integers too" }, "tito test"]
right = [{ write = "create" }, "tito test", "tito"]
watch = [{ run = "tito watch", meanwhile = [{ write = "facts" }] }]
all = [{ write = "*" }, "tito test"]
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site whose story `day` has been gone through."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "day.toml").write_text(STORY, encoding="utf-8")
    site = Site(COURSE, COURSE, folder / "reference", Tree(folder / "tree"), Results(folder / "cache"), False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "SESSIONS", folder)
        patch.setenv("TITO_SITE", "https://example.org/whoever-builds")
        commands.said(site, "day")
    return site


@pytest.fixture
def site(told: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The same; nothing is run again."""
    monkeypatch.setattr(commands, "SESSIONS", told.tree.folder.parent)
    monkeypatch.setattr(commands, "_run", lambda site, story: pytest.fail("it was run again"))
    return told


def test_a_part_shows_commands_and_what_they_printed(site: Site) -> None:
    shown = commands.session(site, "day.init")
    assert shown.startswith("```console\n$ tito init my-tinytorch\nMade my-tinytorch: ")
    assert shown.endswith("\n$ cd my-tinytorch\n```")


def test_paths_are_those_that_a_reader_would_see(site: Site) -> None:
    assert "  ~/my-tinytorch/modules/01_tensor.ipynb\n" in commands.session(site, "day.open")
    said = str(commands.said(site, "day"))
    assert "/tmp" not in said and "example.org" not in said and "file://" not in said


def test_answers_are_written_as_the_story_says(site: Site) -> None:
    todo, wrong, mistake = (commands.session(site, f"day.{part}") for part in ("todo", "wrong", "mistake"))
    assert "  todo  create" in todo and "FAIL" not in todo
    assert "  FAIL  create" in wrong and "yours return 2 * array" in wrong
    assert "looks like: makes floats of integers too" in mistake
    right, every = commands.session(site, "day.right"), commands.session(site, "day.all")
    assert "  ok    create" in right and right.count("\n$ tito") == 2
    assert re.search(r"(\d+) of \1 in \d", every)


def test_what_is_written_can_be_shown(site: Site) -> None:
    assert commands.written(site, "day.wrong") == "```python\narray = np.array(data)\nreturn 2 * array\n```"


def test_watch_is_followed_from_save_to_save(site: Site) -> None:
    lines = commands.session(site, "day.watch").splitlines()
    times = [line for line in lines if re.match(r"\d\d:\d\d:\d\d  ", line)]
    assert len(times) == 2 and "  1 of " in times[0] and " 2 of " in times[1]


def test_a_part_that_is_missing_is_named(site: Site) -> None:
    with pytest.raises(KeyError, match=r"day\.toml has no part 'night', only init, open"):
        commands.session(site, "day.night")


def test_a_command_that_is_used_wrongly_ends_the_build(told: Site, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="tito tset ended with 2"):
        commands.Learner(told, tmp_path).take(["tito tset"])


def test_every_story_is_told_whole() -> None:
    """Each part stands on a page, and pages ask for no other."""
    pages = "\n".join(path.read_text(encoding="utf-8") for path in sorted(TEXT.rglob("*.md")))
    asked = set(re.findall(r"\{\{ commands\.(?:session|written) (\S+) \}\}", pages))
    there = {f"{path.stem}.{part}" for path in commands.SESSIONS.glob("*.toml") for part in commands.steps(path.stem)}
    assert asked == there
