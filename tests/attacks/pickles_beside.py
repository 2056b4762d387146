"""Hands in pickles and archives that run or write when they are opened."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path

HONEST = 0

EXERCISES = {}


class Bomb:
    """Runs a program where it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch /tmp/pickled",)


def place(folder: Path) -> None:
    """What lies beside the notebook."""
    bomb = pickle.dumps(Bomb())
    for name in ("weights.npy", "model.pkl", "results.pickle"):
        (folder / name).write_bytes(bomb)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("../../../left-behind", "slipped")
    (folder / "work.zip").write_bytes(data.getvalue())
