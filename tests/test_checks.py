"""The engine of checks, on small notebooks of its own: each cell is compiled and registered as a runner does it."""

from __future__ import annotations

import ast
import itertools
import linecache
import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tito.checks import CheckFailed, Draw, check, draw, engine, probe, raises
from tito.checks.bench import Answer, Bench, Expression, Local, ProbeCall, Question
from tito.checks.values import NotPlain, plain

TENSOR = """
    class Tensor:
        def __init__(self, data):
            array = np.array(data)
            self.data = array.astype(np.float32) if array.dtype.kind == "f" else array
"""
_numbers = itertools.count(1)


class Notebook:
    """A namespace and cells in files of their own."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__", "np": np, "check": check, "raises": raises}
        self.names |= {"probe": probe, "draw": draw}

    def cell(self, source: str) -> str:
        """Run a cell -> its file name."""
        file, source = f"<cell {next(_numbers)}>", textwrap.dedent(source).lstrip("\n")
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        exec(compile(source, file, "exec"), self.names)
        return file

    def failure(self, source: str) -> CheckFailed:
        with pytest.raises(CheckFailed) as caught:
            self.cell(source)
        return caught.value


@pytest.fixture
def book() -> Iterator[Notebook]:
    notebook = Notebook()
    notebook.cell(TENSOR)
    yield notebook
    engine.focus = None


def line_of(failed: CheckFailed) -> str | None:
    return failed.where.text if failed.where else None


# What passes.


@pytest.mark.parametrize(
    "call",
    [
        "check('Tensor([1, 2])', want=[1, 2])",
        "check('Tensor([[1.0, 2.5]])', want=[[1.0, 2.5]])",
        "check('Tensor([1.5])', want=np.array([1.5]))",
        "check('Tensor(3)', want=3)",
        "check('Tensor([True])', want=[True])",
        "check('Tensor([])', want=[])",
        "check('np.zeros(0, np.int64)', want=[])",
        "check('Tensor([1e-7])', want=[0.0])",
        "check('np.zeros((0, 3), np.int64)', want=np.zeros((0, 3), np.int64))",
        "check('np.array([1.0])', want=[1.0], dtype=np.float64)",
        "check('np.array([1, 2], np.int8)', want=[1, 2], dtype='int8')",
        "check('np.float64(0.5)', want=0.5)",
        "check('np.float32(0.5)', want=0.5, dtype='float32')",
        "check('[1, 2.0, \"a\", None, b\"x\"]', want=[1, 2.0, 'a', None, b'x'])",
        "check('[Tensor([1, 2]), Tensor([3, 4])]', want=[[1, 2], [3, 4]])",
        "check('{\"a\": (Tensor([1]), 2)}', want={'a': ([1], 2)})",
        "check('[float(\"inf\"), -float(\"inf\")]', want=[float('inf'), -float('inf')])",
        "check('Tensor([np.inf, 1.0])', want=[np.inf, 1.0])",
        "check('Tensor([np.nan, 1.0])', want=[np.nan, 1.0], equal_nan=True)",
        "check('Tensor([1.000001])', want=[1.0])",
        "check('Tensor([1.1])', want=[1.0], rtol=0.2)",
        "check('[n * 2 for n in items]', want=[2, 4], items=[1, 2])",
        "check('sum(n + k for n in items)', want=13, items=[1, 2], k=5)",
        "check(2 ** 70, want=2 ** 70)",
        "raises('1 / 0', ZeroDivisionError, match='by zero')",
        "raises('1 / 0', ArithmeticError)",
        "raises('1 / 0', (ValueError, ZeroDivisionError))",
        "raises('np.linalg.inv(np.zeros((2, 2)))', np.linalg.LinAlgError)",
    ],
)
def test_right_answers_pass(book: Notebook, call: str) -> None:
    book.cell(call)


# What fails, and how it is told.


NAN = "first differs at [0]: want nan, got nan; 1 of 1 differ"
ZERO = "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("call", "kind", "want", "got"),
    [
        ("check('Tensor([1, 2, 4])', want=[1, 2, 3])", "value", "[1 2 3]", "[1 2 4]"),
        ("check('3', want=4)", "value", "4", "3"),
        ("check('3.0', want=4.0)", "value", "4.0", "3.0"),
        ("check('1.00002', want=1.0)", "value", "1.0", "1.00002"),
        ("check('1.0000000002', want=1.0, rtol=0, atol=1e-12)", "value", "1.0", "1.0000000002"),
        ("check('\"a\"', want='b')", "value", "'b'", "'a'"),
        ("check('[1, 2]', want=[1, 3])", "value", "[1, 3]", "[1, 2]"),
        ("check('{\"a\": 1}', want={'b': 1})", "value", "{'b': 1}", "{'a': 1}"),
        ("check('Tensor([np.nan])', want=[np.nan])", "value", "[nan]", f"[nan]\n{NAN}"),
        ("check('float(\"nan\")', want=float('nan'))", "value", "nan", "nan"),
        ("check('Tensor([1.0])', want=[np.inf])", "value", "[inf]", "[1.]"),
        ("check('Tensor([-np.inf])', want=[np.inf])", "value", "[inf]", "[-inf]"),
        ("check('Tensor([2**60 + 1])', want=[2**60])", "value", f"[{2**60}]", f"[{2**60 + 1}]"),
        ("check('Tensor([[1, 2, 3], [4, 5, 6]])', want=[[1, 4]] * 3)", "shape", "shape (3, 2)", "shape (2, 3)"),
        ("check('Tensor([3])', want=3)", "shape", "shape ()", "shape (1,)"),
        ("check('[1]', want=[1, 2])", "shape", "[1, 2]", "[1]"),
        ("check('np.array([1.0])', want=[1.0])", "dtype", "dtype float32", "dtype float64"),
        ("check('np.array([1.0])', want=np.array([1.0]))", "dtype", "dtype float32", "dtype float64"),
        ("check('np.array([1], np.int32)', want=[1])", "dtype", "dtype int64", "dtype int32"),
        ("check('Tensor([1.0])', want=[1])", "dtype", "dtype int64", "dtype float32"),
        ("check('Tensor([1])', want=[True])", "dtype", "dtype bool", "dtype int64"),
        ("check('Tensor([1.0])', want=[1.0], dtype='float64')", "dtype", "dtype float64", "dtype float32"),
        ("check('1.0', want=1.0, dtype='float32')", "dtype", "dtype float32", "a Python float"),
        ("check('[np.array([1.0])]', want=[[1.0]])", "dtype", "at [0]: dtype float32", "at [0]: dtype float64"),
        ("check('3.0', want=3)", "type", "3 (int)", "3.0 (float)"),
        ("check('True', want=1)", "type", "1 (int)", "True (bool)"),
        ("check('None', want=[1, 2])", "type", "[1 2] (array)", "None"),
        ("check('(1, 2)', want=[1, 2])", "type", "[1 2] (array)", "(1, 2) (tuple)"),
        ("check('np.array([1, 2])', want=(1, 2))", "type", "(1, 2) (tuple)", "[1 2] (array)"),
        ("check('np.array([1, 2])', want=[[1], [1, 2]])", "type", "[[1], [1, 2]] (list)", "[1 2] (array)"),
        ("check('Tensor', want=1)", "type", "1", "a type, which is no plain value"),
        ("check('1j', want=1)", "type", "1", "a complex, which is no plain value"),
        ("check('1 / 0', want=1)", "error", "1", ZERO),
        ("check('nothing', want=1)", "error", "1", "NameError: name 'nothing' is not defined"),
        ("raises('1', ValueError)", "no error", "ValueError", "no error, but 1"),
        ("raises('1 / 0', ValueError)", "error", "ValueError", ZERO),
        ("raises('1 / 0', ArithmeticError, match='x')", "message", 'ArithmeticError whose text matches "x"', ZERO),
    ],
)
def test_every_kind_of_failure(book: Notebook, call: str, kind: str, want: str, got: str) -> None:
    failed = book.failure(call)
    assert (failed.kind, failed.want, failed.got) == (kind, want, got)


def test_an_error_is_kept_as_plain_data(book: Notebook) -> None:
    book.cell("class Odd(Exception):\n    pass\n\ndef f():\n    raise Odd('no \\ud800')\n")
    failed = book.failure("check('f()', want=1)")
    assert failed.error == ("Odd", "no \\ud800")
    assert type(failed.error[1]) is str


def test_an_error_whose_text_fails(book: Notebook) -> None:
    book.cell("class Odd(Exception):\n    def __str__(self):\n        return 1 / 0\n\ndef f():\n    raise Odd\n")
    assert book.failure("check('f()', want=1)").error == ("Odd", "its text cannot be shown")


def test_a_class_that_only_shares_the_name_is_another_exception(book: Notebook) -> None:
    book.cell("class ValueError(Exception):\n    pass\n\ndef f():\n    raise ValueError('mine')\n")
    assert book.failure("raises('f()', real)".replace("real", "__builtins__['ValueError']")).kind == "error"


def test_sys_exit_is_an_error_and_two_exceptions_pass_through(book: Notebook) -> None:
    book.cell("""
        import sys
        def leave(): sys.exit(0)
        def todo(): raise NotImplementedError
        def stop(): raise KeyboardInterrupt
    """)
    assert book.failure("check('leave()', want=1)").error == ("SystemExit", "your code called sys.exit")
    for call, error in [("todo", NotImplementedError), ("stop", KeyboardInterrupt)]:
        for way in [f"check('{call}()', want=1)", f"raises('{call}()', RuntimeError)", f"probe({call})()"]:
            with pytest.raises(error) as caught:
                book.cell(way)
            assert caught.traceback[-1].name == call


def test_an_ill_formed_check_is_its_authors_error(book: Notebook) -> None:
    with pytest.raises(SyntaxError):
        book.cell("check('1 +', want=1)")
    student = "Tensor([1])"
    for call in [f"check('1', want={student})", f"check('t', want=1, t={student})", f"probe(lambda t: 1)({student})"]:
        with pytest.raises(TypeError, match="which is no plain value; pass numbers, text, lists, dicts or arrays"):
            book.cell(call)
    with pytest.raises(TypeError, match="a can be named in an expression only"):
        book.cell("check(1, want=1, a=1)")
    with pytest.raises(TypeError, match="data type 'floaty' not understood"):
        book.cell("check('1', want=1, dtype='floaty')")


# Objects of the student's decide nothing.


def test_objects_that_claim_to_be_equal_are_refused(book: Notebook) -> None:
    book.cell("""
        class Equal(type):
            def __eq__(cls, other): return True
            def __hash__(cls): return hash(int)
            def __instancecheck__(cls, other): return True
            def __subclasscheck__(cls, other): return True
        class Anything(metaclass=Equal):
            __class__ = int
            def __eq__(self, other): return True
            def __hash__(self): return 1
        class Number(int):
            def __eq__(self, other): return True
            __hash__ = int.__hash__
        class Words(str):
            def __eq__(self, other): return True
            __hash__ = str.__hash__
        class Half(np.float64):
            pass
    """)
    refused = {"Anything()": "an Anything", "Number(5)": "a Number", "Words('x')": "a Words", "Half(5)": "a Half"}
    for made, name in refused.items():
        assert book.failure(f"check({made!r}, want=1)").got == f"{name}, which is no plain value"
        assert book.failure(f"check({made}, want=1)").got == f"{name}, which is no plain value"
    assert book.failure("check('{Words(\"x\"): 1}', want={'x': 1})").got.startswith("a dict with a Words as a key")


def test_what_data_may_be(book: Notebook) -> None:
    book.cell("""
        class Holder:
            def __init__(self, data): self.data = data
        class Broken:
            @property
            def data(self): raise ValueError("no data here")
        class Mine(np.ndarray):
            pass
        class Shared:
            data = np.ones(1)
    """)
    assert "a Holder, which is no plain value" in book.failure("check('Holder([1, 2])', want=[1, 2])").got
    assert "a Holder, which is no plain value" in book.failure("check('Holder(Holder(np.ones(1)))', want=[1])").got
    assert "array of dtype object" in book.failure("check('Holder(np.array([None]))', want=[1])").got
    assert "array of dtype <U1" in book.failure("check('np.array([\"a\"])', want=['a'])").got
    assert "a type, which is no plain value" in book.failure("check('Shared', want=[1.0])").got
    assert "a Mine, a subclass of ndarray" in book.failure("check('np.ones(1).view(Mine)', want=[1.0])").got
    assert "a MaskedArray, a subclass" in book.failure("check('np.ma.masked_array([1])', want=[1])").got
    assert book.failure("check('Broken()', want=1)").error == ("ValueError", "no data here")


def test_values_without_end_are_refused(book: Notebook) -> None:
    book.cell("""
        ring = []; ring.append(ring)
        deep = 1
        for _ in range(5000): deep = [deep]
        wide = [0] * 10
        for _ in range(12): wide = [wide] * 10
    """)
    assert book.failure("check('ring', want=1)").got == "a list that holds itself"
    assert book.failure("check('deep', want=1)").got == "a value nested more than 20 deep"
    assert book.failure("check('wide', want=1)").got == "more than 100,000 values in lists, which belong in an array"
    book.cell("same = [1]\ncheck('[same, same]', want=[[1], [1]])")


def test_plain_values_are_deep_copies() -> None:
    array = np.arange(3)
    copy = plain({"a": [array, (array,)]})
    array[0] = 9
    assert copy["a"][0][0] == copy["a"][1][0][0] == 0
    assert type(plain(np.float32(1))) is np.float32
    with pytest.raises(NotPlain):
        plain(object())


def test_arrays_are_passed_as_copies(book: Notebook) -> None:
    book.cell("""
        def spoil(a):
            a[:] = 0
            return 1
        a = np.ones(3)
        check("spoil(a)", want=1, a=a)
        check("spoil(box[0])", want=1, box=[a])
        assert a.sum() == 3
    """)
    failed = book.failure("check('spoil(a)', want=2, a=a)")
    assert failed.got == "1" and book.names["a"].sum() == 3


# Probes.


PROBE = """
    @probe
    def short_window(scale=1):
        losses = [scale * 2.0, 1.5]
        return {"loss": losses, "weight": Tensor([[0.5]]), "epoch": 7, "name": "sgd", "again": 7}
