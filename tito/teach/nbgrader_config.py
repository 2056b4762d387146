"""nbgrader's configuration for this course: how lessons are released, and what happens to a submission.

A course folder's own nbgrader_config.py loads this file first. Each preprocessor names the edges that it mends.
"""

import warnings

from nbformat.warnings import DuplicateCellId, MissingIDFieldWarning
from sqlalchemy.exc import SAWarning

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (nbgrader defines it before it reads this file)

c.CourseDirectory.course_id = "tinytorch"

# tito recognises an unwritten exercise by the bare exception; tito/release.py holds the same texts, a test compares.
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
# What stands where the student answers a question for reflection.
c.ClearSolutions.text_stub = "YOUR ANSWER HERE"

c.Autograde.sanitize_preprocessors = [
    "tito.teach.nbgrader_hooks.preprocessors.CleanSubmission",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "tito.teach.nbgrader_hooks.preprocessors.RestoreCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# nbgrader's stock Execute, "nbgrader.preprocessors.Execute", is unsafe for work of others: it runs a submission as you,
# beside the gradebook, the hidden checks and everybody's files, and believes what the submission's kernel says of
# itself. In 14 of 18 trials code in an answer did what it wanted, and gained marks in 7. SealedExecute asks the sealed
# grader of `tito teach grade` in its place. Who trusts all submissions puts two there instead: stock Execute and
# "tito.teach.nbgrader_hooks.preprocessors.PlainOutputs".
c.Autograde.autograde_preprocessors = [
    "tito.teach.nbgrader_hooks.sealed_execute.SealedExecute",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "tito.teach.nbgrader_hooks.preprocessors.PlainText",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# What course.toml says of lateness; nbgrader's own plugin knows "none" and "zero" only.
c.AssignLatePenalties.plugin_class = "tito.teach.nbgrader_hooks.late_plugin.LatePolicy"

# For stock Execute: 10 s end a cell (an error does anyway), and that cell only.
c.ExecutePreprocessor.timeout = 10
c.ExecutePreprocessor.interrupt_on_timeout = True
c.ExecutePreprocessor.extra_arguments = ["--IPKernelApp.log_level=50", "--HistoryManager.hist_file=:memory:"]

c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "tito.teach.nbgrader_hooks.preprocessors.HideHidden",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]

# A submission that came by hand or from an LMS has no secret, by which the exchange names its feedback.
c.ExchangeFactory.release_feedback = "tito.teach.nbgrader_hooks.release_feedback.ReleaseFeedback"

# What nbgrader says at every notebook drowns what matters.
warnings.filterwarnings("ignore", category=SAWarning)
for noise in (MissingIDFieldWarning, DuplicateCellId):
    warnings.filterwarnings("ignore", category=noise)
