"""`python -m tito.run program.py ...` runs a program as `python program.py ...` does.

It finds the package of the workspace that it lies in, in whichever folder. An error in the learner's package is told as
always, and then by the cells that its lines came from.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, TracebackType

from tito import whence


def main() -> None:
    """Run the program that the first argument names."""
    if len(sys.argv) < 2:
        sys.exit("tito.run: name a program, as in: python -m tito.run my_program.py")
    del sys.argv[0]
    program = Path(sys.argv[0])
    above = program.resolve().parents
    sys.path[0:1] = [str(above[0]), *(str(folder) for folder in above if (folder / ".tito").is_dir())]
    sys.excepthook = tell
    module = ModuleType("__main__")
    module.__file__ = str(program)
    sys.modules["__main__"] = module
    exec(compile(program.read_bytes(), str(program), "exec", dont_inherit=True), vars(module))


def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of the program alone, and the notebooks' lines below it."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)
    told = whence.lines(trace)
    if told:
        print("\n".join(["", whence.HEAD, *told]), file=sys.stderr)


if __name__ == "__main__":
    main()
