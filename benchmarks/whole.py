"""W9: the third milestone's digits, whole: 20 epochs of its `learn_digits`, looked after each epoch, one seed.

Reported are seconds of `learn_digits`, and the share of the 360 held-out digits that it has right.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from blocks import spread
from workloads import ROOT

sys.path[:0] = [str(ROOT / "build" / "reference"), str(ROOT / "milestones")]


def main(job: dict[str, Any]) -> dict[str, Any]:
    from digits import load_digits, stratified_split
    from m3_mlp_1986 import SPLIT_SEED, learn_digits
    from tinytorch import Generator, Tensor, TensorDataset

    pixels, labels = load_digits()
    split = stratified_split(Generator(SPLIT_SEED).permutation(len(labels)), labels)
    train, held_out = (TensorDataset(Tensor(pixels[rows]), Tensor(labels[rows])) for rows in split)
    wall, processor = list[float](), list[float]()
    for _ in range(job["repeats"]):
        began, worked = time.perf_counter(), time.process_time()
        _, trainer = learn_digits(train, held_out, seed=0)
        wall.append(time.perf_counter() - began)
        processor.append(time.process_time() - worked)
    return {"wall": spread(wall), "cpu": spread(processor), "accuracy": trainer.history["accuracy"][-1]}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
