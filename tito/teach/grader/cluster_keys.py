"""Keys of a grading cluster: one folder each for its scheduler, its workers and who grades. Begin at `make`.

DIR/scheduler/  DIR/worker/  DIR/client/      ca.pem  cert.pem  key.pem, and in worker/ the course's secret

All three are signed by one authority whose own key is thrown away at once: nobody can sign a fourth one, and a term's
keys are renewed by making new ones. Dask takes no names into account, only whether that authority signed.
"""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tito.errors import UserError

if TYPE_CHECKING:
    from distributed import Security

ROLES = ("scheduler", "worker", "client")
FILES = ("ca.pem", "cert.pem", "key.pem")
SECRET = "secret"
DAYS = 400


def make(folder: Path, secret: bytes) -> None:
    """Fill a new folder with keys, readable by their owner alone. Raises UserError when it exists."""
    import trustme

    if folder.exists():
        raise UserError(f"{folder} exists, and no key is written over; give a new folder: tito teach cluster-keys new")
    authority, end = trustme.CA(organization_name="tito teach"), datetime.now(timezone.utc) + timedelta(days=DAYS)
    folder.mkdir(parents=True, mode=0o700)
    for role in ROLES:
        (folder / role).mkdir(mode=0o700)
        cert = authority.issue_cert(f"{role}.tito.invalid", organization_name="tito teach", not_after=end)
        pems = (authority.cert_pem, cert.cert_chain_pems[0], cert.private_key_pem)
        for name, pem in zip(FILES, pems, strict=True):
            _write(folder / role / name, pem.bytes())
    _write(folder / "worker" / SECRET, secret)


def security(address: str, keys: Path | None) -> Security | None:
    """What Dask wants to know of the keys: None for tcp, which is for this machine alone. Raises UserError."""
    host = split(address)[1]
    if address.startswith("tcp:"):
        if not is_loopback(host):
            raise UserError(f"{address} is not encrypted, which only a loopback address may be; use: tls://{host}")
        return None
    if keys is None:
        raise UserError("tls needs keys: give their folder with --keys, made once by: tito teach cluster-keys DIR")
    return _security(keys)


def split(address: str) -> tuple[str, str, int]:
    """`tls://HOST:PORT` -> protocol, host, port. Raises UserError."""
    try:
        parts = urlsplit(address)
        if parts.scheme in ("tls", "tcp") and parts.hostname and parts.port and not (parts.path or parts.query):
            return parts.scheme, parts.hostname, parts.port
    except ValueError:  # a port that is no number
        pass
    raise UserError(f"{address} is no address of a scheduler; write it as: --scheduler tls://HOST:8786")


def _security(keys: Path) -> Security:
    from distributed import Security

    missing = [name for name in FILES if not (keys / name).is_file()]
    if missing:
        raise UserError(
            f"{keys} holds no {missing[0]}; make keys and copy a folder of them: tito teach cluster-keys DIR"
        )
    ca, cert, key = (str(keys / name) for name in FILES)
    pairs: dict[str, Any] = {}
    for role in ROLES:  # Dask's parts: a folder of keys is one process's, whichever part it plays
        pairs |= {f"tls_{role}_cert": cert, f"tls_{role}_key": key}
    return Security(require_encryption=True, tls_ca_file=ca, **pairs)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it; of names `localhost` alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _write(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
