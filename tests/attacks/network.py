"""Calls home, by every address that this machine may have."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
import socket, urllib.request
for host in ("127.0.0.1", "::1", "10.0.0.1", "192.168.0.1", "8.8.8.8"):
    try:
        socket.create_connection((host, 28571), 0.1).sendall(b"here I am")
    except OSError:
        pass
try:
    urllib.request.urlopen("http://127.0.0.1:28571/", timeout=0.1)
except Exception:
    pass
def double(x):
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
""",
}
