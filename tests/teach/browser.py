"""A headless Chromium for tests that open pages: what it asks the network for, and what axe finds."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FLAGS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking")
AXE = (
    "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(found => done(found.violations))"
)


def axe_source() -> str:
    """axe-core's script, from the package that carries it; nothing of that package is imported."""
    spec = importlib.util.find_spec("axe_playwright_python")
    assert spec and spec.submodule_search_locations
    return (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")


class Browser:
    """One window."""

    def __init__(self) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
        for flag in FLAGS:
            options.add_argument(flag)
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.axe = axe_source()

    def open(self, page: Path | str, width: int = 1400, scheme: str = "light", media: str = "screen") -> None:
        """Load a page, in a window so wide, for a reader who prefers light or dark."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        taste = {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", taste)
        self.driver.get_log("performance")
        self.driver.get(page.as_uri() if isinstance(page, Path) else page)

    def run(self, script: str, *values: Any) -> Any:
        """What a script in the page returns."""
        return self.driver.execute_script(script, *values)

    def text(self) -> str:
        """What a reader sees."""
        return str(self.run("return document.body.innerText"))

    def requests(self) -> list[str]:
        """All addresses that the page has asked for since it was opened."""
        events = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def violations(self) -> list[str]:
        """What axe finds: rule and element."""
        self.run(self.axe)
        found = self.driver.execute_async_script(AXE)
        return [f"{rule['id']}: {node['html'][:200]}" for rule in found for node in rule["nodes"]]

    def overflows(self) -> bool:
        """Whether one must scroll sideways to read it."""
        return bool(self.run("return document.documentElement.scrollWidth > window.innerWidth"))
