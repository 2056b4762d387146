"""What nbgrader does to a submission in this course: cells put right, plain outputs, feedback that tells no secret.

The shipped configuration (nbgrader_config.py) names them in this order: CleanSubmission, RestoreCells (nbgrader's
sanitising), SealedExecute (sealed_execute.py), nbgrader's SaveAutoGrades, PlainText; for feedback HideHidden. Each
mends edges of nbgrader 0.9.6 that its docstring names.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader import utils  # type: ignore[import-untyped]
from nbgrader.api import Gradebook  # type: ignore[import-untyped]
from nbgrader.preprocessors import NbGraderPreprocessor, OverwriteCells  # type: ignore[import-untyped]

from tito.teach.nbgrader_hooks import plain

KEPT_METADATA = ("nbgrader", "deletable", "editable")
MAX_CELLS = 2_000
HIDDEN = re.compile(r"^.*BEGIN HIDDEN TESTS.*\n[\s\S]*?^.*END HIDDEN TESTS.*\n?", re.MULTILINE)
NOT_SHOWN = "### The rest of this check is not shown."


class Preprocessor(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader has no types
    """One that goes over the cells, in one function."""

    def each(self, cell: Any) -> None:
        """Change one cell in place."""
        raise NotImplementedError

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """nbconvert's interface."""
        for cell in nb.cells:
            self.each(cell)
        return nb, resources


class CleanSubmission(Preprocessor):
    """Takes from a submission what could make a page run something, or a file that is none of ours be read.

    Metadata is only nbgrader's, raw cells (which a page shows as they are) become text, outputs plain. Raises
    ValueError for links and other special files, which nbgrader would have followed and copied.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        _refuse_special_files(Path(resources["metadata"]["path"]))
        if len(nb.cells) > MAX_CELLS:
            raise ValueError(f"the notebook has {len(nb.cells)} cells, at most {MAX_CELLS} are graded")
        nb.cells = [_text_cell(cell) if cell.cell_type == "raw" else cell for cell in nb.cells]
        nb.metadata = type(nb.metadata)(language_info={"name": "python"})
        return super().preprocess(nb, resources)

    def each(self, cell: Any) -> None:
        cell.pop("attachments", None)
        cell.source = plain.text(cell.source, plain.ANSWER)
        cell.metadata = type(cell.metadata)({key: cell.metadata[key] for key in KEPT_METADATA if key in cell.metadata})
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = _nodes(plain.outputs(cell.outputs)), None


class RestoreCells(OverwriteCells):  # type: ignore[misc]  # nbgrader has no types
    """Gives every course cell back what the gradebook knows of it; the student's are only the answers.

    Edges of nbgrader mended: a cell copied with its metadata stops the whole batch (here the first counts); edited
    metadata ("grade": false, "solution": true on a check) leaves a check out or fails the submission; a deleted check
    is never graded, or put back at a place that raises KeyError; a hidden check is reported as changed every time.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            known = _known(gradebook.find_notebook(names["notebook"], names["assignment"]))
        self.hidden = {name for name, one in known.items() if "BEGIN HIDDEN TESTS" in one.source}
        for note in _mark(nb.cells, known):
            self.log.warning(note)
        self.add_missing_cells = False
        nb, resources = super().preprocess(nb, resources)
        for note in _add_missing(nb.cells, known, _order(resources)):
            self.log.warning(note)
        return nb, resources

    def report_change(self, name: str, attr: str, old: Any, new: Any) -> None:
        if not (attr == "checksum" and name in self.hidden):
            super().report_change(name, attr, old, new)


class PlainOutputs(Preprocessor):
    """Only plain text and pictures encoded anew; needed after a stock Execute, which keeps whatever a kernel sends.

    Edges mended: text on stderr (a warning) costs all points of a check; a number that a check ends in is its score,
    and anything else full marks; output is limited by lines, so that 50 lines may be 50 MB.
    """

    def each(self, cell: Any) -> None:
        if cell.cell_type == "code":
            cell.outputs = _nodes(plain.outputs(cell.outputs))


