"""The command line: reads the arguments, runs one command, and turns errors into one sentence and an exit code.

Exit 0: done. 1: not yet. 2: wrong use. Each command is a module of `tito/commands` with `run(args, course)`, imported
only when it is called, so that `tito --help` answers at once.
"""

from __future__ import annotations

import argparse
import atexit
import errno
import gc
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from tito.errors import WRONG_USE, UserError

if TYPE_CHECKING:
    from tito.course import Course

SHORT = ("tito.commands.test", "tito.commands.export")  # commands that end soon, in a process of their own
INTERRUPTED = 130  # what shells expect after Ctrl-C
HELP_IN_ORDER = """\
Start:   tito init my-tinytorch, then tito open 01
Repeat:  tito test (or tito watch), tito hint, tito export NN, tito open NN
See:     tito (where am I), tito status, tito milestone
"""


def main(arguments: Sequence[str] | None = None, course: Course | None = None) -> int:
    """Run one command; the exit code."""
    _let_any_text_print()
    given = list(sys.argv[1:] if arguments is None else arguments)
    args = _parser(teaches="teach" in given[:1]).parse_args(given)
    if arguments is None and args.module in SHORT:
        _leave_garbage()
    try:
        return _run(args, course)
    except UserError as error:
        return _say(error.message, error.code)
    except KeyboardInterrupt:
        return _say("stopped; go on with: tito", INTERRUPTED)
    except OSError as error:
        return _say(f"{_trouble(error)}, then repeat: {shlex.join(['tito', *given])}", WRONG_USE)


def _leave_garbage() -> None:
    """Syntax trees are many objects without a cycle: to look through them for garbage takes half of a short command."""
    gc.disable()
    atexit.register(gc.freeze)  # else Python looks through them at its end


def _run(args: argparse.Namespace, course: Course | None) -> int:
    command = import_module(args.module)
    if args.module.startswith("tito.dev"):
        return int(command.run(args))
    if course is None:
        from tito.course import Course

        course = Course.find()
    return int(command.run(args, course))