"""


def test_a_value_of_a_probe_is_named_by_its_call(book: Notebook) -> None:
    book.cell(PROBE)
    names = {}
    for key, want in [("weight", [[0.8]]), ("loss", [1.0]), ("name", "adam"), ("epoch", 1)]:
        names[key] = book.failure(f"got = short_window(scale=3)\ncheck(got[{key!r}], want={want!r})").expression
    assert names["weight"] == "short_window(scale=3)['weight']"
    assert names["loss"] == "short_window(scale=3)['loss']"
    assert names["name"] == "short_window(scale=3)['name']"
    assert names["epoch"] == "short_window(scale=3)"  # 7 stands at two places
    assert book.failure("check(short_window(2)['loss'][0], want=1.0)").expression == "short_window(2)['loss'][0]"


def test_a_string_of_a_probe_is_a_value(book: Notebook) -> None:
    book.cell(PROBE)
    book.cell("check(short_window()['name'], want='sgd')")
    assert book.failure("check(short_window()['name'], want='adam')").got == "'sgd'"


def test_a_value_from_nowhere_is_its_own_text(book: Notebook) -> None:
    assert str(book.failure("check(3, want=4)")) == "3\nwant  4\ngot   3"


def test_a_probe_that_fails(book: Notebook) -> None:
    book.cell("""
        def half(x):
            return 1 / x
        @probe
        def inverse(x):
            def inner():
                return half(x)
            return inner()
        @probe
        def wrong():
            return half
        @probe
        def own():
            def inner():
                raise ValueError("in the probe")
            inner()
    """)
    failed = book.failure("inverse(0)")
    assert (failed.kind, failed.expression) == ("error", "inverse(0)")
    assert failed.error == ("ZeroDivisionError", "division by zero")
    assert line_of(failed) == "return 1 / x"
    assert book.failure("wrong()").got == "a function, which is no plain value"
    assert book.failure("own()").where is None
    assert line_of(book.failure("check(inverse(2), want=1.0)")) == "return 1 / x"


# The learner's own line.


def test_the_line_of_an_exception(book: Notebook) -> None:
    book.cell("""
        def outer(x):
            def inner(y):
                return y.nothing
            return inner(x)
        def squeezed(xs):
            return sum(
                1 / x
                for x in xs
            )
        def listed(xs):
            return [1 / x for x in xs]
        def down(n):
            if n == 0:
                raise ValueError("bottom")
            return down(n - 1)
        def forever(n):
            return forever(n + 1)
        def library(xs):
            return np.concatenate(xs)
    """)
    expected = {
        "outer(1)": "return y.nothing",
        "squeezed([1, 0])": "1 / x",
        "listed([1, 0])": "return [1 / x for x in xs]",
        "down(5)": 'raise ValueError("bottom")',
        "forever(1)": "return forever(n + 1)",
        "library(3)": "return np.concatenate(xs)",
    }
    assert {call: line_of(book.failure(f"check({call!r}, want=1)")) for call in expected} == expected


def test_the_line_of_a_wrong_value(book: Notebook) -> None:
    book.cell("""
        def outer(x):
            def inner(y):
                return y + 1
            return inner(x)
        def branches(x):
            if x is None: return 0
            if x > 100:
                return 100
            return x * 2
        def down(n):
            if n == 0:
                return 5
            return down(n - 1)
        def counted(n):
            for i in range(n):
                yield i
        def later(n):
            gen = (i * 2 for i in range(n))
            total = 0
            for i in gen:
                total += i
            return total
        def long(a,
                 b):
            return (
                helper(a)
                + b
            )
        def helper(a):
            return a
        def helped(n):
            k = helper(n)
            yield k + 1
        def filled(x):
            y = helper(x)
            x[0] = y
        def caught():
            try:
                return fails()
            except ValueError:
                return -1
        def fails():
            raise ValueError
        def alter(x):
            x[0] = 3
            x[1] = 4
    """)
    expected = {
        "outer(1)": "return y + 1",
        "branches(1)": "return x * 2",
        "branches(None)": "if x is None: return 0",
        "branches(101)": "return 100",
        "down(4)": "return 5",
        "list(counted(3))": "yield i",
        "later(3)": "return total",
        "caught()": "return -1",
        "alter([1, 2])": "x[1] = 4",
        "list(helped(3))": "yield k + 1",
        "(lambda g: [helper(next(g)), next(g)])(counted(3))": "yield i",
        "filled([1])": "return a",
        "long(1, 2)": "return a",
        "outer": None,
        "7": None,
    }
    assert {call: line_of(book.failure(f"check({call!r}, want=99)")) for call in expected} == expected
    assert line_of(book.failure("check('long(np.ones(3), 1)', want=99)")) == "return ("
    assert line_of(book.failure("raises('outer(1)', ValueError)")) == "return y + 1"


ADD = """
    class Add:
        def __call__(self, *tensors):
            return self.apply(*tensors)
        def apply(self, *tensors):
            out = self.forward(*[t.data for t in tensors])
            return wrap(out)
        def forward(self, a, b):
            return a - b
    def wrap(array):
        tensor = Tensor(array)
        return tensor
    def __add__(self, other):
        return Add()(self, other)
    Tensor.__add__ = __add__
