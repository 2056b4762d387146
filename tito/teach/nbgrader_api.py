"""nbgrader's own Python API on a course folder, as its nbgrader_config.py sets it up. Takes two seconds to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tito.errors import UserError
from tito.teach.folder import Folder

if TYPE_CHECKING:
    from nbgrader.apps import NbGraderAPI  # type: ignore[import-untyped]


def open_course(folder: Folder) -> NbGraderAPI:
    """The API on this folder; its `gradebook` is a context manager. UserError when nbgrader is not installed."""
    try:
        from nbgrader.apps import NbGraderAPI
        from traitlets.config.loader import PyFileConfigLoader
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is missing; install it: pip install 'tinytorch-course[instructor]'") from None
    config = PyFileConfigLoader(folder.config.name, str(folder.root)).load_config()
    config.CourseDirectory.root = str(folder.root)
    return NbGraderAPI(config=config)
