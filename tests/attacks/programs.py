"""Runs other programs, by every way to do so."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
import os, subprocess
for way in (lambda: os.system("touch /tmp/ran"), lambda: subprocess.run(["/bin/sh", "-c", "touch /tmp/ran"]),
            lambda: os.execv("/bin/sh", ["sh"]), lambda: os.posix_spawn("/bin/sh", ["sh"], {}),
            lambda: os.popen("id").read()):
    try:
        way()
    except OSError:
        pass
def double(x):
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
""",
}
