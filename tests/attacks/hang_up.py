"""Closes all files, the connection among them, and lives on."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import os, time
def double(x):
    os.closerange(0, 256)
    time.sleep(1000)
""",
}
