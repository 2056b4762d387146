"""The milestones pass on the solved lessons that they need, in a workspace, and fail on a package that is broken."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tito import package
from tito.course import Course
from tito.dev.export import fold_input

COURSE = Course.find()
SCRIPTS = COURSE.root / "milestones"
FILES = {milestone.id: milestone.file for milestone in COURSE.every_milestone}
SECONDS = {"m1": 15, "m2": 10, "m3": 60, "m2b": 60}
LINES = {
    "m1": ["at least 9 of 10", "at least 90 %", "at least 97 %"],
    "m2": ["4 of 4", "4 of 4", "exactly 75 %", "4 of 4"],
    "m3": ["at least 9 of 10", "at least 97 %", "at least 96 %", "as set and counted", "within 1 %", "within 1 %"],
    "m2b": [
        *("4 of 4", "-2", "at least 0.95", "at least 0.89", "below the network", "at least 0.81", "below the network"),
        *("at least 0.60", "at least 94.0 %", "at least 96.0 %", "at least 94.0 %", "at least 90.0 %"),
    ],
}
PICTURES = {
    "m1": ["cards", "digits"],
    "m2": ["search", "regions"],
    "m3": ["xor", "curves", "mistakes"],
    "m2b": ["network", "layers", "beside"],
}


class Broken(NamedTuple):
    """A fault, as text at the end of a file of the package, and the figures that it makes miss their line."""

    milestone: str
    file: str
    fault: str
    misses: set[str]


BROKEN = {
    "a - b is b - a, so the perceptron moves the wrong way": Broken(
        "m1",
        "tensor.py",
        "Sub.forward = lambda self, a, b: b - a",
        {"cards: runs that end without a mistake", "cards: 200 new ones right, mean", "digits 3 and 8: held out, mean"},
    ),
    "a product of matrices takes the columns in reverse": Broken(
        "m1",
        "tensor.py",
        "true = MatMul.forward\nMatMul.forward = lambda self, a, b: true(self, a[..., ::-1], b)",
        {"cards: 200 new ones right, mean", "digits 3 and 8: held out, mean"},
    ),
    "a layer forgets its bias": Broken(
        "m2",
        "layers.py",
        "true = Affine.forward\nAffine.forward = lambda self, x, weight, bias: true(self, x, weight)",
        {"AND, one layer: best of 100,000", "XOR, two layers set by hand"},
    ),
    "everything equals everything": Broken(
        "m2",
        "tensor.py",
        "Tensor.__eq__ = lambda self, other: Tensor(np.isfinite(self.data + other.data))",
        {"XOR, one layer: best of 100,000"},
    ),
    "a sigmoid lets everything through": Broken(
        "m2", "activations.py", "Sigmoid.forward = lambda self, x: x", {"XOR, two layers set by hand"}
    ),
    "the hidden layer gets half its gradient": Broken(
        "m3",
        "activations.py",
        "true = Tanh.backward\nTanh.backward = lambda self, grad: true(self, grad) / 2",
        {"backward against nudging each weight"},
    ),
    "a loader does not shuffle": Broken(
        "m3",
        "dataloader.py",
        "DataLoader.draw_order = lambda self, epoch: np.arange(len(self.dataset))",
        {"digits: random 360, mean", "digits: random 360, lowest run"},
    ),
    "a window's gradients are added up and not divided": Broken(
        "m3",
        "training.py",
        "true = Trainer._optimizer_update\nTrainer._optimizer_update = lambda self, sample_count: true(self, 1)",
        {"the Trainer's steps against our own"},
    ),
    "an optimizer without momentum": Broken(
        "m3",
        "optimizers.py",
        "true = SGD.__init__\nSGD.__init__ = lambda self, params, lr, **options: true(self, params, lr)",
        {"XOR, 2-4-1: runs that learn it"},
    ),
    "a schedule that stays at its start": Broken(
        "m3", "training.py", "CosineSchedule.get_lr = lambda self, epoch: self.max_lr", {"the Trainer's history"}
    ),
    "a growth whose training rows choose": Broken(
        "m2b",
        "growing.py",
        "true = GMDHNetwork.begin\n"
        "GMDHNetwork.begin = lambda self, train, dev, val=None: true(self, train, train, val)",
        {"Auto MPG: R2, mean", "Auto MPG: a weighted sum", "Auto MPG: R2, lowest run"},
    ),
    "a growth without limits": Broken(
        "m2b",
        "grown_units.py",
        "Units.limited = lambda self, outputs, margin: self",
        {"Auto MPG: R2, mean", "Auto MPG: a weighted sum", "Auto MPG: R2, lowest run"},
    ),
    "polynomials without their product": Broken(
        "m2b",
        "growing.py",
        "true = expand\n\n\ndef expand(u, v, kind):\n    return true(u, v, kind) * (np.arange(TERMS[kind]) != 3)",
        {"XOR, one unit: rows right", "XOR: coefficient of the product", "cubic: R2, mean"},
    ),
    "the worst candidates are kept": Broken(
        "m2b",
        "growing.py",
        "def select(errors, keep):\n    return np.argsort(-errors, kind='stable')[:keep]",
        {"cubic: R2, mean", "Friedman: R2, mean", "Auto MPG: R2, mean", "iris: right, mean"},
    ),
}
QUICK = {"m2b"}  # milestones that leave out their long part when they are asked to


class Run(NamedTuple):
    """How a milestone ended."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def told(self) -> dict[str, Any]:
        return json.loads(self.out)


