"""Fits TorchSONN networks for growing.py, in an environment of its own: a task a line comes in, its result goes out.

A task names an .npz file of train, dev and test rows, a family and the settings that both sides share. The time is that
of `Trainer.train`, which writes checkpoints as it always does; they go to a folder that is thrown away.
"""

from __future__ import annotations

import json
import logging
import platform
import sys
import tempfile
import time
from importlib import metadata
from typing import Any

import numpy as np
import torch
from omegaconf import OmegaConf
from torch.utils.data import DataLoader
from torchsonn import SONN, SONNDataset, Trainer

torch.set_num_threads(1)
logging.disable(logging.CRITICAL)


def settings(task: dict[str, Any], folder: str) -> Any:
    """Its own defaults, but for what both sides share, and an optimizer that goes to the end of a quadratic problem."""
    optimizer = {"name": "lbfgs", "optimizer_params": {"lr": task["lr"]}}
    train = {
        "max_layer_count": task["max_layers"],
        "criterion_minimum_width": task["width"],
        "stop_train_epsilon_condition": task["eps"],
        "seed": task["seed"],
        "steps": task["steps"],
        "precompute_features": task["precompute_features"],
        "eval_step_interval": 5,
        "early_stop_tolerance_steps": 3,
        "checkpoint_dir": folder,
        "verbose": False,
        "optimizer": optimizer,
    }
    model = {"type": "regressor", "ref_functions": [task["kind"]], "nbest_neurons": task["keep"]}
    return OmegaConf.merge(SONN.default_config(), {"model": model, "train": train})


def fitted(task: dict[str, Any]) -> dict[str, Any]:
    """What it says of the test rows, how long the fit took, and how many layers it kept."""
    with np.load(task["rows"]) as rows, tempfile.TemporaryDirectory() as folder:
        loaders = [
            DataLoader(SONNDataset(*(rows[f"{part}_{name}"].astype(np.float32) for name in "xy")), batch_size=1 << 20)
            for part in ("train", "dev", "test")
        ]
        chosen = settings(task, folder)
        model, trainer = SONN(chosen, d_model=rows["train_x"].shape[1]), Trainer(chosen)
        trainer.set_seed(task["seed"])
        began = time.perf_counter()
        trainer.train(model, *loaders, verbose=False)
        seconds = time.perf_counter() - began
        trainer.load_model_checkpoint(model, "cpu")
        said, _ = trainer.infer(model, loaders[2])
    return {"said": said.flatten().tolist(), "seconds": seconds, "layers": len(model.layers)}


def versions() -> dict[str, str]:
    """Of what fits here."""
    return {name: metadata.version(name) for name in ("torchsonn", "torch")} | {"python": platform.python_version()}


answers, sys.stdout = sys.stdout, sys.stderr  # what the package prints goes elsewhere
for line in sys.stdin:
    task = json.loads(line)
    print(json.dumps(versions() if "versions" in task else fitted(task)), file=answers, flush=True)
