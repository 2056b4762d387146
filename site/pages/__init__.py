"""From the course to Sphinx's sources: one module a kind of page, each with `write(site)`. Begin at site/build.py."""
