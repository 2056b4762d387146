"""The home page's own pieces: the cell that runs at once, the picture on top, the contents of the site.

The page itself is text/index.md. Its cell is a program of text/home, run at build so that the page is complete without
scripts; in the class edition, whose browser has no finished package, it needs NumPy alone.
"""

from __future__ import annotations

import json
import shutil
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pages import milestones, programs
from pages.site import ROOT, TEXT, Site

CELL = "spirals"
PICTURE = "figure-1"
CONTENTS = ["start", "lessons/index", "milestones/index", "reference/index", "instructors/index", "framework"]
MORE = ["questions", "runtime", "speed", "grading-at-scale"]
NOT_IN_CLASS = ("framework",)
TASK = "Two spirals, and a network that has to say for every place which of them is nearer."
ON_TINYTORCH = f"""{TASK} It learns here, in your browser, on the framework of this course. Press Run; then set `HIDDEN`
to 2 and run it again."""
NUMPY_ALONE = f"""{TASK} This one is NumPy alone: its hidden units are drawn and only the last layer is fitted. In the
course you write what trains them all. Press Run; then set `HIDDEN` to 20 and run it again."""
CHECKOUT = """If you have the course as a folder with a `README.md`, install from there: the last line is then

```shell
pip install '.[jupyter]'
```"""


def cell(site: Site) -> str:
    """The cell, its manifest, and what it shows, in the form that lessons have too."""
    source, made = program(site).read_text(encoding="utf-8"), ran(site)
    known = [{"id": CELL, "role": "demo", "name": "", "local": ""}]
    told = json.dumps({"lesson": None, "stem": "index", "cells": known})
    shown = programs.img(site, f"home-{CELL}", made["picture"])
    return f"""<script type="application/json" id="in-page">{told}</script>

<div class="cell tag_cell-{CELL} docutils container">
<div class="cell_input docutils container">

```python
{source.rstrip()}
```

</div>
<div class="cell_output docutils container">
<p class="picture">{shown}</p>

```text
{made["said"].rstrip()}
```

</div>
</div>"""


def intro(site: Site) -> str:
    """What to look for in the cell."""
    return NUMPY_ALONE if site.class_edition else ON_TINYTORCH


def program(site: Site) -> Path:
    """The program in the cell."""
    return TEXT / "home" / (f"{CELL}_class.py" if site.class_edition else f"{CELL}.py")


def ran(site: Site) -> dict[str, Any]:
    """What the cell printed, and its picture."""
    depends = [program(site), site.reference / "tinytorch", ROOT / "requirements" / "lock.txt", *programs.TELLS]
    made: dict[str, Any] = site.results.of(f"home-{program(site).stem}", depends, lambda: _run(site))
    return made


def _run(site: Site) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copy(program(site), folder))  # where nothing lies beside it
        said = programs.run(site, copy, Path(folder))
        return {"said": said, "picture": programs.pictures(Path(folder))[PICTURE]}


def hero(site: Site, id: str, name: str) -> str:
    """The picture on top: a milestone's, which leads to its page."""
    page = f"milestones/{milestones.stem(site.course.milestone(id))}.html"
    shown = milestones.image(site, id, name, lazy=False)
    return f'<p class="picture hero-picture">{milestones.linked(shown, page)}</p>'


def buttons(site: Site) -> str:
    """Where most readers go first."""
    first = site.course.lessons[0]
    links = [("first", "start.html", "Start in a minute")]
    links += [("second", f"lessons/{first.stem}.html", f"Read lesson {first.id}")]
    return f'<p class="begin">{" ".join(_link(*each) for each in links)}</p>'


def _link(kind: str, page: str, words: str) -> str:
    return f'<a class="{kind}" href="{page}">{words}</a>'


def contents(site: Site) -> str:
    """The pages of the site, for Sphinx: what stands in the bar on top."""
    names = [name for name in [*CONTENTS, *MORE] if not (site.class_edition and name in NOT_IN_CLASS)]
    return "```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```"


def checkout(site: Site) -> str:
    """How to install from a checkout; a class has none."""
    return "" if site.class_edition else CHECKOUT


def wheel(site: Site) -> str:
    """The name of the wheel that the site offers."""
    return _wheel(site).name


def download(site: Site) -> str:
    """A link to the wheel, with its size."""
    path = _wheel(site)
    address = f"_static/run/{path.name}"
    size = f"{path.stat().st_size / 1e6:.1f} MB"
    return f'<a href="{escape(address)}" download>{escape(path.name)}</a> ({size})'


def _wheel(site: Site) -> Path:
    (path,) = (path for path in site.tree.written if path.name.startswith("tinytorch_course") and path.suffix == ".whl")
    return path
