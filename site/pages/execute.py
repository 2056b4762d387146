"""Runs lessons, solutions in, in a real Jupyter kernel, and keeps what each cell shows."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pages.site import ROOT, Site
from tito import release
from tito.course import Lesson
from tito.dev import export, kernel

Outputs = dict[str, list[dict[str, Any]]]
STABLE = {"execution_count": None}  # the number of a run says nothing to a reader


def outputs(site: Site, lesson: Lesson) -> Outputs:
    """What each cell of the lesson puts out when its solutions are in, by the cell's id, as nbformat has it."""
    whole = site.whole(lesson)
    needs = [need.folder for need in (*site.solved.needs_of(whole), whole)]
    tools = [ROOT / "tito" / "checks", ROOT / "tito" / "notebook.py", ROOT / "requirements" / "lock.txt"]
    made: Outputs = site.results.of(whole.stem, [*needs, *tools, Path(__file__)], lambda: run(site, whole))
    return made


def run(site: Site, lesson: Lesson) -> Outputs:
    """Run the notebook from top to bottom. Raises RuntimeError with the last line of what went wrong."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    package = export.needs_of(site.solved, lesson)
    notebook = nbformat.reads(release.notebook_text(lesson, solutions=True), as_version=4)  # type: ignore[no-untyped-call]
    environment = {**os.environ, "TINYTORCH_PACKAGE": str(package)}
    with TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=kernel.SECONDS, resources=where, extra_arguments=kernel.QUIET)
        try:
            client.execute(env=environment)
        except CellExecutionError as error:
            last = kernel.COLOUR.sub("", str(error)).strip().splitlines()[-1]
            raise RuntimeError(f"lesson {lesson.id} does not run: {last}") from None
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return {cell.id: [_plain(output) for output in cell.outputs] for cell in code}


def _plain(output: Any) -> dict[str, Any]:
    return {**output, **(STABLE if "execution_count" in output else {})}
