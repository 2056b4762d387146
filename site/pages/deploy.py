"""What the page on deployment says of Pyodide, from the module that brings it."""

from __future__ import annotations

import vendor

from pages.site import Site


def version(site: Site) -> str:
    """The version of Pyodide that the site is tested with."""
    return f"Pyodide {vendor.VERSION}"


def cdn(site: Site) -> str:
    """Where Pyodide's makers have that version."""
    return vendor.CDN
