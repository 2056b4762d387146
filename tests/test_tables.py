"""The small tables of the milestones: those of their README, the two that are drawn, how rows are split in three."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tito.course import Course
from tito.dev.export import reference

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "milestones"
SHAPES = {"auto_mpg": (392, 7), "iris": (150, 4), "wine": (178, 13), "breast_cancer": (569, 30)}
COUNTS = {"iris": [50, 50, 50], "wine": [59, 71, 48], "breast_cancer": [212, 357]}


@pytest.fixture(scope="module")
def tables() -> Iterator[ModuleType]:
    """milestones/tables.py, as a milestone beside it imports it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPTS)
        yield loaded(SCRIPTS / "tables.py")
        sys.modules.pop("digits", None)


@pytest.fixture(scope="module")
def generator() -> Any:
    """tinytorch's Generator, by a seed."""
    return loaded(reference(Course.find()) / "tinytorch" / "generator.py").Generator


def loaded(path: Path) -> ModuleType:
    """A file as a module, which is imported nowhere else."""
    spec = importlib.util.spec_from_file_location(f"_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(name: str) -> bytes:
    return gzip.decompress((SCRIPTS / "data" / f"{name}.csv.gz").read_bytes())


@pytest.mark.parametrize("name", SHAPES)
def test_a_file_is_that_of_the_readme_which_names_source_and_licence(name: str) -> None:
    readme = (SCRIPTS / "data" / "README.md").read_text(encoding="utf-8")
    section = readme.partition(f"## {name}.csv.gz\n")[2].partition("\n## ")[0]
    assert f"`{hashlib.sha256(text_of(name)).hexdigest()}`" in section
    assert "| licence | CC BY 4.0 |" in section and re.search(r"<https://doi\.org/10\.24432/C5\w+>", section)
    assert re.search(rf"^\| `{name}\.csv\.gz` \| {SHAPES[name][0]} \|", readme, re.MULTILINE)


def test_every_file_of_data_is_in_the_readme_and_packed_without_a_date() -> None:
    readme = (SCRIPTS / "data" / "README.md").read_text(encoding="utf-8")
    files = sorted((SCRIPTS / "data").glob("*.gz"))
    assert re.findall(r"^## (\S+\.csv\.gz)$", readme, re.MULTILINE) and len(files) == 5
    for file in files:
        assert f"## {file.name}\n" in readme
        flags, date = file.read_bytes()[3], file.read_bytes()[4:8]
        assert (flags, date) == (0, bytes(4))


@pytest.mark.parametrize("name", SHAPES)
def test_a_table_is_read_with_its_names(name: str, tables: ModuleType) -> None:
    table = tables.load_table(name)
    assert table.x.shape == SHAPES[name] and len(set(table.names)) == SHAPES[name][1]
    assert table.x.dtype == np.float64 and np.isfinite(table.x).all() and (table.x.std(axis=0) > 0).all()
    assert all(column.isidentifier() for column in table.names)
    if name in COUNTS:
        assert table.y.dtype == np.int64 and np.bincount(table.y).tolist() == COUNTS[name]
        assert len(table.classes) == len(COUNTS[name])
    else:
        assert table.y.dtype == np.float64 and table.classes == ()


def test_rows_are_what_others_know_them_to_be(tables: ModuleType) -> None:
    iris, cars = tables.load_table("iris"), tables.load_table("auto_mpg")
    assert iris.x[[34, 37]].tolist() == [[4.9, 3.1, 1.5, 0.2], [4.9, 3.6, 1.4, 0.1]]  # Fisher's, not UCI's
    first = dict(zip(cars.names, cars.x[0], strict=True))  # a Chevrolet Chevelle Malibu
    assert (first["cylinders"], first["weight"], first["year"], first["origin"]) == (8, 3504, 70, 1)
    assert cars.y[0] == 18
    means = tables.load_table("breast_cancer")
    assert (means.names[0], means.x[means.y == 0, 0].mean() > means.x[means.y == 1, 0].mean()) == ("mean_radius", True)


def test_the_digits_are_a_table_too(tables: ModuleType) -> None:
    table = tables.digits_table()
    assert table.x.shape == (1797, 64) and table.x.dtype == np.float64 and table.classes[3] == "3"
    assert table.names[8:10] == ("p10", "p11")


def test_friedmans_target_is_his_formula_and_noise(tables: ModuleType, generator: Any) -> None:
    table = tables.friedman(generator(0).split("data"))
    a, b, c, d, e = table.x[:, :5].T
    rest = table.y - (10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e)
    assert table.x.shape == (800, 10) and 0 <= table.x.min() < 0.01 and 0.99 < table.x.max() <= 1
    assert abs(rest.mean()) < 0.1 and abs(rest.std() - 1) < 0.1
    assert abs(np.corrcoef(table.x[:, 5:].T, table.y)[-1, :-1]).max() < 0.15


def test_the_cubics_target_is_its_formula_and_noise(tables: ModuleType, generator: Any) -> None:
    table = tables.cubic(generator(0).split("data"))
    a, b, c, d = table.x[:, :4].T
    rest = table.y - (1 + 2 * a * b - c**2 + 1.5 * a * b * c + 0.5 * d)
    assert table.x.shape == (400, 6) and -1 <= table.x.min() < -0.98 and 0.98 < table.x.max() <= 1
    assert abs(rest.mean()) < 0.02 and abs(rest.std() - 0.1) < 0.02


@pytest.mark.parametrize("make", ["friedman", "cubic"])
def test_a_seed_draws_the_same_and_another_seed_another(make: str, tables: ModuleType, generator: Any) -> None:
    first, again, other = (getattr(tables, make)(generator(seed)) for seed in (1, 1, 2))
    assert first.x.tobytes() == again.x.tobytes() and first.y.tobytes() == again.y.tobytes()
    assert not np.array_equal(first.x, other.x)
    assert getattr(tables, make)(generator(1), rows=20).x.shape[0] == 20


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_split_in_a_half_and_two_quarters_with_all_classes(
    name: str, seed: int, tables: ModuleType, generator: Any
) -> None:
    table = tables.load_table(name)
    parts = tables.split_rows(table, generator(seed))
    assert sorted(np.concatenate(parts)) == list(range(len(table.y)))
    for part, share in zip(parts, (0.5, 0.25, 0.25), strict=True):
        assert abs(len(part) - share * len(table.y)) <= 1
        for label, count in enumerate(COUNTS.get(name, ())):
            assert abs((table.y[part] == label).sum() - share * count) <= 1
        assert (np.diff(part) < 0).any() and (np.diff(table.y[part]) < 0).any()  # in no order that tells anything


def test_a_split_hangs_on_the_seed_alone(tables: ModuleType, generator: Any) -> None:
    table = tables.load_table("auto_mpg")
    first, again, other = (tables.split_rows(table, generator(seed).split("rows"))[2].tolist() for seed in (1, 1, 2))
    assert first == again != other


# How the files are made


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """benchmarks/data_sets.py"""
    return loaded(ROOT / "benchmarks" / "data_sets.py")


def wheel(folder: Path, text: str) -> Any:
    """A wheel with one packed table in it."""
    with zipfile.ZipFile(folder / "toy-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("toy/cars.csv.gz", gzip.compress(text.encode(), mtime=5))
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_file_is_made_of_a_wheels_columns_the_same_each_time(maker: ModuleType, tmp_path: Path) -> None:
    digest = wheel(tmp_path, "2,rows\n1.50,Lotus,7\n-2,Mini,8\n")
    source = maker.Source("toy-1.0", "toy/cars.csv.gz", digest, 1, (2, 0), ("weight", "mpg"))
    text = maker.table(source, maker.read(source, tmp_path))
    assert text == "weight,mpg\n7,1.50\n8,-2\n"
    assert maker.packed(text) == maker.packed(text) and gzip.decompress(maker.packed(text)).decode() == text


def test_a_wheel_that_holds_something_else_is_refused(maker: ModuleType, tmp_path: Path) -> None:
    digest = wheel(tmp_path, "1,2\n")
    with pytest.raises(ValueError, match=r"toy/cars.csv.gz in toy-1.0-py3-none-any.whl is another"):
        maker.read(maker.Source("toy-1.0", "toy/cars.csv.gz", "0" * 64, 0, (), ("a", "b")), tmp_path)
    with pytest.raises(ValueError, match="has a row of 2 columns, not 3"):
        maker.table(maker.Source("toy-1.0", "toy/cars.csv.gz", digest, 0, (), ("a", "b", "c")), "1,2\n")


@pytest.mark.parametrize("name", SHAPES)
def test_a_committed_file_has_the_names_that_the_maker_gives(name: str, maker: ModuleType) -> None:
    assert text_of(name).partition(b"\n")[0].decode().split(",") == list(maker.SOURCES[name].names)
