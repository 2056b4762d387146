"""These tests import the reference package: the lessons with their solutions, exported."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tito.course import Course
from tito.dev.export import reference

# In a shell's background job Ctrl-C is ignored, here and in every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path[:0] = [str(reference(Course.find())), str(Path(__file__).parent)]
