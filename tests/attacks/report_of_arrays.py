"""Reports exercises as broken with arrays where words are wanted, which cannot be asked for their truth."""

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
        "status": np.arange(3), "waits_for": np.arange(3),
        "error": np.arange(3), "where": np.arange(3)
    }},
    "faults": []
}
os.write(frame.f_locals["talk"], frames.pack(frame.f_locals["number"], report))
while True:
    pass
""",
}
