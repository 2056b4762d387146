"""Which names from elsewhere may become names of files: an ASCII allow-list. Begin at `hostile` and `allowed`."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 100
NAME = re.compile(r"[A-Za-z0-9_(][A-Za-z0-9_ ().+,@=-]*")
ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*")  # nbgrader's exchange splits its names at +
LONGEST_ID = 64
RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))}  # by Windows
LEFT_OUT = {"__macosx", "__pycache__", "thumbs.db", "desktop.ini"}  # what systems leave behind; and all hidden files


def hostile(name: str) -> str:
    """What of a relative path with `/` only an attacker or a broken program writes; empty for an honest one."""
    if any(unicodedata.category(character) == "Cc" for character in name):
        return "a control character"
    if "\\" in name:
        return "a backslash"
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "an absolute path"
    parts = name.removesuffix("/").split("/")
    return next((repr(part) for part in parts if part in ("", ".", "..")), "")


def hidden(parts: list[str]) -> bool:
    """Whether a path is one of those that nobody means to hand in."""
    dotted = any(part.startswith(".") and part.strip(".") for part in parts)  # `..` is not hidden but hostile
    return dotted or any(part.casefold() in LEFT_OUT for part in parts)


def allowed(part: str) -> bool:
    """Whether one part of a path may be a file's name on every system."""
    return len(part) <= LONGEST and bool(NAME.fullmatch(part)) and not _odd(part)


def allowed_id(text: str) -> bool:
    """Whether a student's id may be a folder's name on every system."""
    return len(text) <= LONGEST_ID and bool(ID.fullmatch(text)) and not _odd(text)


def _odd(part: str) -> bool:
    return part.endswith((".", " ")) or part.split(".")[0].rstrip().casefold() in RESERVED


def key(name: str) -> str:
    """Equal for two names that some file system takes for one, by case or by Unicode form."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
