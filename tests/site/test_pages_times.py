"""How long a reader waits: the first run with the checks loaded, the first figure, and every later cell.

Each number is printed. Run it alone: what else runs on the machine counts.
"""

from __future__ import annotations

from statistics import median

import pytest
from chrome import Chrome
from inpage import Lesson
from served import Server

from tito.course import Course

FIRST = Course.find().lessons[0]
CHECK = next(cell.id for cell in FIRST.cells() if cell.role == "check")
DEMO = next(cell.id for cell in FIRST.cells() if cell.role == "demo" and cell.kind == "code")
FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.title('Squares grow faster and faster')\nplt.show()"
MOST_FIRST, MOST_FIGURE, MOST_LATER, MOST_CHECK = 8.0, 7.0, 0.1, 0.2  # seconds; half of a check's are its own work
WORK = "from time import perf_counter\nbegan = perf_counter()\nsum(range(100_000))\nperf_counter() - began"


def test_a_reader_does_not_wait_long(chrome: Chrome, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    with chrome.visit(f"{server.url}lessons/{FIRST.stem}.html") as visit:
        lesson = Lesson(visit)
        first = lesson.seconds_of(CHECK)
        assert "todo" in lesson.shown(CHECK)
        check = median(lesson.seconds_of(CHECK) for _ in range(5))
        lesson.write(DEMO, FIGURE)
        figure = lesson.seconds_of(DEMO)
        assert lesson.cell(DEMO).locator(".run-output img").count() == 1
        lesson.write(DEMO, WORK)
        later = median(lesson.seconds_of(DEMO) - float(lesson.shown(DEMO)) for _ in range(9))
    with capsys.disabled():
        print(f"\nfirst run, checks loaded: {first:.1f} s; first figure: {figure:.1f} s more; a check: {check:.2f} s")
        print(f"later cells: {later:.3f} s over their own work")
    assert first <= MOST_FIRST and figure <= MOST_FIGURE and later <= MOST_LATER and check <= MOST_CHECK
