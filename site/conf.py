"""Sphinx's configuration. The sources are made by site/build.py; nothing here knows the course but for its title."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [os.environ["TINYTORCH_REFERENCE"], str(HERE)]
CLASS = os.environ["TINYTORCH_EDITION"] == "class"

project = "TinyTorch"
html_title = "TinyTorch"
author = copyright = "the TinyTorch authors"
language = "en"
smartquotes_action = "q"  # quotation marks alone: `--` stays an option's two dashes
extensions = [
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx.ext.autodoc",
    "pages.docstrings",
]
exclude_patterns = ["extra"]
nb_execution_mode = "off"  # cells bring their outputs: pages/execute.py
nb_merge_streams = True
myst_enable_extensions = [
    "dollarmath",
    "amsmath",
    "colon_fence",
    "deflist",
    "attrs_inline",
    "attrs_block",
    "html_image",
]
myst_heading_anchors = 3
add_module_names = False
autodoc_inherit_docstrings = False  # what has no docstring is not in the reference
copybutton_prompt_text = "$ "  # of a session, the commands alone are copied
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # defaults as they are written
toc_object_entries_show_parents = "hide"
mathjax_path = "mathjax/tex-chtml.js"
templates_path = [str(HERE / "theme" / "templates")]

html_theme = "pydata_sphinx_theme"
html_favicon = str(HERE / "theme" / "static" / "icon.svg")
html_static_path = [str(HERE / "theme" / "static")]
html_css_files = ["site.css", "run.css"]
html_copy_source = False
html_show_sourcelink = False
html_extra_path = [str(Path(os.environ["TINYTORCH_SOURCE"]) / "extra")]  # copied as they are
html_context = {"default_mode": "auto"}
html_sidebars = {"**": ["sidebar-nav-bs"], "index": []}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
    "show_prev_next": True,
}


def setup(app: Any) -> None:
    """What is done to a page once it is rendered."""
    app.connect("html-page-context", _add_run)
    app.connect("html-page-context", _tidy_tabs)


def _add_run(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Pages with cells that run load what runs them; no other page does."""
    if 'id="in-page"' in context.get("body", ""):
        app.add_js_file("run/config.js", loading_method="defer")
        app.add_js_file("run/main.js", loading_method="defer")  # the text is there before its editors


def _tidy_tabs(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """sphinx-design has the label of a tab say what it controls, and HTML has no label that does."""
    if "body" in context:
        context["body"] = re.sub(r'(<label )aria-controls="[^"]*" ', r"\1", context["body"])