def solved(milestone: str) -> Path:
    """The folder that holds the solved package of the lessons that a milestone needs, and of no others."""
    lessons = COURSE.needs_of(COURSE.milestone(milestone))
    return package.cached(COURSE.root / "build" / "cache", [fold_input(lesson) for lesson in lessons])


def run(milestone: str, built: Path, folder: Path, *options: str) -> Run:
    """Run it as a student does: in a workspace, on a copy, with the package on the path."""
    shutil.copytree(SCRIPTS, folder / "milestones", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-W", "error", f"milestones/{FILES[milestone]}", *options]
    env = {**os.environ, "PYTHONPATH": str(built), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False)
    return Run(done.returncode, done.stdout, done.stderr, folder)


def broken_copy(folder: Path, fault: Broken) -> Path:
    """The solved package with one fault in one file."""
    shutil.copytree(solved(fault.milestone) / "tinytorch", folder / "tinytorch")
    file = folder / "tinytorch" / fault.file
    file.write_text(file.read_text(encoding="utf-8") + f"\n\n{fault.fault}\n", encoding="utf-8", newline="\n")
    return folder


@pytest.mark.parametrize("milestone", FILES)
def test_passes_on_the_solved_lessons(milestone: str, tmp_path: Path) -> None:
    done = run(milestone, solved(milestone), tmp_path, "--json")
    assert done.code == 0, done.err
    told = done.told
    assert (told["milestone"], told["seed"], told["passed"]) == (milestone, 0, True)
    assert told["seconds"] < SECONDS[milestone]
    judged = [figure for figure in told["figures"] if figure["passed"] is not None]
    assert [figure["line"] for figure in judged] == LINES[milestone]
    assert all(figure["passed"] and figure["text"] for figure in judged)
    assert told["pictures"] == [f"plots/{milestone}_{name}.png" for name in PICTURES[milestone]]
    for picture in told["pictures"]:
        assert_shows_something(tmp_path / picture)


def test_the_network_of_1971_is_fine_tuned_where_lesson_08_is_there(tmp_path: Path) -> None:
    everything = package.cached(COURSE.root / "build" / "cache", [fold_input(one) for one in COURSE.everything])
    alone = run("m2b", solved("m2b"), tmp_path / "alone", "--json", "--quick").told["figures"]
    later = run("m2b", everything, tmp_path / "later", "--json")
    assert later.code == 0, later.err
    opened = {row["name"] for row in later.told["figures"]} - {row["name"] for row in alone if row["text"] != "not run"}
    assert opened == {"Friedman: fine-tuned, mean", "digits: right, mean", "digits: the network of 1986, mean"}
    assert all(row["passed"] for row in later.told["figures"] if row["name"] in opened)


def assert_shows_something(path: Path) -> None:
    """A PNG file of some size, neither white nor of a few flat colours only."""
    from matplotlib.image import imread

    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    pixels = imread(path)[..., :3]
    assert min(pixels.shape[:2]) > 200
    assert pixels.std() > 0.1
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50


@pytest.mark.parametrize("name", BROKEN)
def test_fails_on_a_broken_package(name: str, tmp_path: Path) -> None:
    fault = BROKEN[name]
    quick = ["--quick"] if fault.milestone in QUICK else []
    done = run(fault.milestone, broken_copy(tmp_path, fault), tmp_path, "--json", *quick)
    assert done.code == 1 and "Traceback" not in done.err, done.err
    assert fault.misses <= {figure["name"] for figure in done.told["figures"] if figure["passed"] is False}
    assert done.told["passed"] is False


def test_a_package_that_raises_ends_with_1(tmp_path: Path) -> None:
    fault = Broken("m2", "layers.py", "def forward(self, x):\n    raise ValueError\nLinear.forward = forward", set())
    assert run("m2", broken_copy(tmp_path, fault), tmp_path).code == 1


def test_table_is_compact_and_names_the_seed(tmp_path: Path) -> None:
    done = run("m2", solved("m2"), tmp_path, "--seed", "3")
    lines = done.out.splitlines()
    assert lines[0] == "m2 XOR 1969, seeds from 3"
    assert " ".join(lines[3].split()) == "ok XOR, one layer: best of 100,000 75.0 % exactly 75 %"
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 78


def test_a_seed_is_a_whole_number(tmp_path: Path) -> None:
    done = run("m1", solved("m1"), tmp_path, "--seed", "-1")
    assert done.code == 2
    assert "a seed is a whole number from 0 up, got '-1'" in done.err


@pytest.mark.parametrize("file", FILES.values())
def test_at_most_150_lines(file: str) -> None:
    assert len((SCRIPTS / file).read_text(encoding="utf-8").splitlines()) <= 150


def test_digits_are_those_of_the_readme() -> None:
    text = gzip.decompress((SCRIPTS / "data" / "digits.csv.gz").read_bytes())
    readme = (SCRIPTS / "data" / "README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(text).hexdigest() in readme
    assert "CC BY 4.0" in readme and "10.24432/C50P49" in readme


def test_digits_and_their_splits() -> None:
    digits = runpy.run_path(str(SCRIPTS / "digits.py"))
    pixels, labels = digits["load_digits"]()
    assert pixels.shape == (1797, 64) and pixels.dtype == np.float32
    assert (pixels.min(), pixels.max()) == (-1, 1)
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    shuffled = np.random.default_rng(0).permutation(1797)
    for train, held_out in (digits["stratified_split"](shuffled, labels), digits["split_by_writer"](labels)):
        assert sorted([*train, *held_out]) == list(range(1797))
        assert len(held_out) == 360
        assert (np.diff(labels[train]) >= 0).all()
        assert np.ptp(np.bincount(labels[held_out])) <= 6
    assert held_out.tolist() == list(range(1437, 1797))