"""


def test_the_return_that_gave_the_array_is_found_through_layers(book: Notebook) -> None:
    book.cell(ADD)
    failed = book.failure("check('Tensor([1, 2]) + Tensor([10, 20])', want=[11, 22])")
    assert (line_of(failed), failed.where and failed.where.line) == ("return a - b", 8)


def test_the_focused_cell_comes_first(book: Notebook) -> None:
    adds = book.cell(ADD)
    other = book.cell("def scaled(t, k):\n    u = t + t\n    return Tensor(u.data * k)\n")
    call = "check('scaled(Tensor([1, 2]), 1)', want=[2, 4])"
    assert line_of(book.failure(call)) == "return a - b"
    engine.focus = other
    assert line_of(book.failure(call)) == "return Tensor(u.data * k)"
    engine.focus = adds, 7, 8
    assert line_of(book.failure("check('scaled(Tensor([1, 2]), 3)', want=[2, 4])")) == "return a - b"
    engine.focus = adds, 9, 11
    assert line_of(book.failure(call)) == "return tensor"
    engine.focus = other
    assert line_of(book.failure("check('scaled(Tensor([1, 2]), None)', want=1)")) == "return Tensor(u.data * k)"


def test_an_error_below_the_focused_cell_is_shown_in_it(book: Notebook) -> None:
    book.cell("def helper(x):\n    return 1 / x\n")
    engine.focus = book.cell("def mine(x):\n    y = helper(x)\n    return y\n")
    assert line_of(book.failure("check('mine(0)', want=1)")) == "y = helper(x)"
    assert line_of(book.failure("check('helper(0)', want=1)")) == "return 1 / x"


def test_code_of_the_package_is_the_last_resort(book: Notebook) -> None:
    package = Notebook()
    package.names["__name__"] = "tinytorch.tensor"
    package.cell("def inverse(x):\n    return 1 / x\n")
    book.names["inverse"] = package.names["inverse"]
    assert line_of(book.failure("check('inverse(0)', want=1)")) == "return 1 / x"
    book.cell("def use(x):\n    return inverse(x)\n")
    assert line_of(book.failure("check('use(0)', want=1)")) == "return inverse(x)"
    assert line_of(book.failure("check('use(1)', want=2.0)")) == "return inverse(x)"


def test_a_method_set_from_another_cell(book: Notebook) -> None:
    book.cell("def double(self):\n    return Tensor(self.data + 2)\nTensor.double = double\ndel double\n")
    failed = book.failure("check('Tensor([1, 2]).double()', want=[2, 4])")
    assert failed.where == (failed.where and failed.where.filename, 2, "return Tensor(self.data + 2)")


def test_the_traced_rerun_restores_the_trace_function_and_prints_nothing(
    book: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    book.cell("import sys\ndef loud():\n    print('once')\n    print('once', file=sys.stderr)\n    return 3\n")

    def mine(frame: Any, event: str, value: Any) -> None:
        return None

    before = sys.gettrace()
    try:
        sys.settrace(mine)
        failed = book.failure("check('loud()', want=4)")
        after = sys.gettrace()
    finally:
        sys.settrace(before)
    assert after is mine and line_of(failed) == "return 3"
    assert capsys.readouterr() == ("once\n", "once\n")
    book.failure("check('loud()', want=4)")
    assert sys.gettrace() is before


def test_a_rerun_that_ends_otherwise_does_no_harm(book: Notebook) -> None:
    book.cell("""
        import sys
        runs = []
        def odd():
            runs.append(1)
            if len(runs) > 1:
                sys.exit()
            return 3
    """)
    assert book.failure("check('odd()', want=4)").got == "3"
    assert len(book.names["runs"]) == 2


def test_the_rerun_gets_fresh_copies(book: Notebook) -> None:
    book.cell("def spoil(a):\n    if a[0] == 0:\n        return -5\n    a[:] = 0\n    return 1\n")
    assert line_of(book.failure("check('spoil(a)', want=2, a=np.ones(3))")) == "return 1"


def test_a_slow_run_is_not_repeated(book: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SLOW", -1.0)
    book.cell("runs = []\ndef slow():\n    runs.append(1)\n    return 3\n")
    assert book.failure("check('slow()', want=4)").where is None
    assert len(book.names["runs"]) == 1


def test_the_expression_leaves_no_name_behind(book: Notebook) -> None:
    book.cell("check('(left := 3) + a', want=4, a=1)")
    assert not {"left", "a"} & set(book.names)


# The block of text.


def test_the_block(book: Notebook) -> None:
    book.cell(ADD)
    failed = book.failure("check('Tensor([1, 2, 3]) + Tensor([10, 20, 30])', want=[11, 22, 33], says='Add them')")
    assert str(failed) == textwrap.dedent("""\
        Tensor([1, 2, 3]) + Tensor([10, 20, 30])
        want  [11 22 33]
        got   [ -9 -18 -27]
        yours return a - b

        Add them""")
    assert failed.says == "Add them"


def test_rows_stand_under_rows(book: Notebook) -> None:
    text = str(book.failure("check('Tensor([[1, 2], [3, 4]])', want=[[1, 3], [2, 4]])"))
    assert text.split("\n")[1:5] == ["want  [[1 3]", "       [2 4]]", "got   [[1 2]", "       [3 4]]"]


def test_a_long_array_is_summed_up(book: Notebook) -> None:
    book.cell("want = np.full((20, 30), 0.25)\na = want.copy(); a[3, 17:20] = 0.5\n")
    failed = book.failure("check('Tensor(a)', want=want)")
    assert failed.want == "array of shape (20, 30)"
    assert failed.got == "array of shape (20, 30)\nfirst differs at [3, 17]: want 0.25, got 0.5; 3 of 600 differ"


def test_an_array_of_many_rows_or_numbers_is_summed_up(book: Notebook) -> None:
    for shape in [(5, 2), (61,), (2, 3, 4)]:
        failed = book.failure(f"check('np.zeros({shape}, int)', want=np.ones({shape}, int))")
        zeros = ", ".join("0" * len(shape))
        difference = f"first differs at [{zeros}]: want 1, got 0; {np.prod(shape)} of {np.prod(shape)} differ"
        assert (failed.want, failed.got) == (f"array of shape {shape}", f"array of shape {shape}\n{difference}")


def test_numbers_that_print_alike_are_told_apart(book: Notebook) -> None:
    failed = book.failure("check('np.array([1.0, 2.0000000002])', want=[1.0, 2.0], dtype='float64', rtol=0, atol=0)")
    assert failed.got == "[1. 2.]\nfirst differs at [1]: want 2.0, got 2.0000000002; 1 of 2 differ"


def values(seed: int) -> Any:
    """Something of any size and kind."""
    rng = random.Random(seed)
    shape = [rng.randint(0, 9) for _ in range(rng.randint(0, 4))]
    array = np.random.Generator(np.random.Philox(key=seed)).normal(size=shape) * 10.0 ** rng.randint(-9, 9)
    others = ["word " * 90, 10**5000, b"\0" * 99, (array,) * 3]
    return rng.choice([array, array.tolist(), {"a": [array, "x" * 200]}, *others])


@pytest.mark.parametrize("seed", range(60))
def test_every_block_is_small(book: Notebook, seed: int) -> None:
    book.names |= {"one": (seed, values(seed)), "other": (-1, values(seed + 1000))}
    says, error = "a long word of advice " * 20, "no end of explaining\n" * 30
    spaces = " + 0" * 200
    book.cell(f"def fail():\n    raise ValueError({error!r})\n")
    for call in [f"check('one', want=other, says={says!r})", f"check('fail(){spaces}', want=other, says={says!r})"]:
        lines = str(book.failure(call)).split("\n")
        assert len(lines) <= 15 and max(map(len, lines)) <= 70


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_cell("from tito.checks import check\\ndef add(a, b):\\n    return a - b\\n")
shell.run_cell("%timeit -n1 -r1 -q 1\\ndef sub(a, b):\\n    return a + b\\n")
shell.run_cell("check('add(1, 2)', want=3)")
shell.run_cell("check('sub(1, 2)', want=-1)")
"""


