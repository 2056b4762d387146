"""A training run in which all that a checkpoint must hold matters; run as a program it trains, and can be killed.

python runs_of.py RUN_DIR [--epochs N] [--resume] [--save-interval N] [--slow SECONDS]
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

EPOCHS = 30 if "TITO_LONG" in os.environ else 6
ACCUMULATION = 4  # of six batches: every other window is short


def build(seed: int = 3, samples: int = 22, **settings: Any) -> tuple[Any, Any, Any]:
    """Trainer, training and validation loader: two dropouts, shuffle, Adam, warm-up, clipping, a short last window."""
    from tinytorch import (
        Adam,
        CrossEntropyLoss,
        DataLoader,
        Dropout,
        Generator,
        Linear,
        ReLU,
        Sequential,
        Tensor,
        TensorDataset,
        Trainer,
        WarmupCosineLR,
    )  # fmt: skip

    rng = Generator(seed)
    layers = [Linear(4, 8, rng=rng.split("a")), Dropout(0.3, rng=rng), ReLU(), Linear(8, 8, rng=rng.split("b"))]
    model = Sequential(*layers, Dropout(0.2, rng=rng), Linear(8, 3, rng=rng.split("c")))
    rows, labels = Generator(9).normal(0, 1, (samples, 4)), Generator(9).integers(0, 3, (samples,))
    data = TensorDataset(Tensor(rows), Tensor(labels))
    train, val = DataLoader(data, batch_size=4, shuffle=True, seed=5), DataLoader(data, batch_size=10)
    parts = {"scheduler": WarmupCosineLR(0.05, 3, 2 * EPOCHS), "grad_clip_norm": 0.5, "rng": rng, **settings}
    return Trainer(model, Adam(model.parameters()), CrossEntropyLoss(), **parts), train, val


def state(trainer: Any) -> str:
    """Everything that a checkpoint holds, as a digest: equal only when every bit is."""
    from tinytorch.checkpoint import _file_bytes
    from tinytorch.snapshot import gather

    return hashlib.sha256(_file_bytes(gather(trainer))).hexdigest()


def main() -> None:
    """Train, and print the digest of the end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("run_dir", type=Path)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--save-interval", type=int, default=2)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--slow", type=float, default=0.0)
    chosen = parser.parse_args()
    trainer, train, val = build()
    print("ready", flush=True)
    trainer.fit(
        train,
        val,
        epochs=chosen.epochs,
        run_dir=chosen.run_dir,
        resume=chosen.resume,
        accumulation_steps=ACCUMULATION,
        save_interval=chosen.save_interval,
        batch_callback=lambda trainer, row: time.sleep(chosen.slow),
        quiet=True,
    )
    print(trainer.step, state(trainer), float(np.sum(trainer.history["train_loss"])), flush=True)


if __name__ == "__main__":
    if importlib.util.find_spec("tinytorch") is None:  # a test that starts this often has put it on the path
        from tito.course import Course
        from tito.dev.export import reference

        sys.path.insert(0, str(reference(Course.find())))
    main()
