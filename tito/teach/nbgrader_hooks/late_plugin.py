"""The course's late policy for plain `nbgrader autograde`; nbgrader's own knows only "none" and "zero".

In nbgrader_config.py: c.AssignLatePenalties.plugin_class = "tito.teach.nbgrader_hooks.late_plugin.LatePolicy"
nbgrader asks it for what the gradebook's due date says is late; `tito teach export NN --to gradebook` writes that date.
"""

from __future__ import annotations

from datetime import timezone
from pathlib import Path

from nbgrader.plugins import BasePlugin  # type: ignore[import-untyped]

from tito.teach.folder import Folder
from tito.teach.marks import late, policy


class LatePolicy(BasePlugin):  # type: ignore[misc]
    """What course.toml and extensions.csv say of the assignment. Its parent is nbgrader's AssignLatePenalties."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float:
        """Points that lateness costs; nbgrader sets the penalty to nothing before it asks."""
        assignment, gradebook = self.parent.assignment_id, self.parent.gradebook
        submission = gradebook.find_submission(assignment, student_id)
        rules = policy.load(self._folder(), assignment)
        when = submission.timestamp.replace(tzinfo=timezone.utc)
        days = late.days_late(rules, rules.due_of(student_id), when)
        return late.penalty(rules, days, score, submission.max_score)

    def _folder(self) -> Folder:
        root = self.config.CourseDirectory.get("root", "")
        return Folder(Path(root)) if root else Folder.enter()
