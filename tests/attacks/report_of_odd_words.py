"""Reports a broken exercise whose error and place are numbers."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import os, sys
import numpy as np
from tito.teach.sealed import frames
frame = sys._getframe()
while not {"talk", "number"} <= set(frame.f_locals):
    frame = frame.f_back
report = {
    "broken": {"double": {
        "status": "FAIL", "error": 7, "where": 7
    }},
    "faults": []
}
os.write(frame.f_locals["talk"], frames.pack(frame.f_locals["number"], report))
while True:
    pass
""",
}
