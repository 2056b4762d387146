"""Figures of the grader that pages for instructors name: its limits, its levels, the attacks that are tried on it."""

from __future__ import annotations

from pages.site import ROOT, Site


def limits(site: Site) -> str:
    """What a submission may be and use, as a table."""
    from tito.teach.grader.conversation import Limits
    from tito.teach.intake import intake, unzip

    run = Limits()
    rows = [
        ("time for one check", f"{run.check_seconds:g} s"),
        ("time for a whole submission", f"{run.submission_seconds:g} s"),
        ("memory of its process", f"{run.memory // 2**20:,} MiB"),
        ("files handed in", f"{intake.MOST_FILES} with {intake.MOST_BYTES // 10**6} MB together"),
        ("folders within folders", f"{intake.DEEPEST}"),
        ("how much smaller a zip may be than what it holds", f"{unzip.RATIO} times"),
    ]
    return "\n".join(["| limit | at most |", "|---|---|", *(f"| {what} | {much} |" for what, much in rows)])


def levels(site: Site) -> str:
    """What shuts a submission in at each level, as a table."""
    from tito.teach.grader.isolation import NAMES

    return "\n".join(["| level | what shuts a submission in |", "|---|---|", *(f"| {n} | {NAMES[n]} |" for n in NAMES)])


def attacks(site: Site) -> str:
    """How many made submissions the tests try to cheat with; each states in HONEST what its code honestly earns."""
    files = (ROOT / "tests" / "attacks").glob("*.py")
    return str(sum(path.read_text(encoding="utf-8").count("\nHONEST = ") for path in files))
