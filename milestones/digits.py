"""The 1,797 handwritten digits of data/, as NumPy arrays. Where they come from: data/README.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np

FILE = Path(__file__).resolve().parent / "data" / "digits.csv.gz"


def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """Pixels `(1797, 64)`, float32 from -1 (paper) to 1 (ink), and labels `(1797,)`, int64, in the file's order."""
    rows = np.loadtxt(FILE, delimiter=",", dtype=np.int64)
    return (rows[:, :64] / 8 - 1).astype(np.float32), rows[:, 64]


def sorted_by_digit(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The same rows, all zeros first: as they lie in one folder a digit, so that a loader has to shuffle them."""
    return rows[np.argsort(labels[rows], kind="stable")]


def stratified_split(shuffled: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Train rows (sorted by digit) and held-out rows: every fifth of each digit, so all digits have their share."""
    rows = sorted_by_digit(shuffled, labels)
    held_out = np.arange(len(rows)) % 5 == 0
    return rows[~held_out], rows[held_out]


def split_by_writer(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Train rows (sorted by digit) and the last 360, which are nearly all of other writers' forms."""
    rows = np.arange(len(labels))
    return sorted_by_digit(rows[:-360], labels), rows[-360:]