def _let_any_text_print() -> None:
    """A terminal that cannot show a character shows `?` in its place."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _say(message: str, code: int) -> int:
    sys.stdout.flush()
    print(message, file=sys.stderr)
    return code


def _trouble(error: OSError) -> str:
    """What the system refused, and what to do about it."""
    file = error.filename or "a file"
    known = {
        errno.ENOSPC: f"the disk is full and {file} was not written; free some space",
        errno.EDQUOT: f"your quota is used up and {file} was not written; free some space",
        errno.EFBIG: f"{file} would be larger than the system allows; raise the limit with: ulimit -f unlimited",
        errno.EROFS: f"{file} lies on a read-only disk; copy the workspace to a folder that you may write",
        errno.EACCES: f"you may not write {file}; give yourself the right with: chmod -R u+rwX .",
    }
    return known.get(error.errno or 0, f"{file}: {error.strerror or error}; look for the cause with: tito doctor")


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USE, f"{self.prog}: {message.partition(' (choose')[0]}; see: {self.prog} --help\n")


def _parser(teaches: bool = False) -> _Parser:
    """All commands; those of `tito teach`, which are many, when one of them is called."""
    parser = _Parser(
        prog="tito",
        description="Build a machine-learning framework, exercise by exercise.",
        epilog=HELP_IN_ORDER,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_version())
    parser.set_defaults(module="tito.commands.where")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for add in (_workspace_commands, _lesson_commands, _other_commands, _dev_commands):
        add(commands)
    teach = _add(commands, "teach", "for instructors: release, collect, grade, report", module="tito.teach")
    if teaches:
        from tito.teach import cli

        cli.add(teach.add_subparsers(metavar="COMMAND", title="commands", required=True))
    return parser


def _version() -> str:
    from tito import __version__

    return f"tito {__version__}"


if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[_Parser]


def _add(commands: Commands, name: str, help: str, module: str = "") -> _Parser:
    parser = commands.add_parser(name, help=help, description=help)
    parser.set_defaults(module=module or f"tito.commands.{name}")
    return parser


def _workspace_commands(commands: Commands) -> None:
    init = _add(commands, "init", "make a workspace in a new folder")
    init.add_argument("folder", metavar="DIR")
    init.add_argument("--py", action="store_true", help="lessons as percent .py files instead of notebooks")
    status = _add(commands, "status", "all lessons and milestones, a line each")
    status.add_argument("--json", action="store_true", help="for programs")
    doctor = _add(commands, "doctor", "look for what keeps TinyTorch from running here")
    doctor.add_argument("--report", action="store_true", help="one block for a bug report, without your name")


def _lesson_commands(commands: Commands) -> None:
    open_ = _add(commands, "open", "make a lesson's notebook, if missing, and open it")
    open_.add_argument("lesson", metavar="NN", nargs="?", help="else the lesson that you are at, or that FILE is of")
    open_.add_argument(
        "--from", dest="source", metavar="FILE", help="take what you wrote in a notebook from the site, or another copy"
    )
    open_.add_argument("--no-launch", action="store_true", help="print the path and start nothing")
    test = _add(commands, "test", "check your answers")
    test.add_argument("lesson", metavar="NN", nargs="?", help="else the lesson that you are at")
    test.add_argument("--all", action="store_true", help="every lesson")
    test.add_argument("--keep-going", action="store_true", help="do not stop at the first FAIL")
    test.add_argument("--json", action="store_true", help="for programs")
    watch = _add(commands, "watch", "check your answers at every save")
    watch.add_argument("lesson", metavar="NN", nargs="?", help="else the lesson that you are at")
    export = _add(commands, "export", "test a lesson and add it to your package")
    export.add_argument("lesson", metavar="NN", nargs="?", help="else the lesson that you are at")
    export.add_argument("--all", action="store_true", help="every lesson that has a notebook, in order")
    hint = _add(commands, "hint", "the next of three hints")
    hint.add_argument("words", metavar="NN EXERCISE", nargs="*", help="one or both; else the first that is not ok")
    diff = _add(commands, "diff", "your exported code beside ours")
    diff.add_argument("lesson", metavar="NN")
    reset = _add(commands, "reset", "give a lesson or one exercise its first state back; yours is kept")
    reset.add_argument("lesson", metavar="NN")
    reset.add_argument("exercise", metavar="EXERCISE", nargs="?")
    unlock = _add(commands, "unlock", "take a lesson's reference that your instructor gave, and go on")
    unlock.add_argument("file", metavar="FILE", help="such as 01_tensor.given.py")
    update = _add(commands, "update", "bring a lesson's new text into your file, and keep what is yours")
    update.add_argument("lesson", metavar="NN", nargs="?", help="else the lesson that you are at")
    update.add_argument("--undo", action="store_true", help="take the last update back")


def _other_commands(commands: Commands) -> None:
    milestone = _add(commands, "milestone", "run a program from history on your package")
    milestone.add_argument("id", metavar="ID", nargs="?", help="else a list of them")
    milestone.add_argument("--seed", type=_seed, metavar="N", help="the seed that its drawing starts from")
    milestone.add_argument("--json", action="store_true", help="for programs")


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a seed is a whole number from 0 up, not {text!r}")
    return int(text)


def _dev_commands(commands: Commands) -> None:
    dev = _add(commands, "dev", "for authors of lessons: export, check", module="tito.dev")
    under = dev.add_subparsers(metavar="COMMAND", title="commands", required=True)
    _add(under, "export", "write the reference package to build/reference", "tito.dev.export")
    check = _add(under, "check", "prove that lessons, checks and mistakes fit together", "tito.dev.check")
    check.add_argument("lesson", metavar="NN", nargs="?")
    check.add_argument("--mutants", action="store_true", help="which small changes of the solutions go unnoticed")
    check.add_argument("--json", action="store_true", help="for programs")
    fingerprints = _add(under, "fingerprints", "write what known mistakes give at the checks", "tito.dev.fingerprints")
    fingerprints.add_argument("lesson", metavar="NN", nargs="?")
    figures = _add(under, "figures", "draw the lessons' figures", "tito.dev.figures")
    figures.add_argument("lesson", metavar="NN", nargs="?")
    measure = _add(under, "measure", "lengths and words of the lessons beside the house's limits", "tito.dev.measure")
    measure.add_argument("lesson", metavar="NN", nargs="?")
    demo = _add(under, "demo", "solve a new workspace from the first lesson to the last milestone", "tito.dev.demo")
    demo.add_argument("folder", metavar="DIR")