def test_jupyter_shows_the_block_and_nothing_else(tmp_path: Path) -> None:
    surroundings = {**os.environ, "IPYTHONDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", SHELL]
    run = subprocess.run(command, env=surroundings, capture_output=True, encoding="utf-8", timeout=60)
    blocks = "add(1, 2)\nwant  3\ngot   -1\nyours return a - b\nsub(1, 2)\nwant  -1\ngot   3\nyours return a + b\n"
    assert (run.stdout, run.returncode) == (blocks, 0), run.stderr


# Drawing.


def test_draws_repeat_by_key() -> None:
    one, other = Draw(), Draw()
    assert np.array_equal(one.normal((2, 3)), other.normal((2, 3)))
    assert not np.array_equal(one.normal(3), Draw().normal(3))
    one.reset("matmul")
    first = one.integers(-5, 5, (4, 5))
    one.reset("add")
    assert not np.array_equal(first, one.integers(-5, 5, (4, 5)))
    one.reset("matmul")
    assert np.array_equal(first, one.integers(-5, 5, (4, 5)))


def test_what_draws_are_like() -> None:
    drawn = Draw()
    ints, floats = drawn.integers(-5, 5, 1000), drawn.uniform(2.0, 3.0, (10, 100))
    assert [str(array.dtype) for array in (ints, floats, drawn.normal(2))] == ["int64", "float64", "float64"]
    assert (ints.min(), ints.max(), floats.shape) == (-5, 4, (10, 100))
    assert 2.0 <= floats.min() < floats.max() < 3.0
    order = drawn.permutation(50)
    assert order.dtype == np.int64 and sorted(order) == list(range(50)) != list(order)


