"""What the benchmarks found, and what benchmarks/pages.py makes of it: tables, plots and sentences.

That file has the name of this package, so it is loaded under another one.
"""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from importlib import util
from types import ModuleType
from typing import Any

from pages.site import ROOT, Site

BENCHMARKS = ROOT / "benchmarks"


@lru_cache
def of(name: str) -> dict[str, Any]:
    """The table in benchmarks/NAME.json."""
    return dict(json.loads((BENCHMARKS / f"{name}.json").read_text(encoding="utf-8")))


@lru_cache
def maker() -> ModuleType:
    """The module benchmarks/pages.py."""
    spec = util.spec_from_file_location("benchmark_pages", BENCHMARKS / "pages.py")
    assert spec is not None and spec.loader is not None  # a file of this name has both
    made = util.module_from_spec(spec)
    sys.path.append(str(BENCHMARKS))  # for the modules that it imports
    try:
        spec.loader.exec_module(made)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return made


def block(site: Site, name: str) -> str:
    """A table, plot or sentence as Markdown: `{{ measured.block one-thread }}`; BLOCKS there has the names."""
    return str(maker().BLOCKS[name]())
