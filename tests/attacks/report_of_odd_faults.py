"""Reports faults that are numbers, arrays and dicts of both."""

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
    "broken": {},
    "faults": [1, np.arange(3), {"cell": np.arange(3), "error": np.arange(3)}, {"cell": 1, "error": 7}]
}
os.write(frame.f_locals["talk"], frames.pack(frame.f_locals["number"], report))
while True:
    pass
""",
}
