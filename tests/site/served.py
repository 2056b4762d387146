"""Serves the built site on a free port of this machine, compressed as a static host does it.

A host may answer 404 for what is not there; here the browser tests count each such answer as a fault.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import TracebackType
from urllib.parse import unquote, urlsplit

TYPES = {
    ".css": "text/css",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".ipynb": "application/json",
    ".js": "text/javascript",
    ".json": "application/json",
    ".mjs": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
    ".xml": "application/xml",
}
COMPRESSED = {".css", ".html", ".ico", ".ipynb", ".js", ".json", ".mjs", ".svg", ".txt", ".xml"}
OTHER = "application/octet-stream"


HEADERS = 200  # bytes around a body


def _body(path: Path) -> bytes:
    return _compressed(path) if path.suffix in COMPRESSED else path.read_bytes()


@lru_cache(maxsize=2000)
def _compressed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), compresslevel=6, mtime=0)


class Server:
    """`with Server(folder) as server: server.url` is the address of the folder, with a slash at its end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}/"

    def __enter__(self) -> Server:
        Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.shutdown()
        self.http.server_close()

    def find(self, address: str) -> Path | None:
        """The file that an address names; a folder stands for its index.html."""
        path = (self.folder / unquote(urlsplit(address).path).lstrip("/")).resolve()
        path = path / "index.html" if path.is_dir() else path
        return path if path.is_file() and path.is_relative_to(self.folder) else None

    def weight(self, addresses: Iterable[str]) -> int:
        """Bytes that a browser with an empty cache is sent for these addresses: headers and compressed bodies."""
        paths = {self.find(address) for address in addresses if address.startswith(self.url)}
        return sum(len(_body(path)) + HEADERS for path in paths if path)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        find = self.find

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = find(self.path)
                zipped = path is not None and path.suffix in COMPRESSED
                data = _body(path) if path else b""
                self.send_response(200 if path else 404)
                self.send_header("Content-Type", TYPES.get(path.suffix, OTHER) if path else "text/plain")
                self.send_header("Content-Length", str(len(data)))
                self.send_header(
                    "Cache-Control", "max-age=3600"
                )  # as static hosts do; each visit begins with an empty cache
                if zipped:
                    self.send_header("Content-Encoding", "gzip")
                self.end_headers()
                self.wfile.write(data)

            do_HEAD = do_GET

            def log_message(self, format: str, *values: object) -> None:
                """Say nothing."""

            def handle(self) -> None:
                with suppress(ConnectionError):  # a browser that has seen enough hangs up
                    super().handle()

        return Handler
