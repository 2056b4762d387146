"""What is copied beside the pages: each wheel has its hash, nothing is missed, and without them there is the CDN."""

from __future__ import annotations

import hashlib
import json
import sys
import urllib.error
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "site"))

import vendor

WHEEL = b"a wheel"
LOCK = {
    "info": {"version": "0"},
    "packages": {
        "numpy": {"depends": ["prompt_toolkit"], "file_name": "numpy.whl", "sha256": hashlib.sha256(WHEEL).hexdigest()},
        "prompt-toolkit": {"depends": ["numpy"], "file_name": "p.whl", "sha256": hashlib.sha256(WHEEL).hexdigest()},
        "other": {"depends": [], "file_name": "other.whl", "sha256": ""},
    },
}


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small Pyodide as npm would bring it, and a folder of wheels."""
    core, folder = tmp_path / "modules" / "pyodide", tmp_path / "wheels"
    core.mkdir(parents=True)
    folder.mkdir()
    for name in vendor.CORE:
        (core / name).write_text(name, encoding="utf-8")
    (core / vendor.LOCK).write_text(json.dumps(LOCK), encoding="utf-8")
    for name in ("numpy.whl", "p.whl"):
        (folder / name).write_bytes(WHEEL)
    monkeypatch.setattr(vendor, "MODULES", tmp_path / "modules")
    monkeypatch.setattr(vendor, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(vendor, "WANTED", ("numpy",))
    monkeypatch.setattr(vendor, "install", lambda: None)
    monkeypatch.setenv("PYODIDE_WHEELS", str(folder))
    monkeypatch.delenv("PYODIDE", raising=False)
    return folder


def test_core_and_wheels_are_copied_with_a_lock_of_these_alone(wheels: Path, tmp_path: Path) -> None:
    assert vendor.pyodide(tmp_path / "out") == vendor.BESIDE
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*vendor.CORE, vendor.LOCK, "numpy.whl", "p.whl"}
    lock = json.loads((tmp_path / "out" / vendor.LOCK).read_text(encoding="utf-8"))
    assert set(lock["packages"]) == {"numpy", "prompt-toolkit"}


def test_a_wheel_with_another_hash_is_refused(wheels: Path, tmp_path: Path) -> None:
    (wheels / "p.whl").write_bytes(b"another")
    with pytest.raises(vendor.VendorError, match=r"p\.whl has SHA-256 .* delete the file"):
        vendor.pyodide(tmp_path / "out")


def test_a_missing_wheel_is_named(wheels: Path, tmp_path: Path) -> None:
    (wheels / "numpy.whl").unlink()
    with pytest.raises(vendor.VendorError, match=r"numpy\.whl is missing; fetch it from https://"):
        vendor.pyodide(tmp_path / "out")


def test_without_a_folder_wheels_are_fetched_once(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def fetched(address: str, timeout: float) -> Any:
        asked.append(address)
        return open(wheels / Path(address).name, "rb")

    monkeypatch.setenv("PYODIDE_WHEELS", str(tmp_path / "nowhere"))
    monkeypatch.setattr(vendor.urllib.request, "urlopen", fetched)
    assert [vendor.pyodide(tmp_path / name) for name in ("out", "again")] == [vendor.BESIDE] * 2
    assert sorted(asked) == [f"{vendor.CDN}numpy.whl", f"{vendor.CDN}p.whl"]


def test_without_folder_and_network_the_pages_use_the_cdn(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(address: str, timeout: float) -> Any:
        raise urllib.error.URLError("no network")

    monkeypatch.setenv("PYODIDE_WHEELS", str(tmp_path / "nowhere"))
    monkeypatch.setattr(vendor.urllib.request, "urlopen", refused)
    assert vendor.pyodide(tmp_path / "out") == vendor.CDN
    assert not (tmp_path / "out").exists()


def test_the_address_is_one_value(wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYODIDE", "https://pyodide.example/full")
    assert vendor.pyodide(tmp_path / "out") == "https://pyodide.example/full/"
    assert vendor.pyodide(tmp_path / "out", vendor.OWN) == vendor.BESIDE


def test_the_cdn_has_the_version_that_is_tested() -> None:
    pins = json.loads((vendor.RUN / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert pins["pyodide"] == vendor.VERSION and vendor.VERSION in vendor.CDN


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(vendor.VendorError, match="needs no-such-program, which is not installed"):
        vendor._run(["no-such-program"])
