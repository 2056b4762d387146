"""`tito doctor [--report]`: looks for what keeps TinyTorch from running here, and says how to mend it.

With --report it prints a block to paste into a bug report, which names neither the user nor the home folder.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from tito import report
from tito.course import Course
from tito.errors import UserError
from tito.workspace import Workspace

DISTRIBUTION = "tinytorch-course"
PYTHONS = ((3, 10), (3, 13))
NUMPY = """
import numpy
build = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
print("NumPy", numpy.__version__, "with BLAS", build["name"], build.get("version", ""))
"""
SHADOWING = ("tinytorch", "tito", "numpy", "jupytext", "random", "math", "typing")


@dataclass(frozen=True)
class Finding:
    """What was looked at, and the command that mends it when it is not well; `grave` when nothing works without."""

    text: str
    mend: str = ""
    grave: bool = True

    @property
    def status(self) -> str:
        """How it is labelled."""
        return ("FAIL" if self.grave else "note") if self.mend else "ok"


def run(args: Namespace, course: Course) -> int:
    """Print all findings; 1 when one of them is grave."""
    findings = [*_python(), *_numpy(), *_jupyter(), *_encoding(), *_foreign(), *_folder()]
    colour = report.wants_colour(sys.stdout) and not args.report
    lines = [line for finding in findings for line in _lines(finding, colour)]
    if args.report:
        from tito import facts

        lines = facts.block(course, lines)
    print("\n".join(lines))
    return 1 if any(finding.status == "FAIL" for finding in findings) else 0


def _lines(finding: Finding, colour: bool) -> list[str]:
    mend = [f"{report.INDENT}mend it with:  {finding.mend}"] if finding.mend else []
    return [f"{report.label(finding.status, colour)}{finding.text}", *mend]


def _python() -> Iterator[Finding]:
    text = f"Python {sys.version.split()[0]} in {sys.prefix}"
    low, high = (".".join(map(str, version)) for version in PYTHONS)
    known = PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]
    yield Finding(text if known else f"{text}; needs {low} to {high}", "" if known else f"uv venv --python {high}")


def _numpy() -> Iterator[Finding]:
    command = [sys.executable, "-I", "-X", "utf8", "-c", NUMPY]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if result.returncode == 0:
        yield Finding(result.stdout.strip())
    else:
        why = (result.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        yield Finding(report.cut(f"NumPy does not start: {why}", 70), _pip("install --force-reinstall numpy"))


def _jupyter() -> Iterator[Finding]:
    if find_spec("jupyterlab"):
        yield Finding(f"JupyterLab {metadata.version('jupyterlab')}")
    else:
        mend = _pip(f"install '{DISTRIBUTION}[jupyter]'")
        yield Finding("JupyterLab is missing; other editors of notebooks will do", mend, grave=False)


def _encoding() -> Iterator[Finding]:
    name = sys.stdout.encoding or "none"
    good = name.lower().replace("-", "") in ("utf8", "utf16", "utf8sig")
    set_ = "setx PYTHONUTF8 1" if sys.platform == "win32" else "export PYTHONUTF8=1"
    yield Finding(f"text is printed as {name}{'' if good else ', which lacks many characters'}", "" if good else set_)


def _foreign() -> Iterator[Finding]:
    """Other people's packages under our names."""
    owners = metadata.packages_distributions()
    others = {name: [one for one in owners.get(name, []) if one != DISTRIBUTION] for name in ("tinytorch", "tito")}
    for name, found in others.items():
        for one in dict.fromkeys(found):
            yield Finding(f"the installed package {one} brings a {name} that hides ours", _pip(f"uninstall {one}"))
    if not any(others.values()):
        yield Finding("no other package is called tinytorch or tito")


def _folder() -> Iterator[Finding]:
    try:
        workspace = Workspace.find()
    except UserError:
        yield Finding("this folder lies in no workspace, which is fine for a new one")
        return
    yield from _writable(workspace)
    yield from _package(workspace)
    for folder in (workspace.root, workspace.modules):
        yield from _shadowing(workspace, folder)


def _writable(workspace: Workspace) -> Iterator[Finding]:
    for folder in (workspace.root, workspace.modules, workspace.package, workspace.private):
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            mend = "chmod u+rwx" if folder.exists() else "mkdir"
            yield Finding(f"{folder} cannot be written: {error.strerror}", f"{mend} {shlex.quote(str(folder))}")
            return
    yield Finding(f"{workspace.root} can be written")


def _package(workspace: Workspace) -> Iterator[Finding]:
    """Generated files that are gone, and those that were edited since."""
    from tito import package

    known, present = package.manifest(workspace), package.hashes(workspace.package)
    lost = [name for name in known if name not in present]
    edited = [name for name in known if name in present and present[name] != known[name]]
    if lost:
        yield Finding(report.cut(f"{', '.join(lost)} is missing in tinytorch/", 70), "tito export --all")
    if edited:
        text = f"{', '.join(edited)} in tinytorch/ was changed by hand; an export keeps a copy and replaces it"
        yield Finding(text, "tito export --all", grave=False)
    if not lost and not edited:
        yield Finding(f"tinytorch/ is as it was exported, {len(known)} files" if known else "nothing is exported yet")


def _shadowing(workspace: Workspace, folder: Path) -> Iterator[Finding]:
    """Files of the learner's whose names hide a module from the notebooks."""
    for name in SHADOWING:
        for path in (folder / f"{name}.py", folder / name / "__init__.py"):
            if path.exists() and path.parent != workspace.package:
                hiding = path if path.suffix == ".py" and path.name != "__init__.py" else path.parent
                mend = shlex.join(["mv", str(hiding), str(hiding.with_name(f"my_{hiding.name}"))])
                yield Finding(f"{workspace.shown(hiding)} hides the module {name}", mend)


def _pip(words: str) -> str:
    return f"{sys.executable} -m pip {words}"
