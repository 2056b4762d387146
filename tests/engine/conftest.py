"""These tests import the reference package: the lessons with their solutions, exported."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tito.course import Course
from tito.dev.export import reference

# In a shell's background job Ctrl-C is ignored, here and in every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path[:0] = [str(reference(Course.find())), str(Path(__file__).parent)]


@pytest.fixture(scope="session")
def straight(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By case, the trainer of a growth that was never stopped. Not to be changed."""
    from grown_of import CASES, grow

    return {case: grow(case, tmp_path_factory.mktemp(case), keep_last_n=2) for case in CASES}
