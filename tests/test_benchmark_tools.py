"""The tools around the benchmarks: what moved, instructions counted, the student's loop, cost against size."""

from __future__ import annotations

import datetime
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

from tito.course import Course
from tito.dev.export import reference

LONG = "with a name that is longer than any table has room for, so that it is cut"
BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
OLD = {
    "date": "2026-01-01",
    "cores": 2,
    "seconds": {
        "steady": {"median": 4.0, "low": 3.0, "high": 5.0},
        "slower": {"median": 2.0, "low": 1.0, "high": 3.0},
        LONG: {"median": 1.0, "low": 1.0, "high": 1.0},
        "gone": {"median": 1.0, "low": 1.0, "high": 1.0},
    },
    "threads": {"1": {"W1": {"ours": [4.0, 3.0, 5.0]}}},
    "memory": {"ours": 100},
}
NEW = {
    "date": "2026-01-02",
    "cores": 8,
    "seconds": {
        "steady": {"median": 5.0, "low": 4.0, "high": 6.0},
        "slower": {"median": 5.0, "low": 4.0, "high": 6.0},
        LONG: {"median": 1.0, "low": 1.0, "high": 1.0},
        "come": {"median": 1.0, "low": 1.0, "high": 1.0},
    },
    "threads": {"1": {"W1": {"ours": [1.0, 1.0, 2.0]}}},
    "memory": {"ours": 105},
}


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a script of the benchmarks."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))

    def load(name: str) -> ModuleType:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return load


def run(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / str(arguments[0])), *map(str, arguments[1:])]
    env = {**os.environ, "PYTHONUTF8": "1", **more}
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, env=env, check=False)


def kept(name: str) -> dict[str, Any]:
    return dict(json.loads((BENCHMARKS / name).read_text(encoding="utf-8")))


@pytest.fixture
def results(tmp_path: Path) -> tuple[Path, Path]:
    files = tmp_path / "old.json", tmp_path / "new.json"
    for file, value in zip(files, (OLD, NEW)):
        file.write_text(json.dumps(value), encoding="utf-8")
    return files


def test_compare_prints_what_moved(results: tuple[Path, Path]) -> None:
    done = run("compare.py", *results)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert ["seconds", "steady", "4", "5", "1.25"] in rows
    assert ["seconds", "slower", "2", "5", "2.50", "*"] in rows
    assert ["threads", "1", "W1", "ours", "4", "1", "0.25", "*"] in rows
    assert ["memory", "ours", "100", "105", "1.05", "*"] in rows
    assert ["only", "in", "one:", "seconds", "gone"] in rows
    assert ["only", "in", "one:", "seconds", "come"] in rows
    assert not any("cores" in row for row in rows)
    cut = next(line for line in done.stdout.splitlines() if line.startswith("seconds with a name"))
    assert len(cut) < 78 and cut.split()[-3:] == ["1", "1", "1.00"]
    assert max(map(len, done.stdout.splitlines())) == 78


@pytest.mark.parametrize(("percent", "code"), [("149", 1), ("151", 0)])
def test_compare_fails_over_a_percentage(results: tuple[Path, Path], percent: str, code: int) -> None:
    assert run("compare.py", *results, "--fail-over", percent).returncode == code


def test_compare_minds_no_growth_within_the_spread_and_no_gain(results: tuple[Path, Path], tmp_path: Path) -> None:
    same = {**NEW, "seconds": {"steady": NEW["seconds"]["steady"]}, "memory": {}}  # type: ignore[index]
    (tmp_path / "same.json").write_text(json.dumps(same), encoding="utf-8")
    assert run("compare.py", results[0], tmp_path / "same.json", "--fail-over", "0").returncode == 0


def test_a_file_is_as_it_was(results: tuple[Path, Path]) -> None:
    done = run("compare.py", BENCHMARKS / "loop.json", BENCHMARKS / "loop.json", "--fail-over", "0")
    assert done.returncode == 0
    assert "*" not in done.stdout and "only in one" not in done.stdout


@pytest.mark.parametrize(("now", "passed"), [(95, True), (105, True), (106, False)])
def test_the_guard_lets_five_percent_pass(tool: Any, now: int, passed: bool) -> None:
    lines, good = tool("guard").judged({"W1": 100, "W2": now}, {"W1": 100, "W2": 100})
    assert good is passed
    assert ("over 5%" in lines[1]) is not passed


def test_the_guard_lets_pass_what_it_never_counted(tool: Any) -> None:
    lines, good = tool("guard").judged({"W1": 100}, {})
    assert good and "nothing recorded" in lines[0]


def test_what_the_guard_counts_runs_and_names_its_kind() -> None:
    folder = reference(Course.find())
    for workload in ("W1", "W2"):
        done = run("guard.py", "--package", folder, "--train", workload, "2")
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"Python 3\.\d+, NumPy \S+, \S+\n", done.stdout)


