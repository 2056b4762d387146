"""Every name of PyTorch's in the map exists: site/pytorch says beside each of our names what PyTorch calls it."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from tito.course import Course, _read_toml

MAPS = sorted((Course.find().root / "site" / "pytorch").glob("*.toml"))
NAMES = sorted({row["torch"] for path in MAPS for row in _read_toml(path)["name"] if row["torch"]})


def resolve(dotted: str) -> Any:
    """The object of that name; of an attribute that a class only annotates, as `torch.nn.Module.training`, its type.

    Raises AttributeError when there is no such name.
    """
    found: Any = importlib.import_module("torch")
    package, *parts = dotted.split(".")
    assert package == "torch", dotted
    for part in parts:
        annotated = [vars(each).get("__annotations__", {}) for each in getattr(found, "__mro__", ())]
        fallback = next((types[part] for types in annotated if part in types), None)
        found = getattr(found, part) if fallback is None else getattr(found, part, fallback)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_pytorch_has_the_name(name: str) -> None:
    resolve(name)


def test_a_name_that_is_not_there_is_noticed() -> None:
    with pytest.raises(AttributeError):
        resolve("torch.Tensor.summ")
    with pytest.raises(AttributeError):
        resolve("torch.nn.Linear.wieght")
