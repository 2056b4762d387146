"""Every command that a written page or the README shows exists, with its flags; and the check notices what does not.

The built pages are looked at by test_pages_commands.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tito.course import Course, Lesson

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "site"))

from pages.command_check import Shown, in_html, in_markdown, troubles  # noqa: E402

LESSONS = Course.load(ROOT).lessons
WRITTEN = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", *sorted((ROOT / "site" / "text").rglob("*.md")))]


def name_of(one: Path | Lesson) -> str:
    return one.stem


def must_exist(shown: Iterable[Shown]) -> None:
    wrong = troubles(shown)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", WRITTEN, ids=name_of)
def test_commands_of_written_pages_exist(path: Path) -> None:
    must_exist(in_markdown(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("lesson", LESSONS, ids=name_of)
def test_commands_in_lessons_exist(lesson: Lesson) -> None:
    prose = [cell.source for cell in lesson.cells() if cell.kind != "code"]
    must_exist(shown for text in prose for shown in in_markdown(text))


GOOD = """
`tito test NN`, `tito teach COMMAND`, `tito teach
export 01 --to moodle`, `--dry-run`, `tito/cli.py`, `make test`, `nbgrader autograde 01 --force`

```sh
python3 -m venv mine && . mine/bin/activate
pip install -c requirements/lock.txt '.[instructor,jupyter]'    # once
TITO_LONG=1 pytest tests/long
tito teach grade 01 \\
    --student 'a*' --dry-run
python benchmarks/compare.py OLD NEW
```

```console
$ tito teach collect 01 --zip FILE
tito teach no-such-command stands in what it printed
```

```text
tito teach collect [--exchange | --folder DIR | --zip FILE]
                   [--lms {canvas,moodle}]
                   NN
```

```python
tito no-such-command
```
"""


def test_all_kinds_of_commands_are_found_and_good() -> None:
    shown = list(in_markdown(GOOD))
    assert len(shown) == 13 and sum(one.whole for one in shown) == 7
    must_exist(shown)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tito tset 01", "tito has no command tset"),
        ("tito test --al", "tito test has no --al"),
        ("tito test 01 02", "tito test takes 1 words"),
        ("tito diff", "tito diff wants 1 words"),
        ("tito teach", "tito teach wants a command"),
        ("tito teach export 01", "tito teach export wants --to"),
        ("tito teach export 01 --to blackboard", "takes no blackboard"),
        ("tito teach export 01 --to {csv,excel}", "takes no excel"),
        ("tito test [--al] NN", "tito test has no --al"),
        ("tito teach collect 01 --zip", "--zip wants a value"),
        ("cd x && tito tset", "no command tset"),
        ("python -m tito tset", "no command tset"),
        ("python -m tito.nothing", "no module tito.nothing"),
        ("python benchmarks/nothing.py", "no file benchmarks/nothing.py"),
        ("python benchmarks/run.py --nothing", "knows no --nothing"),
        ("make everything", "no target everything"),
        ("make test SPEED=2", "no SPEED"),
        ("pip install '.[teacher]'", "no extra teacher"),
        ("pytest tests/nothing", "no tests/nothing"),
        ("nbgrader formgrader", "nbgrader has no command formgrader"),
        ("nbgrader autograde 01 --nothing", "has no --nothing"),
        ("titto test", "titto is no program"),
        ("tito test 'x", "no shell can read it"),
    ],
)
def test_what_does_not_exist_is_noticed(text: str, says: str) -> None:
    """In a block of Markdown, and on a built page where highlighting cuts it in pieces."""
    spans = "".join(f"<span>{word}</span> " for word in text.replace("&", "&amp;").split(" "))
    page = f'<div class="highlight-sh notranslate"><div class="highlight"><pre>{spans}\n</pre></div></div>'
    for shown in (in_markdown(f"```sh\n{text}\n```"), in_html(page)):
        (wrong,) = troubles(shown)
        assert says in wrong


def test_inline_commands_are_checked_too() -> None:
    for shown in (in_markdown("so `tito test --al`"), in_html("<p>so <code>tito <b>test</b> --al</code></p>")):
        assert troubles(shown) == ["'tito test --al': tito test has no --al"]
    assert troubles(in_markdown("by `--no-such-flag`")) == ["'--no-such-flag': no command of tito has this flag"]
