"""Runs a whole notebook in a real Jupyter kernel."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SECONDS = 120
QUIET = ["--IPKernelApp.log_level=50"]
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Ran:
    """What a notebook's run showed: all text that its cells put out, and what went wrong, in sentences."""

    shown: str
    problems: tuple[str, ...]


def run(text: str, package: Path) -> Ran:
    """Run every cell of the notebook in order, on the package in folder `package`."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    environment = {**os.environ, "TINYTORCH_PACKAGE": str(package), "MPLBACKEND": "agg"}
    notebook = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]  # nbformat has no types
    problems = []
    with TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=SECONDS, resources=where, extra_arguments=QUIET)
        try:
            client.execute(env=environment)
        except CellExecutionError as error:
            last = COLOUR.sub("", str(error)).strip().splitlines()[-1]
            problems = [f"the notebook does not run in a kernel: {last}"]
    return Ran("\n".join(_texts(notebook)), tuple(problems))


def _texts(notebook: Any) -> list[str]:
    """The plain text of every output."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs]
