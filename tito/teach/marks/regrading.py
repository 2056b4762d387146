"""After a regrade: what it would change in marks, and the question whether to apply it. Begin at `settle`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from tito.teach.marks.store import Change, Store
from tito.teach.result import Key

SHOWN = 8
YES = ("y", "yes")


def settle(store: Store, keys: Sequence[Key], yes: bool, command: str, ask: Callable[[str], str] = input) -> bool:
    """Show how marks change if the results of these keys count, ask, and apply; whether they count now.

    Results under which no mark changes count without a question. Where nobody can be asked, nothing is applied; then
    `command` does it.
    """
    changes = list(store.changes(keys))
    told = [change for change in changes if change.checks]
    if told:
        _show(told)
        if not yes and not _agrees(ask):
            print(f"Nothing was changed; to apply it:  {command} --yes")
            return False
    if changes:
        store.apply(keys)
    if told:
        print(f"Applied: {len(told)} marks changed")
    return True


def _show(changes: Sequence[Change]) -> None:
    up = sum(change.after > change.before for change in changes)
    down = sum(change.after < change.before for change in changes)
    print(f"{len(changes)} submissions come out otherwise: {up} higher, {down} lower")
    for change in sorted(changes, key=lambda change: (change.after - change.before, change.student))[:SHOWN]:
        checks = ", ".join(f"{name} {before:g} to {after:g}" for name, before, after in change.checks)
        row = f"  {change.student}: {change.before:g} to {change.after:g} ({checks})"
        print(row if len(row) <= 78 else row[:75] + "...")
    if len(changes) > SHOWN:
        print(f"  and {len(changes) - SHOWN} more")


def _agrees(ask: Callable[[str], str]) -> bool:
    return sys.stdin.isatty() and ask("Apply? [y/N] ").strip().lower() in YES
