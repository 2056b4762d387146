"""Where the page's script comes in: a request as JSON, an answer as JSON; what is printed meanwhile goes to `tell`.

    {"ask": "open", "lesson": "03", "saved": {"01": {"cells": {...}, "passed": {...}}, ...}, "prebuilt": "/needs.zip"}
    {"ask": "wanted", "source": "..."}                                      packages to load before the cell runs
    {"ask": "run", "id": "cell-12", "source": "..."}
    {"ask": "check", "exercise": "matmul", "sources": {"exercise-matmul": "...", ...}}      "" for all
An answer that holds `refused` says in a sentence why nothing was done.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tito.course import Course
from tito.errors import UserError
from tito.inpage.kernel import wanted
from tito.inpage.page import Page, open_page
from tito.inpage.saved import Saved

Json = dict[str, Any]


class Door:
    """Holds the open page. `tell` takes a kind, "out" or "err", and text."""

    def __init__(self, folder: str, tell: Callable[[str, str], object], course: Course | None = None) -> None:
        self.folder, self.tell = Path(folder), tell
        self.course = course or Course.find()
        self.page: Page | None = None

    def ask(self, request: str) -> str:
        """Answer one request."""
        table = json.loads(request)
        try:
            return json.dumps(getattr(self, f"_{table['ask']}")(table))
        except UserError as error:
            return json.dumps({"refused": f"{error.message[:1].upper()}{error.message[1:]}."})

    def _open(self, table: Json) -> Json:
        saved = {id: Saved.read(each) for id, each in table["saved"].items()}
        prebuilt = Path(table["prebuilt"]) if table.get("prebuilt") else None
        self.page = open_page(self.course, self.folder, table["lesson"], saved, prebuilt)
        return self.page.about

    def _wanted(self, table: Json) -> Json:
        return {"packages": wanted(table["source"])}

    def _run(self, table: Json) -> Json:
        page = self._opened()
        ran = page.run(table["id"], table["source"], self.tell)
        return {**asdict(ran), "not_run": page.defined_in(ran.missing) if ran.missing else []}

    def _check(self, table: Json) -> Json:
        return self._opened().check(table["sources"], table["exercise"])

    def _opened(self) -> Page:
        if self.page is None:
            raise UserError("no lesson is open here; load the page again")
        return self.page
