"""Every reference of every page of a site: whether the file and the place in it are there.

A link is followed as from a file on disk, so one that only a server would complete (a folder, or one that begins with a
slash) counts as broken: the site must open from file://. Begin at `broken`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ADDRESSES = ("href", "src", "data-src", "poster")
INSIDE = ("for", "aria-labelledby", "aria-describedby", "aria-controls")  # name elements of the same page


@dataclass
class Page(HTMLParser):
    """The addresses and ids of one page."""

    text: str
    addresses: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what the tag refers to and what it may be referred to by."""
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.ids.add(value or "")
            elif name in ADDRESSES:
                self.addresses.append(value or "")
            elif name == "srcset":
                self.addresses += [part.split()[0] for part in (value or "").split(",") if part.strip()]
            elif name in INSIDE:
                self.addresses += [f"#{id}" for id in (value or "").split()]

    handle_startendtag = handle_starttag


def broken(site: Path, names: list[str]) -> list[str]:
    """`page: address` for each reference of these pages that leads nowhere."""
    read = {site / name: Page((site / name).read_text(encoding="utf-8")) for name in names}
    return sorted({f"{path.relative_to(site)}: {address}" for path in read for address in _lost(site, path, read)})


def _lost(site: Path, path: Path, read: dict[Path, Page]) -> Iterator[str]:
    for address in read[path].addresses:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        inside = target.is_relative_to(site) and target.is_file() and not parts.path.startswith("/")
        known = read.get(target)
        lost = known is not None and parts.fragment not in ("", "top") and unquote(parts.fragment) not in known.ids
        if not inside or lost:
            yield address
