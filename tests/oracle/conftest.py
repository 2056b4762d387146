"""These tests import the reference package: the lessons with their solutions, exported."""

from __future__ import annotations

import sys

import pytest
import torch
from hypothesis import settings

from tito.course import Course
from tito.dev.export import reference

sys.path.insert(0, str(reference(Course.find())))

settings.register_profile("same", derandomize=True)
settings.load_profile("same")  # a failure comes from the change at hand, not from what was drawn


@pytest.fixture(autouse=True)
def same_draws() -> None:
    """What PyTorch draws is the same in each run."""
    torch.manual_seed(0)
