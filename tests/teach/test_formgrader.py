"""formgrader in a real browser: nothing that a student wrote runs there, and an instructor grades by hand.

The same hostile notebook is also put where nbgrader alone would leave it. There its canaries fire: what is not seen in
the first page is seen in the second.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tito.course import Course
from tito.teach.assignments import course_folder, releasing, variants
from tito.teach.nbgrader_api import open_course

COURSE = Course.find()
NAME = "02_activations"
Classroom = Any  # tests/teach/conftest.py
SECONDS = 60
# Each canary says its name in window.__xss, or asks for a file by that name.
SAY = "window.__xss=(window.__xss||[]).concat('{}')"
ASK = "https://canary.test/{}"


def script(name: str) -> str:
    return f"<script>{SAY.format(name)}</script>"


def on_error(name: str) -> str:
    return f'<img src="x" onerror="{SAY.format(name)}">'


def svg(name: str) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" onload="{SAY.format(name)}"><circle r="9"/></svg>'


MARKDOWN = {
    "md-script": f"An answer.\n\n{script('md-script')}",
    "md-image": f"Text {on_error('md-image')}",
    "md-svg": svg("md-svg"),
    "md-details": f'<details open ontoggle="{SAY.format("md-details")}">x</details>',
    "md-frame": f'<iframe srcdoc="<script>{SAY.format("md-frame").replace("window", "parent")}</script>"></iframe>',
    "md-link": f"[mark me](javascript:{SAY.format('md-link')})",
    "md-remote": f"![seen]({ASK.format('md-remote')})",
    "md-style": f"<style>@import '{ASK.format('md-style')}';</style>",
    "md-code": f"`` ` `` {on_error('md-code')} ``",
    "md-fence": f"~~~\n```\n~~~\n{on_error('md-fence')}",
    "md-reference": f"![seen][p]\n\n[p]: {ASK.format('md-reference')}",
}
OUTPUTS = {
    "out-html": {"text/html": script("out-html")},
    "out-svg": {"image/svg+xml": svg("out-svg")},
    "out-js": {"application/javascript": SAY.format("out-js")},
    "out-markdown": {"text/markdown": on_error("out-markdown")},
    "out-latex": {"text/latex": on_error("out-latex")},
}


def hostile(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with a canary in every place that a page might show."""
    cells = notebook["cells"]
    for name, text in MARKDOWN.items():
        cells.append({"cell_type": "markdown", "id": name, "metadata": {}, "source": text})
    for name, data in OUTPUTS.items():
        output = {"output_type": "display_data", "metadata": {}, "data": {**data, "text/plain": on_error("out-plain")}}
        cells.append(code(name, "1", [output]))
    error = {
        "output_type": "error",
        "ename": "E",
        "evalue": on_error("err"),
        "traceback": [on_error("err"), "\x1b[31m<b>"],
    }
    stream = {"output_type": "stream", "name": "stdout", "text": on_error("stream")}
    cells.append(code("texts", f'"""{script("source")}"""', [error, stream]))
    cells.append({"cell_type": "raw", "id": "raw", "metadata": {}, "source": script("raw")})
    picture = {"a.svg": {"image/svg+xml": f"<svg onload={SAY.format('attached')}>"}}
    attached = {"cell_type": "markdown", "id": "attached", "metadata": {}, "attachments": picture}
    cells.append({**attached, "source": "![a](attachment:a.svg)"})
    marks = {"grade": False, "solution": False, "locked": False, "task": True, "points": 1, "schema_version": 3}
    foreign = {"nbgrader": {**marks, "grade_id": f'x">{script("foreign")}'}}
    cells.append({"cell_type": "markdown", "id": "foreign", "metadata": foreign, "source": "A task."})
    widgets = {"version_major": 2, "version_minor": 0, "state": {"a": f"</script>{script('widgets')}"}}
    notebook["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": widgets}
    notebook["metadata"]["title"] = f"</title>{script('title')}"
    next(cell for cell in cells if cell["id"] == "answer-think-1")["source"] = f"My **answer**. {script('answer')}"
    next(cell for cell in cells if cell["id"] == "answer-think-2")["source"] = "It is $\\frac{1}{2}$, *or so*."
    return notebook


def code(id: str, source: str, outputs: list[Any]) -> dict[str, Any]:
    return {"cell_type": "code", "id": id, "metadata": {}, "execution_count": 1, "source": source, "outputs": outputs}


