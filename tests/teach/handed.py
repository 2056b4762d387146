"""Made submissions for the tests of intake and collecting, and what says why one was refused."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from tito.teach.intake import intake, safenames
from tito.teach.intake.intake import Entry, Refused, Submission

NAME = "03_layers"
NOTEBOOK = f"{NAME}.ipynb"


def notebook(source: str = "x = 1", **changes: Any) -> dict[str, Any]:
    """A notebook of one cell, as JSON's values."""
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None, "source": [source]}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell], **changes}


def saved(source: str = "x = 1", **changes: Any) -> bytes:
    """A notebook of one cell, as it lies on disk."""
    return json.dumps(notebook(source, **changes)).encode()


GOOD = saved()


def reason(read: Callable[[], object]) -> str:
    """Why this is refused: a sentence that is safe to print."""
    with pytest.raises(Refused) as refused:
        read()
    text = refused.value.reason
    assert text.isascii() and text.isprintable() and len(text) < 400
    return text


def take(files: dict[str, bytes]) -> Submission:
    """What intake makes of these files."""
    return intake.take([Entry(name, io.BytesIO(data).read) for name, data in files.items()], NAME)


def zipped(files: dict[str, bytes], **how: Any) -> bytes:
    """A zip of these files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", **{"compression": zipfile.ZIP_DEFLATED, **how}) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, archive.compression)
    return data.getvalue()


def is_safe(taken: Submission) -> bool:
    """Whether all its names may be files on every system, each another one."""
    parts = [part for name in taken.files for part in name.split("/")]
    return all(safenames.allowed(part) for part in parts) and len({n.casefold() for n in taken.files}) == len(
        taken.files
    )