class PlainText(Preprocessor):
    """Markdown that is not the course's own shows words, emphasis, lists and formulas, or its source.

    Comes after SaveAutoGrades, which compares answers with what was released. Also removes files that a student added,
    since formgrader would serve them as pages of its own.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        source = _source_folder(resources)
        self.ours = {text for path in _notebooks(source) for text in _markdown_of(path)}
        _remove_added(Path(resources["metadata"]["path"]), source)
        return super().preprocess(nb, resources)

    def each(self, cell: Any) -> None:
        if cell.cell_type == "markdown" and cell.source not in self.ours:
            cell.source = plain.markdown(cell.source)


class HideHidden(Preprocessor):
    """Feedback without the source of hidden checks, and without tracebacks, which quote it.

    Edge mended: nbgrader's own feedback prints both.
    """

    def each(self, cell: Any) -> None:
        if cell.cell_type != "code":
            return
        shown = HIDDEN.sub(f"{NOT_SHOWN}\n", cell.source)
        if shown != cell.source:
            failed = any(output.output_type == "error" for output in cell.outputs)
            cell.source, says = shown.rstrip("\n"), "not ok" if failed else "ok"
            cell.outputs = _nodes([{"output_type": "stream", "name": "stdout", "text": says}])
        for output in cell.outputs:
            if output.output_type == "error":
                output.traceback = [f"{output.ename}: {output.evalue}"]


@dataclass(frozen=True)
class Known:
    """What the gradebook holds of a released cell."""

    cell_type: str
    source: str
    metadata: dict[str, Any]


def _known(notebook: Any) -> dict[str, Known]:
    points = {cell.name: cell.max_score for cell in (*notebook.grade_cells, *notebook.task_cells)}
    graded, tasks = ({cell.name for cell in cells} for cells in (notebook.grade_cells, notebook.task_cells))
    written = {cell.name for cell in notebook.solution_cells}
    return {cell.name: _one_known(cell, graded, written, tasks, points) for cell in notebook.source_cells}


def _one_known(cell: Any, graded: set[str], written: set[str], tasks: set[str], points: dict[str, float]) -> Known:
    name = cell.name
    roles = {"grade": name in graded, "solution": name in written, "task": name in tasks, "locked": cell.locked}
    worth = {"points": points[name]} if name in points else {}
    table = {"grade_id": name, "schema_version": 3, "checksum": cell.checksum, "cell_type": cell.cell_type}
    return Known(cell.cell_type, cell.source, {**table, **roles, **worth})


def _mark(cells: Iterable[Any], known: dict[str, Known]) -> list[str]:
    """Known metadata on the first cell of each name, none on any other; what was odd, in sentences."""
    notes, seen = [], set()
    for cell in cells:
        given = cell.metadata.pop("nbgrader", None)
        name = given.get("grade_id") if isinstance(given, dict) else None
        if not isinstance(name, str) or name not in known:
            continue
        if name in seen:
            notes.append(f"cell {name} stands here twice; the first counts")
            continue
        seen.add(name)
        cell.metadata["nbgrader"] = type(cell.metadata)(known[name].metadata)
    return notes


def _add_missing(cells: list[Any], known: dict[str, Known], order: list[str]) -> list[str]:
    """Put graded cells that were deleted behind the nearest one before them that is there."""
    present = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells]
    notes = []
    for i, name in enumerate(order):
        if name in present or name not in known or "points" not in known[name].metadata:
            continue
        place = max((present.index(other) + 1 for other in order[:i] if other in present), default=len(cells))
        cells.insert(place, _fresh(known[name]))
        present.insert(place, name)
        notes.append(f"cell {name} was missing and is back")
    return notes


def _fresh(known: Known) -> Any:
    make = new_code_cell if known.cell_type == "code" else new_markdown_cell
    return make(known.source, metadata={"nbgrader": dict(known.metadata), "deletable": False})  # type: ignore[no-untyped-call]


def _order(resources: Any) -> list[str]:
    """The names of the course's cells as the source has them (the gradebook keeps no order)."""
    path = _source_folder(resources) / f"{resources['nbgrader']['notebook']}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell["metadata"]["nbgrader"]["grade_id"] for cell in cells if "nbgrader" in cell["metadata"]]


def _source_folder(resources: Any) -> Path:
    """source/ASSIGNMENT of the course that submitted/STUDENT/ASSIGNMENT or autograded/STUDENT/ASSIGNMENT lies in."""
    course = Path(resources["metadata"]["path"]).resolve().parents[2]
    return course / "source" / str(resources["nbgrader"]["assignment"])


def _notebooks(source: Path) -> list[Path]:
    header = source.parents[1] / "header.ipynb"
    return [*source.glob("*.ipynb"), *([header] if header.is_file() else [])]


def _markdown_of(path: Path) -> set[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {"".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown" and not _answers(cell)}


def _answers(cell: dict[str, Any]) -> bool:
    return bool(cell["metadata"].get("nbgrader", {}).get("solution"))


def _refuse_special_files(folder: Path) -> None:
    for path in folder.rglob("*"):
        if not (stat.S_ISREG(path.lstat().st_mode) or stat.S_ISDIR(path.lstat().st_mode)):
            raise ValueError(f"{path.name} is no regular file; hand in files themselves, not links to them")


def _remove_added(autograded: Path, source: Path) -> None:
    """Keep nbgrader's own two files, and what the course gave."""
    for path in utils.find_all_files(str(autograded), []):
        name = Path(path).relative_to(autograded)
        if not (source / name).is_file() and name.as_posix() not in ("timestamp.txt", "submission_secret.txt"):
            Path(path).unlink()


def _text_cell(cell: Any) -> Any:
    text = plain.as_text(plain.text(cell.source, plain.ANSWER))
    made = new_markdown_cell(text, metadata=cell.metadata)  # type: ignore[no-untyped-call]
    made["id"] = cell.get("id", made["id"])
    return made


def _nodes(outputs: list[dict[str, Any]]) -> list[Any]:
    from nbformat import from_dict

    return [from_dict(output) for output in outputs]  # type: ignore[no-untyped-call]