@pytest.fixture(scope="module")
def room(make_classroom: Callable[..., Classroom]) -> Classroom:
    """A course with one hostile submission, graded as shipped by ada, and as nbgrader alone would keep it by bea."""
    room = make_classroom()
    room.folder.settings.write_text(f'[assignment."{NAME}"]\nquestion_points = 3\n', encoding="utf-8")
    one = course_folder.item(COURSE, NAME)
    releasing.release(room.folder, COURSE, open_course(room.folder), one, variants.load(room.folder))
    for student in ("ada", "bea"):
        room.submit(student, NAME, hostile(room.solved(NAME)))
    for student in ("ada", "bea"):
        room.api("autograde", NAME, student)
    kept = room.root / "autograded" / "bea" / NAME / f"{NAME}.ipynb"
    theirs = json.loads((room.folder.submitted / "bea" / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8"))
    kept.chmod(0o644)
    kept.write_text(json.dumps(theirs), encoding="utf-8")
    return room


@pytest.fixture(scope="module")
def server(room: Classroom, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Jupyter's server with nbgrader's extension, started in the course folder as an instructor would."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [f"--port={port}", "--ip=127.0.0.1", "--no-browser", "--allow-root", "--IdentityProvider.token=t"]
    command = [sys.executable, "-m", "jupyter", "server", *options, f"--ServerApp.root_dir={room.root}"]
    env = {name: value for name, value in os.environ.items() if name not in ("JUPYTER_PATH", "PYTHONWARNINGS")}
    env |= {"JUPYTER_CONFIG_DIR": str(tmp_path_factory.mktemp("jupyter")), "HOME": str(tmp_path_factory.mktemp("home"))}
    log = tmp_path_factory.mktemp("log") / "server.txt"
    with open(log, "wb") as said:
        running = subprocess.Popen(command, cwd=room.root, env=env, stdout=said, stderr=said)
    try:
        wait_for(f"http://127.0.0.1:{port}/api?token=t", running, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait(SECONDS)


def wait_for(url: str, running: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and running.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail(log.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Visit:
    """A submission's page in formgrader: what ran, and what was asked for elsewhere."""

    def __init__(self, browser: Browser, server: str, room: Classroom, student: str) -> None:
        self.page: Page = browser.new_page()
        self.asked: list[str] = []
        self.page.route(lambda url: not url.startswith(server), self.note)
        self.page.goto(f"{server}/formgrader/gradebook?token=t")
        shown = self.page.goto(f"{server}/formgrader/submissions/{submission(room, student)}/")
        assert shown is not None and shown.ok  # a page of errors would be quiet, too
        for link in self.page.get_by_text("mark me").all():
            link.click(timeout=2000)
        self.page.wait_for_timeout(300)

    def note(self, route: Any) -> None:
        self.asked.append(route.request.url)
        route.abort()

    @property
    def fired(self) -> set[str]:
        """The names of canaries that ran or asked."""
        ran = self.page.evaluate("window.__xss || []")
        return {*ran, *(url.rpartition("/")[2] for url in self.asked if url.startswith("https://canary.test"))}


def submission(room: Classroom, student: str) -> str:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{room.root / 'gradebook.db'}", "course") as gradebook:
        return str(gradebook.find_submission_notebook(NAME, NAME, student).id)


@pytest.fixture(scope="module")
def ada(browser: Browser, server: str, room: Classroom) -> Visit:
    return Visit(browser, server, room, "ada")


def test_the_canaries_fire_without_us(browser: Browser, server: str, room: Classroom) -> None:
    fired = Visit(browser, server, room, "bea").fired
    assert fired >= {*MARKDOWN, "out-html", "out-js", "out-markdown", "answer", "foreign"}, fired


def test_nothing_runs_on_the_page_of_a_submission(ada: Visit) -> None:
    assert ada.fired == set()
    assert {re.sub(r"^https?://([^/]+).*", r"\1", url) for url in ada.asked} <= {"cdnjs.cloudflare.com"}  # MathJax


def test_what_was_hostile_is_there_to_read(ada: Visit) -> None:
    text = ada.page.inner_text("body")
    assert "An answer.\n\n<script>window.__xss" in text
    assert "[mark me](javascript:" in text
    assert ada.page.locator("pre", has_text="My **answer**.").count() == 1


def test_an_ordinary_answer_is_laid_out(ada: Visit) -> None:
    assert ada.page.locator("em", has_text="or so").count() == 1


def test_pages_before_it_are_quiet_too(browser: Browser, server: str, room: Classroom) -> None:
    visit = Visit(browser, server, room, "ada")
    for place in ("manage_submissions/" + NAME, f"gradebook/{NAME}/{NAME}", "manage_students/ada", "manage_students"):
        visit.page.goto(f"{server}/formgrader/{place}")
        assert visit.fired == set()


def test_a_mark_given_in_the_browser_stays_at_a_regrade(ada: Visit, room: Classroom) -> None:
    field = ada.page.locator("#answer-think-1")
    with ada.page.expect_response(lambda response: response.request.method == "PUT" and response.ok):
        field.fill("2")
        field.blur()
    before = room.scores(NAME)["ada"][0]
    room.api("autograde", NAME, "ada")
    assert room.scores(NAME)["ada"][0] == before
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{room.root / 'gradebook.db'}", "course") as gradebook:
        grade = gradebook.find_grade("answer-think-1", NAME, NAME, "ada")
        assert (grade.manual_score, grade.score) == (2, 2)
