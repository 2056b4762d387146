"""Internal links and anchors lead somewhere, from a server and from file:// alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from built import pages
from links import broken


def test_every_reference_leads_somewhere(built: Path) -> None:
    lost = broken(built.resolve(), pages())
    if lost:
        pytest.fail("\n".join(lost), pytrace=False)


def test_a_lost_file_and_a_lost_anchor_are_found(tmp_path: Path) -> None:
    (tmp_path / "there.html").write_text('<p id="here">', encoding="utf-8")
    good = '<a href="there.html#here"></a><a href="#own"></a><img src="https://x.org/a.png"><p id="own">'
    bad = '<a href="gone.html"></a><a href="there.html#gone"></a><a href="/there.html"></a><img srcset="a.png 2x">'
    (tmp_path / "page.html").write_text(good + bad, encoding="utf-8")
    found = broken(tmp_path.resolve(), ["page.html", "there.html"])
    assert [line.split()[1] for line in found] == ["/there.html", "a.png", "gone.html", "there.html#gone"]
