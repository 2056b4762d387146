"""`tito teach COMMAND`: the parsers of an instructor's commands, each a module of `tito/teach/commands`.

Each module has HELP, `arguments(parser)` and `run(args, course) -> exit code`, and imports what is heavy inside `run`.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from tito.teach import commands


def add(parent: argparse._SubParsersAction[Any]) -> None:
    """All commands, by name."""
    for found in sorted(iter_modules(commands.__path__), key=lambda module: module.name):
        module = import_module(f"{commands.__name__}.{found.name}")
        name = found.name.rstrip("_").replace("_", "-")  # import_.py is `tito teach import`
        parser = parent.add_parser(name, help=module.HELP, description=module.HELP)
        parser.set_defaults(module=module.__name__)
        module.arguments(parser)