def test_the_guard_says_how_to_get_valgrind(tmp_path: Path) -> None:
    done = run("guard.py", PATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.strip().endswith("sudo apt-get install valgrind")


def test_the_counts_that_are_kept() -> None:
    assert kept("guard.json")
    for kind, counts in kept("guard.json").items():
        assert re.fullmatch(r"Python 3\.\d+, NumPy \S+, \S+", kind)
        assert set(counts) == {"W1", "W2"} and all(count > 1000 for count in counts.values())


def test_a_process_is_timed_that_ends_as_it_should(tool: Any, tmp_path: Path) -> None:
    loop, before = tool("loop"), []
    slow = loop.process(
        sys.executable, "-c", "import time; time.sleep(0.2)", cwd=tmp_path, before=lambda: before.append(1)
    )
    assert 0.2 < slow() < 20 and before == [1]
    with pytest.raises(RuntimeError, match="ended with 3: why"):
        loop.process(sys.executable, "-c", "print('why'); exit(3)", cwd=tmp_path)()


def test_a_target_is_measured_over_the_same_round(tool: Any) -> None:
    samples = {"whole": [10.0, 20.0, 30.0], "base": [1.0, 12.0, 3.0], "checks": [2.0, 2.0, 2.0]}
    found = tool("loop").over(8.0, samples, "whole", "base", "checks")
    assert (found["median"], found["at_most"]) == (7.0, 8.0)  # 7, 6 and 25: the second round was disturbed as a whole


def test_the_loop_that_is_kept_is_whole() -> None:
    loop, keys = kept("loop.json"), [lesson.id for lesson in Course.find().lessons]
    datetime.date.fromisoformat(loop["date"])
    commands = [f"tito {command} {key}" for command in ("test", "export", "open") for key in keys]
    assert {*commands, "tito", "tito --help", "tito export --all", "import tinytorch"} <= set(loop["seconds"])
    assert loop["rounds"] >= 15 and len(loop["targets"]) == 2 + 2 * len(keys) + 1
    for row in [*loop["seconds"].values(), *loop["targets"].values()]:
        assert row["low"] <= row["median"] <= row["high"]


def words(svg: str) -> list[str]:
    """What is written in it: where it stands depends on the matplotlib that drew it."""
    return sorted("".join(node.itertext()) for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text"))


def test_the_plots_are_those_of_the_figures(tool: Any) -> None:
    growth, plots, found = tool("growth"), tool("growth_plots"), kept("growth.json")
    assert found["told"] == plots.told(found) and set(found["told"]) == set(growth.MEASURES)
    for name, text in plots.drawn(found).items():
        file = (BENCHMARKS / "plots" / f"{name}.svg").read_text(encoding="utf-8")
        assert words(text) == words(file), f"{name} is old; draw it anew: python benchmarks/growth.py --draw"
        assert "prefers-color-scheme: dark" in file and not re.search(r"(fill|stroke): ?#000000", file)


def test_a_bend_is_where_the_time_has_doubled(tool: Any) -> None:
    growth = tool("growth_plots")
    series = {str(size): {"median": time} for size, time in ((1, 2.0), (2, 2.0), (4, 3.0), (8, 5.0), (16, 10.0))}
    assert growth.doubled(series) == 8
    assert growth.steepness(series, 8, 16) == pytest.approx(1)


# The pages


def test_the_pages_say_what_the_results_say(tool: Any) -> None:
    pages = tool("pages")
    shown = set()
    for page in pages.PAGES:
        text = page.read_text(encoding="utf-8")
        assert pages.made(text) == text, f"{page.name} is old; write it anew: python benchmarks/pages.py"
        shown |= {block[2] for block in pages.BLOCK.finditer(text)}
    assert shown == set(pages.BLOCKS)
    file = (BENCHMARKS / "plots" / "steps.svg").read_text(encoding="utf-8")
    assert words(pages.steps_plot()) == words(file), "steps.svg is old; draw it anew: python benchmarks/pages.py"


def test_a_page_changes_with_the_results(tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pages, old = tool("pages"), tool("pages").of
    text = pages.PAGES[0].read_text(encoding="utf-8")

    def slower(name: str) -> dict[str, Any]:
        found: dict[str, Any] = old(name)
        if name == "results":
            found["threads"]["1"]["W1"]["ours"]["cpu_ratio"][0] = 77.0
        return found

    monkeypatch.setattr(pages, "of", slower)
    assert "| TinyTorch | 77.00 |" in pages.made(text)


def test_what_is_written_by_hand_holds_no_measured_number(tool: Any) -> None:
    """Names of workloads and types are none, nor is what stands in code."""
    pages = tool("pages")
    by_hand = pages.BLOCK.sub("", pages.PAGES[1].read_text(encoding="utf-8"))
    by_hand = re.sub(r"(?s)```.*?```|`[^`]*`|\bW\d\b|float64", "", by_hand)
    assert not re.findall(r"\d", by_hand)


def test_readme_is_a_screen() -> None:
    assert len((BENCHMARKS.parent / "README.md").read_text(encoding="utf-8").splitlines()) <= 75


def test_what_was_not_reached_has_its_reason(tool: Any) -> None:
    aims, pages = tool("aims"), tool("pages")
    assert not aims.unexplained(pages.of)
    assert [aim.name for aim in aims.aims(pages.of) if aim.name == "W1, to NumPy by hand"]
    assert aims.Aim("", 1.02, 1.0).met and not aims.Aim("", 1.03, 1.0).met
