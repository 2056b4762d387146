"""These tests import the reference package: the lessons with their solutions, exported."""

from __future__ import annotations

import sys
from pathlib import Path

from tito.course import Course
from tito.dev.export import reference

sys.path[:0] = [str(reference(Course.find())), str(Path(__file__).parent)]
