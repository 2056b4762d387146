"""The runner and its parent: every way in which a learner's code can end, and what is said of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tito import testing
from tito.testing import Job, Outcome

IMPORTS = "from tito.notebook import check, draw, patch, probe, raises\nimport numpy as np"
ADD = "def add(a, b):\n    return a + b"
STUB = "def add(a, b):\n    raise NotImplementedError"
CHECK_ADD = 'def test_unit_add():\n    check("add(2, 3)", want=5)\n\n\ntest_unit_add()'


def check_of(name: str, expression: str, want: str) -> tuple[str, str, str]:
    """A cell that checks one expression."""
    return "check", name, f"def test_unit():\n    check({expression!r}, want={want})\n\n\ntest_unit()"


def job(*cells: tuple[str, str, str]) -> Job:
    """A lesson of these cells (role, name, source) behind the imports; the first of them is cell 2."""
    rows = [("imports", "", IMPORTS), *cells]
    return Job("01", [_cell(number, *row) for number, row in enumerate(rows, 1)])


def _cell(number: int, role: str, name: str, source: str) -> dict[str, object]:
    about = {"number": number, "id": f"{role}-{name}", "role": role, "name": name}
    return {**about, "file": f"<cell {number}>", "line": 1, "source": source}


TWO_SUMS = ("check", "add", CHECK_ADD.replace("want=5)", 'want=5)\n    check("add(7, 17)", want=24)'))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "tinytorch").mkdir()
    (tmp_path / "tinytorch" / "__init__.py").write_text("", encoding="utf-8")
    return tmp_path


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TITO_SECONDS", "0.7")


def run(package: Path, *cells: tuple[str, str, str], keep_going: bool = False) -> list[Outcome]:
    return testing.run([job(*cells)], package, keep_going=keep_going)


def only(package: Path, answer: str, expression: str = "add(2, 3)", want: str = "5") -> Outcome:
    """The outcome of one exercise with one check."""
    [outcome] = run(package, ("exercise", "add", answer), check_of("add", expression, want))
    return outcome


def test_a_right_answer_is_ok(package: Path) -> None:
    outcome = only(package, ADD)
    assert (outcome.status, outcome.check, outcome.exercise, outcome.cell) == ("ok", "add", "add", 2)


def test_a_wrong_answer_comes_with_all_that_helps(package: Path) -> None:
    outcome = only(package, "def add(a, b):\n    c = a - b\n    return c")
    assert outcome.status == "FAIL"
    assert (outcome.expression, outcome.want, outcome.got) == ("add(2, 3)", "5", "-1")
    assert outcome.where == ("<cell 2>", 3, "return c")


def test_a_stub_is_todo_and_its_users_wait(package: Path) -> None:
    twice = ("exercise", "twice", "def twice(a):\n    return add(a, a)")
    outcomes = run(
        package, ("exercise", "add", STUB), twice, check_of("add", "add(2, 3)", "5"), check_of("twice", "twice(2)", "4")
    )
    assert [(one.status, one.waits_for) for one in outcomes] == [("todo", ""), ("waits", "add")]


def test_a_stub_whose_error_is_raised_anew_still_waits_for_its_exercise(package: Path) -> None:
    wrapped = "def twice(a):\n    try:\n        return add(a, a)\n    except NotImplementedError as error:\n"
    wrapped += "        raise NotImplementedError('batch 0') from error"
    outcomes = run(
        package, ("exercise", "add", STUB), ("exercise", "twice", wrapped), check_of("twice", "twice(2)", "4")
    )
    assert [(one.status, one.waits_for) for one in outcomes] == [("waits", "add")]


def test_not_implemented_in_supplied_code_is_a_failure(package: Path) -> None:
    supplied = ("supplied", "base", "def base():\n    raise NotImplementedError('no forward')")
    [outcome] = run(
        package, supplied, ("exercise", "add", "def add(a, b):\n    return base()"), ("check", "add", CHECK_ADD)
    )
    assert (outcome.status, outcome.error) == ("FAIL", ("NotImplementedError", "no forward"))
    assert outcome.where == ("<cell 3>", 2, "return base()")


def test_the_first_failure_stops_the_run_and_todo_does_not(package: Path) -> None:
    wrong, todo = ("exercise", "wrong", "wrong = 1"), ("exercise", "add", STUB)
    checks = [("check", "add", CHECK_ADD), check_of("wrong", "wrong", "2"), check_of("wrong again", "wrong", "3")]
    stopped = run(package, wrong, todo, *checks)
    assert [one.status for one in stopped] == ["todo", "FAIL", "not run"]
    going = run(package, wrong, todo, *checks, keep_going=True)
    assert [one.status for one in going] == ["todo", "FAIL", "FAIL"]
    assert going[2].exercise == "wrong"


def test_a_syntax_error_fails_its_own_exercise_only(package: Path) -> None:
    broken = ("exercise", "broken", "def broken(:\n    return 1")
    user = ("supplied", "user", "result = broken()")
    outcomes = run(
        package,
        ("exercise", "add", ADD),
        broken,
        user,
        ("check", "add", CHECK_ADD),
        check_of("broken", "broken()", "1"),
    )
    assert [one.status for one in outcomes] == ["ok", "FAIL"]
    assert outcomes[1].error is not None and outcomes[1].error[0] == "SyntaxError"
    assert outcomes[1].where == ("<cell 3>", 1, "def broken(:")


def test_a_supplied_cell_that_fails_is_named(package: Path) -> None:
    outcomes = run(
        package, ("supplied", "tool", "import no_such_module"), ("exercise", "add", ADD), ("check", "add", CHECK_ADD)
    )
    assert [(one.check, one.status, one.cell) for one in outcomes] == [("tool", "FAIL", 2), ("add", "not run", 0)]
    assert outcomes[0].error == ("ModuleNotFoundError", "No module named 'no_such_module'")


@pytest.mark.parametrize("answer", ["import sys\nsys.exit(3)", "raise KeyboardInterrupt", "raise GeneratorExit"])
def test_leaving_in_a_definition_fails_that_exercise(package: Path, answer: str) -> None:
    outcome = only(package, answer)
    assert outcome.status == "FAIL"
    assert outcome.where is not None and outcome.where[0] == "<cell 2>"


def test_sys_exit_in_a_check_fails_it(package: Path) -> None:
    outcome = only(package, "import sys\n\n\ndef add(a, b):\n    sys.exit(0)")
    assert (outcome.status, outcome.where) == ("FAIL", ("<cell 2>", 5, "sys.exit(0)"))


def test_a_process_that_ends_itself_is_a_failure_of_what_ran(package: Path) -> None:
    leaves = ("exercise", "leaves", "import os\n\n\ndef leaves():\n    os._exit(0)")
    outcomes = run(
        package, ("exercise", "add", ADD), leaves, ("check", "add", CHECK_ADD), check_of("leaves", "leaves()", "1")
    )
    assert [one.status for one in outcomes] == ["ok", "FAIL"]
    assert outcomes[1].says == "the process ended in cell 3 (exit code 0)"
    assert only(package, "import os\nos._exit(4)").says == "the process ended in cell 2 (exit code 4)"


def test_an_error_whose_text_leaves_is_a_failure(package: Path) -> None:
    odd = "class Odd(Exception):\n    def __str__(self):\n        raise SystemExit\n\n\n"
    for answer in ("raise Odd", "def add(a, b):\n    raise Odd"):
        outcome = only(package, odd + answer)
        assert outcome.error is not None and outcome.error[0] == "Odd"
        assert "text cannot be shown" in outcome.error[1]


def test_a_late_syntax_error_shows_its_line(package: Path) -> None:
    outcome = only(package, "import asyncio\nawait asyncio.sleep(0)")
    assert outcome.where == ("<cell 2>", 2, "await asyncio.sleep(0)")


def test_a_crash_is_named_by_its_signal(package: Path) -> None:
    outcome = only(package, "import os\n\n\ndef add(a, b):\n    os.kill(os.getpid(), 11)")
    assert outcome.says == "the process ended in cell 2 (signal SIGSEGV)"


def test_a_thread_left_behind_holds_nobody_up(package: Path) -> None:
    began = time.monotonic()
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n"
    assert only(package, thread + ADD).status == "ok"
    assert time.monotonic() - began < 20


def test_endless_recursion_is_a_failure(package: Path) -> None:
    outcome = only(package, "def add(a, b):\n    return add(a, b)")
    assert outcome.status == "FAIL"
    assert outcome.error is not None and outcome.error[0] == "RecursionError"


def test_too_much_memory_is_a_failure(package: Path) -> None:
    outcome = only(package, "def add(a, b):\n    return len(bytearray(5 * 2**30))")
    assert outcome.error is not None and outcome.error[0] == "MemoryError"


def test_a_hundred_megabytes_of_printing_are_cut(package: Path) -> None:
    outcome = only(package, "def add(a, b):\n    for _ in range(100_000):\n        print('x' * 999)\n    return 0")
    assert outcome.status == "FAIL"
    assert len(outcome.output) == testing.KEPT
    assert outcome.output.startswith("x" * 999 + "\n")


def test_printing_belongs_to_the_check_that_it_came_from(package: Path) -> None:
    loud = "import sys\n\n\ndef loud(text):\n    print(text)\n    print('raw', file=sys.stderr)\n    return 0"
    checks = [
        check_of("loud", "loud('one')", "1"),
        check_of("loud two", "loud('two')", "0"),
        check_of("loud 3", "loud(3)", "1"),
    ]
    outcomes = run(package, ("exercise", "loud", loud), *checks, keep_going=True)
    assert [sorted(one.output.split()) for one in outcomes] == [["one", "raw"], ["raw", "two"], ["3", "raw"]]


def test_a_verdict_cannot_be_printed(package: Path) -> None:
    forged = '{"event": "result", "lesson": "01", "check": "add", "exercise": "add", "cell": 2, "status": "ok"}'
    outcome = only(package, f"def add(a, b):\n    print('\\n{forged}\\n', flush=True)\n    return 0")
    assert outcome.status == "FAIL"


def test_what_is_written_to_every_open_file_is_no_verdict(package: Path) -> None:
    forged = '{"event": "result", "lesson": "01", "check": "add", "exercise": "add", "status": "ok", "cell": 2}'
    write = f"for i in range(3, 20):\n    try:\n        os.write(i, b'noise\\n{forged}\\n5\\nmore')\n"
    source = f"import os\n{write}    except OSError:\n        pass\n\ndef add(a, b):\n    return a - b"
    assert [one.status for one in run(package, ("exercise", "add", source), check_of("add", "add(2, 3)", "5"))] == [
        "FAIL"
    ]


def test_a_fork_has_no_verdict_of_its_own(package: Path) -> None:
    fork = "import os\n\ndef add(a, b):\n    os.fork()\n    return a + b"
    checks = [check_of(name, "add(2, 3)", "5") for name in ("add", "add again")]
    assert [one.status for one in run(package, ("exercise", "add", fork), *checks)] == ["ok", "ok"]


def test_names_of_the_checks_may_be_taken(package: Path) -> None:
    mine = "def check(*args, **names):\n    pass\n\n\nprobe = 3"
    wrong = ("exercise", "add", "def add(a, b):\n    return a - b")
    [outcome] = run(package, ("added", "", mine), wrong, check_of("add", "add(2, 3)", "5"))
    assert (outcome.status, outcome.got) == ("FAIL", "-1")


def test_options_of_printing_change_no_report(package: Path) -> None:
    options = "np.set_printoptions(precision=1, threshold=1, formatter={'all': lambda x: 'X'})\n"
    outcome = only(package, options + "def add(a, b):\n    return np.array([a, b])", want="[4, 5]")
    assert (outcome.want, outcome.got) == ("[4 5]", "[2 3]")


def test_streams_that_were_closed_do_no_harm(package: Path) -> None:
    assert only(package, f"import sys\nsys.stdout.close()\nsys.stderr = None\n{ADD}").status == "ok"


def test_names_in_annotations_are_found_as_in_a_notebook(package: Path) -> None:
    answer = "import typing\n\n\nclass Box:\n    inside: 'Box'\n\n\n"
    answer += "def add(a, b):\n    return len(typing.get_type_hints(Box))"
    assert only(package, answer, want="1").status == "ok"


def test_nobody_answers_to_input(package: Path) -> None:
    outcome = only(package, "def add(a, b):\n    return input('why? ')")
    assert outcome.error is not None and outcome.error[0] == "EOFError"


@pytest.mark.usefixtures("hurry")
def test_an_endless_loop_ends_at_the_limit_and_is_named(package: Path) -> None:
    outcomes = run(
        package,
        ("exercise", "add", "def add(a, b):\n    while True:\n        a += 1"),
        ("check", "add", CHECK_ADD),
        check_of("add again", "add(1, 1)", "2"),
    )
    assert [one.status for one in outcomes] == ["FAIL", "not run"]
    assert outcomes[0].says == "cell 2 ran longer than 0.7 s"
    assert outcomes[0].where is not None and outcomes[0].where[:1] == ("<cell 2>",)
    assert outcomes[0].where[2] in ("while True:", "a += 1")


@pytest.mark.usefixtures("hurry")
def test_a_loop_that_never_lets_go_ends_too(package: Path) -> None:
    outcome = only(package, "def add(a, b):\n    return sum(iter(int, 1))")
    assert (outcome.says, outcome.where) == ("cell 2 ran longer than 0.7 s", None)


@pytest.mark.usefixtures("hurry")
def test_an_endless_loop_in_a_definition_is_named(package: Path) -> None:
    outcome = only(package, "while True:\n    pass")
    assert (outcome.check, outcome.says) == ("add", "cell 2 ran longer than 0.7 s")


@pytest.mark.usefixtures("hurry")
def test_the_limit_is_for_each_check_not_for_all(package: Path) -> None:
    slow = "import time\n\n\ndef add(a, b):\n    time.sleep(0.4)\n    return a + b"
    checks = [check_of(f"add {i}", "add(2, 3)", "5") for i in range(3)]
    assert [one.status for one in run(package, ("exercise", "add", slow), *checks)] == ["ok"] * 3


@pytest.mark.usefixtures("hurry")
def test_what_the_learners_code_started_ends_with_it(package: Path) -> None:
    pid = package / "pid"
    starts = f"import subprocess\nwith open({str(pid)!r}, 'w') as file:\n"
    starts += "    file.write(str(subprocess.Popen(['sleep', '60']).pid))\n"
    assert only(package, starts + "def add(a, b):\n    while True:\n        pass").status == "FAIL"
    assert _ends_soon(int(pid.read_text(encoding="utf-8")))


def test_the_child_ends_when_its_parent_is_killed(package: Path) -> None:
    pid = package / "pid"
    answer = (
        f"import os\nwith open({str(pid)!r}, 'w') as file:\n    file.write(str(os.getpid()))\nwhile True:\n    pass"
    )
    code = "import sys; from pathlib import Path; from tito import testing\n"
    code += (
        f"testing.run([testing.Job('01', {list(job(('exercise', 'add', answer)).cells)!r})], Path({str(package)!r}))"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(Path(testing.__file__).parent.parent)}
    )
    while not (pid.exists() and pid.read_text(encoding="utf-8")):
        time.sleep(0.02)
    parent.kill()
    parent.wait()
    assert _ends_soon(int(pid.read_text(encoding="utf-8")))


def _ends_soon(pid: int) -> bool:
    for _ in range(100):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_the_child_sees_the_package_and_one_thread(package: Path) -> None:
    answer = "import os\n\n\ndef add(a, b):\n    return [os.environ[name] for name in (a, b)]"
    expression = "add('TINYTORCH_PACKAGE', 'OPENBLAS_NUM_THREADS')"
    assert only(package, answer, expression, repr([str(package), "1"])).status == "ok"


def test_the_checks_of_a_package_see_its_names(package: Path) -> None:
    (package / "tinytorch" / "sums.py").write_text(f"{ADD}\n\n\n_secret = 3\n", encoding="utf-8")
    checks = [check_of("add", "add(2, 3)", "5"), check_of("add secret", "_secret", "4")]
    cells = [_cell(0, *row) for row in [("imports", "", IMPORTS), *checks]]
    outcomes = testing.run([Job("01", cells, "tinytorch.sums")], package)
    assert [(one.status, one.exercise) for one in outcomes] == [("ok", "add"), ("FAIL", "add")]
    assert outcomes[1].got == "3"


def test_a_package_that_cannot_be_imported_fails_by_its_name(package: Path) -> None:
    (package / "tinytorch" / "sums.py").write_text("1 / 0\n", encoding="utf-8")
    cells = [_cell(0, "imports", "", IMPORTS), _cell(0, *check_of("add", "1", "1"))]
    outcomes = testing.run([Job("01", cells, "tinytorch.sums")], package)
    assert [(one.check, one.status) for one in outcomes] == [("tinytorch.sums", "FAIL"), ("add", "not run")]
    assert outcomes[0].error == ("ZeroDivisionError", "division by zero")


def test_lines_of_a_percent_file_are_those_of_the_file(package: Path) -> None:
    cells = [
        dict(cell)
        for cell in job(("exercise", "add", "def add(a, b):\n    return a - b"), ("check", "add", CHECK_ADD)).cells
    ]
    cells[1] |= {"file": "modules/01_sums.py", "line": 40}
    [outcome] = testing.run([Job("01", cells)], package)
    assert outcome.where == ("modules/01_sums.py", 41, "return a - b")


def test_a_second_lesson_runs_in_a_namespace_of_its_own(package: Path) -> None:
    first = job(("exercise", "add", ADD), ("check", "add", CHECK_ADD))
    second = Job("02", job(("exercise", "sub", "sub = 1"), ("check", "sub", CHECK_ADD)).cells)
    outcomes = testing.run([first, second], package)
    assert [(one.lesson, one.status) for one in outcomes] == [("01", "ok"), ("02", "FAIL")]
    assert outcomes[1].error is not None and outcomes[1].error[0] == "NameError"


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_mark_that_arrives_in_parts_is_still_a_mark(size: int) -> None:
    mark, sent = b"\0mark\0", b"one\0mark\0\0mark\0\0ma\0three\0mark\0four\0ma"
    reading, writing = os.pipe()
    printed = testing.Printed(os.fdopen(reading, "rb"), mark)
    for i in range(0, len(sent), size):
        os.write(writing, sent[i : i + size])
        time.sleep(0.001)
    os.close(writing)
    printed.reader.join()
    assert [printed.text(i) for i in range(5)] == ["one", "", "\0ma\0three", "four\0ma", ""]


def test_a_failed_exercise_tells_what_all_its_checks_gave(package: Path) -> None:
    [outcome] = run(package, ("exercise", "add", "def add(a, b):\n    return a - b"), TWO_SUMS)
    assert [entry for entry in outcome.seen if entry[1] in (2, 5)] == [
        ["add", 2, {"got": {"int": -1}}],
        ["add", 5, {"got": {"int": -10}}],
    ]


@pytest.mark.parametrize("end", ["while a == 7: pass", "if a == 7: import os; os._exit(3)"])
def test_what_ends_the_second_look_changes_no_outcome(package: Path, end: str) -> None:
    began = time.monotonic()
    [outcome] = run(package, ("exercise", "add", f"def add(a, b):\n    {end}\n    return a - b"), TWO_SUMS)
    assert (outcome.status, outcome.got, outcome.says, list(outcome.seen)) == ("FAIL", "-1", None, [])
    assert time.monotonic() - began < 4
