"""Runs a whole notebook in a real Jupyter kernel."""

from __future__ import annotations

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

SECONDS = 120
QUIET = ["--IPKernelApp.log_level=50"]
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def run(text: str, package: Path) -> list[str]:
    """Run every cell of the notebook in order, on the package in folder `package`; what went wrong, in sentences."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    environment = {**os.environ, "TINYTORCH_PACKAGE": str(package), "MPLBACKEND": "agg"}
    notebook = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]  # nbformat has no types
    with TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=SECONDS, resources=where, extra_arguments=QUIET)
        try:
            client.execute(env=environment)
        except CellExecutionError as error:
            last = COLOUR.sub("", str(error)).strip().splitlines()[-1]
            return [f"the notebook does not run in a kernel: {last}"]
    return []
