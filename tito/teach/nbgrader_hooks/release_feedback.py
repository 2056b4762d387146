"""Feedback to the exchange, for those who handed in by it."""

from __future__ import annotations

from pathlib import Path

from nbgrader.exchange.default import ExchangeReleaseFeedback  # type: ignore[import-untyped]


class ReleaseFeedback(ExchangeReleaseFeedback):  # type: ignore[misc]  # nbgrader has no types
    """Edge of nbgrader mended: one submission without submission_secret.txt stops the release to all after it."""

    def copy_files(self) -> None:
        """Leave out, and name, whose work did not come by the exchange."""
        place = self.coursedir.format_path(self.coursedir.feedback_directory, "*", self.coursedir.assignment_id)
        folders = Path(self.coursedir.root).glob(str(Path(place).relative_to(self.coursedir.root)))
        without = sorted(each.parent.name for each in folders if not (each / "submission_secret.txt").is_file())
        if without:
            self.log.warning("Not handed in by the exchange, send their feedback yourself: %s", ", ".join(without))
        excluded = filter(None, (self.coursedir.student_id_exclude, *without))
        before, self.coursedir.student_id_exclude = self.coursedir.student_id_exclude, ",".join(excluded)
        try:
            super().copy_files()
        finally:
            self.coursedir.student_id_exclude = before