def test_draws_do_not_touch_the_global_generator() -> None:
    np.random.seed(3)
    first = np.random.random()
    np.random.seed(3)
    Draw().normal(10)
    assert np.random.random() == first


# The seam: another bench may answer, and gets source text and plain values only.


class Elsewhere:
    """A stand-in for a sealed grader: it runs the source in a namespace that the check never sees."""

    def __init__(self, student: dict[str, Any]) -> None:
        self.student = student
        self.sources: list[str] = []

    def evaluate(self, question: Question) -> Answer:
        self.sources.append(question.source)
        if isinstance(question, ProbeCall):
            exec(question.source, self.student)
            name, names = question.function.__name__, {"args": question.args, **question.names}
            given = ", ".join(["*args", *(f"{key}={key}" for key in question.names)])
            return Local(self.student).evaluate(Expression(f"{name}({given})", names))
        return Local(self.student).evaluate(question)

    def locate(self, question: Question, got: Any) -> None:
        return None


def test_another_bench_can_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    student, trusted = Notebook(), Notebook()
    student.cell(TENSOR)
    bench = Elsewhere(student.names)
    as_bench: Bench = bench
    monkeypatch.setattr(engine, "open_bench", lambda namespace: as_bench)
    trusted.cell("""
        @probe
        def doubled(n, by=2):
            return Tensor([n * by])
        check("Tensor([1])", want=[1])
        check(doubled(2, by=3), want=[6])
        raises("Tensor()", TypeError, match="data")
    """)
    assert trusted.failure("check('Tensor([1])', want=[2])").got == "[1]"
    assert "Tensor" not in trusted.names
    assert bench.sources[1] == "def doubled(n, by=2):\n    return Tensor([n * by])\n"


def test_the_engine_needs_numpy_and_the_standard_library_only() -> None:
    sources = sorted(Path(engine.__file__).parent.glob("*.py"))
    trees = [ast.parse(source.read_text(encoding="utf-8")) for source in sources]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    ours = {module for module in modules if module.startswith("tito.checks")}
    assert len(ours) >= 7
    assert {module.split(".")[0] for module in modules - ours} <= set(sys.stdlib_module_names) | {"numpy"}
