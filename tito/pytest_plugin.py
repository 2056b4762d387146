"""pytest reports of tests that fail inside the exported package name cells, too; pytest finds this by itself."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tito import whence


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add a section to the report on a test that failed inside the exported package."""
    report = yield
    told = whence.lines(call.excinfo.tb) if call.excinfo else []
    if told:
        report.sections.append((whence.HEAD.rstrip(":"), "\n".join(told)))
    return report
