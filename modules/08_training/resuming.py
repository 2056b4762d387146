"""Which run to go on with, and from which of its files. Supplied with lesson 08: trace it, don't write it.

Begin at `opened`, then `load_newest`. A run belongs to the kind of trainer that its configuration names: a network that
grows and a Trainer keep their runs side by side in one folder.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from tinytorch.checkpoint import CheckpointError
from tinytorch.runs import Run

__all__: list[str] = []  # the package hands on none of this


def opened(run_dir: Any, resume: bool | str | PathLike[str], config: dict[str, Any]) -> Run:
    """The run to go on with: a new one, the newest of its kind with a step checkpoint, or the named one.

    Raises FileNotFoundError for a name without a run, ValueError with the keys in which the configurations differ.
    """
    if run_dir is None:
        return Run.unsaved(config)
    found = _found(Path(run_dir), resume, config.get("trainer")) if resume else None
    if found is None:
        run = Run.create(run_dir, config)
        run.log(f"run {run.name} begins" + (f"; there was nothing to resume in {run_dir}" if resume else ""))
        return run
    differing = found.differing(config)
    if differing:
        keys = "; ".join(f"{key}: {before!r:.60} then, {now!r:.60} now" for key, (before, now) in differing.items())
        raise ValueError(f"run {found.name} has another configuration: {keys}; resume=False starts a new run")
    return found


def _found(run_dir: Path, resume: bool | str | PathLike[str], kind: Any) -> Run | None:
    if isinstance(resume, bool):
        mine = (run for run in reversed(Run.all(run_dir)) if run.config.get("trainer") == kind)
        return next((run for run in mine if _has_checkpoint(run)), None)
    if not (run_dir / resume / "config.json").is_file():
        known = ", ".join(run.name for run in Run.all(run_dir)) or "none"
        raise FileNotFoundError(f"there is no run {resume} in {run_dir}, only {known}; name one, or resume=True")
    return Run.open(run_dir / resume)


def _has_checkpoint(run: Run) -> bool:
    """Whether there is something to go on from; else what a killed writer left half there is removed."""
    if run.step_files():
        return True
    if run.folder is not None and any(run.folder.glob("*.tmp")):
        with suppress(RuntimeError), run.locked():  # locked: it is just beginning, and that is its writer's
            run.clean()
    return False


def load_newest(run: Run, load: Callable[[Path], object]) -> tuple[Path, list[str]]:
    """Load the newest step checkpoint that is whole; return its path, and the names of the newer ones.

    These get another name: under their own they would count as the newest for `keep_last`. Raises CheckpointError when
    none is whole, or as `load` does for one that is whole and does not fit.
    """
    damaged: list[Path] = []
    for _, path in reversed(run.step_files()):
        try:
            load(path)
            return path, [newer.replace(newer.with_name(f"{newer.name}.damaged")).stem for newer in damaged]
        except CheckpointError as error:
            if error.kind not in ("corrupt", "refused"):  # a changed bit may read as what is refused
                raise
            damaged.append(path)
    names = ", ".join(path.name for path in damaged)
    raise CheckpointError(f"no checkpoint of run {run.name} is whole: {names}; start a new run")
