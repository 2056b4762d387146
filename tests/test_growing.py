"""The network of the elective e1, as its solutions and its supplied files make it: growing, resuming, reading."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tito.course import Course
from tito.dev.export import reference

sys.path.insert(0, str(reference(Course.find())))

from tinytorch import (
    GMDHClassifier,
    GMDHConfig,
    GMDHNetwork,
    MSELoss,
    Tensor,
    fit_head,
    gradcheck,
    growing,
    load_npz,
    save_npz,
    to_module,
)
from tinytorch.checkpoint import read_checkpoint, write_checkpoint
from tinytorch.determinism import exact_threads
from tinytorch.growing import GrowthRule, expand, fit_candidates, prune, regularity, select
from tinytorch.grown_module import Step, real_terms
from tinytorch.grown_open import statistics

KINDS = {"linear": 3, "linear_cov": 4, "quadratic": 6, "cubic": 8}
SMALL = GMDHConfig(kinds=("linear_cov", "quadratic"), keep=5, max_layers=4)

Rows = tuple[np.ndarray, np.ndarray]
State = dict[str, np.ndarray]


def friedman(seed: int, rows: int = 400) -> list[Rows]:
    """Train, dev and test rows of the problem that the lesson shows."""
    rng = np.random.default_rng(seed)
    x = rng.random((rows, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    ends = [rows // 2, rows * 3 // 4]
    return list(zip(np.split(x, ends), np.split(y + rng.normal(size=rows), ends)))


def flowers(seed: int, classes: int = 3, rows: int = 150) -> list[tuple[np.ndarray, np.ndarray]]:
    """Train, dev and test rows of clouds that overlap a little, class by class in turn."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    x = rng.normal(size=(rows, 4)) + 2.0 * np.stack([y == 1, y == 2, y * 0.5, y * 0], axis=1)
    ends = [rows // 2, rows * 3 // 4]
    return list(zip(np.split(x, ends), np.split(y, ends)))


@pytest.fixture(scope="module")
def data() -> list[Rows]:
    return friedman(0)


@pytest.fixture(scope="module")
def grown(data: list[Rows]) -> Any:
    return GMDHNetwork(SMALL).fit(data[0], data[1], data[2])


def same(one: State, other: State) -> bool:
    """Whether two states are equal to the bit."""
    return one.keys() == other.keys() and all(one[name].tobytes() == other[name].tobytes() for name in one)


def explained(net: Any, rows: Rows) -> float:
    return 1 - float(regularity(net.predict(rows[0])[None], rows[1])[0])


# The student's functions


@pytest.mark.parametrize("kind, count", KINDS.items())
def test_columns_of_each_family(kind: str, count: int) -> None:
    assert expand(np.array([2.0]), np.array([3.0]), kind).tolist() == [[1, 2, 3, 6, 4, 9, 8, 27][:count]]


@pytest.mark.parametrize("kind", KINDS)
def test_planted_coefficients_are_found(kind: str) -> None:
    rng = np.random.default_rng(1)
    planted = rng.normal(size=KINDS[kind])
    terms = expand(*rng.normal(size=(2, 4, 200)), kind)
    found = fit_candidates(terms[:1], terms[0] @ planted, 0.0)
    assert np.abs(found[0] - planted).max() < 1e-8


def test_fits_are_those_of_lstsq() -> None:
    rng = np.random.default_rng(2)
    terms, y = expand(*rng.normal(size=(2, 45, 100)), "quadratic"), rng.normal(size=100)
    want = np.array([np.linalg.lstsq(each, y, rcond=None)[0] for each in terms])
    assert np.abs(fit_candidates(terms, y, 0.0) - want).max() < 1e-8


def test_the_mean_has_error_1_and_the_target_0() -> None:
    y = np.array([1.0, 5.0, 2.0])
    assert regularity(np.stack([np.full(3, y.mean()), y]), y).tolist() == [1.0, 0.0]


def test_equal_errors_stay_in_order() -> None:
    assert select(np.array([0.5] * 100), 60).tolist() == list(range(60))


@pytest.mark.parametrize(
    "errors, settings, stops_after, kept",
    [
        ([0.5, 0.4, 0.4, 0.4], (2, 0.01, 1e-6), 3, 1),
        ([0.5, 0.4, 0.4], (1, 0.01, 1e-6), 2, 1),
        ([9.0, 8.0], (1, 0.01, 1e-6), None, 1),
        ([1.0, 0.96, 0.92, 0.88], (3, 0.1, 1e-6), None, 3),
        ([1e-12, 1e-13, 1e-14], (2, 0.01, 1e-6), 2, 0),
        ([np.inf, 2.0], (1, 0.01, 1e-6), None, 1),
    ],
)
def test_the_rule_on_scripted_errors(
    errors: list[float], settings: tuple[int, float, float], stops_after: int | None, kept: int
) -> None:
    rule = GrowthRule(*settings)
    stops = [rule.update(layer, error) for layer, error in enumerate(errors)]
    assert (stops.index(True) if True in stops else None, rule.kept) == (stops_after, kept)


# Growing


def test_xor_needs_one_unit_and_finds_the_product() -> None:
    x, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0.0, 1, 1, 0])
    net = GMDHNetwork(GMDHConfig(kinds=("linear_cov",))).fit((x, y), (x, y))
    net.prune()
    assert [len(layer) for layer in net.layers] == [1]
    assert np.round(net.predict(x)).tolist() == y.tolist()
    assert np.abs(net.layers[0].coefficients[0, :4] - [0, 0, 0, -1]).max() < 1e-5
    assert "y = clip(0.5 - 0.5*x0_*x1_, " in net.formula()


def test_parity_stays_at_one_half() -> None:
    bits = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])
    odd = bits.sum(axis=1) % 2
    for shortcut in (True, False):
        net = GMDHNetwork(GMDHConfig(shortcut=shortcut)).fit((bits, odd), (bits, odd))
        assert net.predict(bits).tolist() == [0.5] * 8 and len(net.layers) == 1


def test_layers_improve_and_the_features_that_matter_are_found(data: list[Rows]) -> None:
    net = GMDHNetwork(GMDHConfig(keep=8)).fit(data[0], data[1])
    assert net.layer_errors[3] < 0.5 * net.layer_errors[0]
    assert {0, 1, 2, 3, 4} <= set(net.active_features())
    assert explained(net, data[2]) > 0.85


def test_the_same_rows_give_the_same_bits(data: list[Rows], grown: Any) -> None:
    again = GMDHNetwork(SMALL).fit(*data)
    assert same(again.state_dict(), grown.state_dict())


def in_pieces(size: int) -> Callable[..., Iterator[Any]]:
    """A `map` that cuts the pairs anew, and sends the family through a pickle as another process would get it."""

    def pieces(family: Any, parts: Sequence[np.ndarray]) -> Iterator[Any]:
        pairs, sent = np.concatenate(parts), pickle.loads(pickle.dumps(family))
        return (sent(pairs[start : start + size]) for start in range(0, len(pairs), size))

    return pieces


def drive(net: Any, stop: int | None = None, map: Callable[..., Any] = map) -> int:
    """Go on until the net has finished, or for so many steps, a family or a closed layer each; how many were taken."""
    steps = 0
    while not net.finished and steps != stop:
        pending = net.pending()
        if pending:
            net.fit_family(pending[0], map)
        else:
            net.close_layer()
        steps += 1
    return steps


@pytest.mark.parametrize("size", [1, 7, 44, 1000])
def test_the_bits_do_not_depend_on_the_split(data: list[Rows], grown: Any, size: int) -> None:
    net = GMDHNetwork(SMALL)
    net.begin(*data)
    drive(net, map=in_pieces(size))
    assert same(net.state_dict(), grown.state_dict())


def test_the_bits_do_not_depend_on_the_threads(data: list[Rows], grown: Any) -> None:
    for threads in (1, 2):
        with exact_threads(threads):
            assert same(GMDHNetwork(SMALL).fit(*data).state_dict(), grown.state_dict())


def test_coefficients_come_from_train_alone(data: list[Rows]) -> None:
    moved = data[1][0] * 3 + 1, data[1][1] ** 2
    everything = GMDHConfig(keep=45, max_layers=1)
    tables = [GMDHNetwork(everything).fit(data[0], dev).layers[0] for dev in (data[1], moved)]
    orders = [np.lexsort(table.pairs.T) for table in tables]
    for name in ("pairs", "coefficients", "center", "scale", "low", "high"):
        one, other = (getattr(table, name)[order] for table, order in zip(tables, orders))
        assert one.tobytes() == other.tobytes(), name


@pytest.mark.parametrize("margin", [0.0, 0.1])
def test_rows_far_outside_stay_within_the_range(data: list[Rows], margin: float) -> None:
    net = GMDHNetwork(GMDHConfig(margin=margin, max_layers=3)).fit(*data[:2])
    inside = net.predict(data[0][0])
    room = margin * (inside.max() - inside.min()) + 1e-9
    for factor in (10.0, 1e6, 1e200):
        outside = net.predict(data[2][0] * factor)
        assert inside.min() - room <= outside.min() and outside.max() <= inside.max() + room


def test_without_limits_a_far_row_explodes(data: list[Rows]) -> None:
    net = GMDHNetwork(GMDHConfig(clamp=False)).fit(*data[:2])
    assert np.abs(net.predict(data[2][0] * 10)).max() > 1e6


def test_a_row_has_its_bits_alone_as_among_others(data: list[Rows], grown: Any) -> None:
    x = data[2][0]
    alone = np.concatenate([grown.predict(x[i : i + 1]) for i in range(len(x))])
    assert alone.tobytes() == grown.predict(x).tobytes()
    assert grown.predict(x[:0]).shape == (0,)


def test_val_is_measured_and_chooses_nothing(data: list[Rows], grown: Any) -> None:
    without = GMDHNetwork(SMALL).fit(*data[:2])
    assert without.layer_errors == grown.layer_errors and without.val_errors == []
    last = len(grown.layers) - 1
    assert grown.val_errors[last] == pytest.approx(1 - explained(grown, data[2]), abs=1e-12)


def test_without_shortcut_later_layers_read_units_only(data: list[Rows]) -> None:
    net = GMDHNetwork(GMDHConfig(shortcut=False, max_layers=3, eps=0.0)).fit(*data[:2])
    assert len(net.layers) > 1 and all(layer.pairs.min() >= 10 for layer in net.layers[1:])


@pytest.mark.parametrize("criterion", ["bias", "combined"])
def test_other_criteria_grow_too(data: list[Rows], criterion: str) -> None:
    net = GMDHNetwork(GMDHConfig(criterion=criterion)).fit(*data[:2])
    assert explained(net, data[2]) > 0.2 and net.layer_errors[-1] >= 0


def test_bias_alone_does_not_look_at_dev(data: list[Rows]) -> None:
    config = GMDHConfig(criterion="bias", max_layers=3)
    nets = [GMDHNetwork(config).fit(data[0], dev) for dev in (data[1], (data[1][0] + 1, -data[1][1]))]
    assert same(nets[0].state_dict(), nets[1].state_dict())


def test_constant_columns_are_left_out(data: list[Rows]) -> None:
    nearly = [0.3, 0.1 + 0.2]  # the last bit differs
    padded = [(np.concatenate([np.resize(nearly, (len(x), 1)), x], axis=1), y) for x, y in data]
    plain, more = (GMDHNetwork(SMALL).fit(*rows[:2]) for rows in (data, padded))
    assert more.predict(padded[2][0]).tobytes() == plain.predict(data[2][0]).tobytes()
    assert 0 not in more.active_features()


def test_what_varies_by_rounding_alone_does_not_vary() -> None:
    noise = np.resize([0.0, 1.0], 8)
    columns = np.stack([1e-13 * noise + 1, 1e-9 * noise + 1, 1e-13 * noise, 1e-10 * noise, 1e-6 * noise], axis=1)
    assert statistics(columns, 3)[2].tolist() == [False, True, True, False, True]


def test_equal_columns_are_survived(data: list[Rows]) -> None:
    twice = [(np.concatenate([x, x], axis=1), y) for x, y in data]
    assert explained(GMDHNetwork(SMALL).fit(*twice[:2]), twice[2]) > 0.8


def test_tensors_lists_and_columns_of_targets_are_taken(data: list[Rows]) -> None:
    (x, y), dev, _ = data
    x32, y32 = x.astype(np.float32), y.astype(np.float32)
    given = [(Tensor(x32), Tensor(y32)), (x32.tolist(), y32[:, None].tolist()), (x32, y32)]
    states = [GMDHNetwork(SMALL).fit(train, dev).state_dict() for train in given]
    assert same(states[0], states[2]) and same(states[1], states[2])


def test_weights_count_like_repeated_rows(data: list[Rows]) -> None:
    (x, y), (dx, dy), _ = data
    times, dev_times = np.arange(len(x)) % 3, np.arange(len(dx)) % 2 + 1
    config = GMDHConfig(max_layers=1, keep=45)
    weighed = GMDHNetwork(config)
    weighed.begin((x, y, times), (dx, dy, dev_times))
    weighed.fit_family("quadratic")
    repeated = GMDHNetwork(config)
    repeated.begin(
        (np.repeat(x, times, axis=0), np.repeat(y, times)), (np.repeat(dx, dev_times, axis=0), np.repeat(dy, dev_times))
    )
    repeated.fit_family("quadratic")
    errors = [net.opened.best.errors[np.lexsort(net.opened.best.pairs.T)] for net in (weighed, repeated)]
    assert np.allclose(errors[0], errors[1], rtol=1e-4)
    equal = GMDHNetwork(SMALL).fit((x, y, np.full(len(x), 7.0)), (dx, dy))
    assert np.allclose(equal.predict(x), GMDHNetwork(SMALL).fit((x, y), (dx, dy)).predict(x), rtol=1e-6)


# Reading


def test_pruning_changes_no_bit_and_nothing_the_second_time(data: list[Rows], grown: Any) -> None:
    net, x = copy.copy(grown), data[2][0]
    before = net.predict(x)
    net.prune()
    sizes, state = [len(layer) for layer in net.layers], net.state_dict()
    assert net.predict(x).tobytes() == before.tobytes() and sizes[-1] == 1 and sum(sizes) < 5 * len(grown.layers)
    net.prune()
    assert same(net.state_dict(), state)


def test_layers_below_the_ones_needed_are_dropped() -> None:
    wiring = [np.array([[0, 1]]), np.array([[0, 2]]), np.array([[1, 2], [3, 0]])]
    assert [(units.tolist(), pairs.tolist()) for units, pairs in prune(wiring, 3)] == [([0], [[1, 2]])]
    assert [pairs.tolist() for _, pairs in prune(wiring, 3, (1,))] == [[[0, 2]], [[3, 0]]]


NAMES = ["sepal length (cm)", "x", "class", "y", "z0_1", "2nd", "b-c", "clip", "i", "j"]


@pytest.mark.parametrize("names", [None, NAMES])
@pytest.mark.parametrize("head", [False, True])
@pytest.mark.parametrize("clamp", [False, True])
def test_the_formula_says_what_predict_says(data: list[Rows], names: list[str] | None, head: bool, clamp: bool) -> None:
    from tinytorch.grown_formula import identifiers

    net = GMDHNetwork(GMDHConfig(kinds=("linear", "cubic"), keep=3, max_layers=3, clamp=clamp)).fit(*data[:2])
    if head:
        fit_head(net, data[0])
    x = data[2][0]
    scope: dict[str, Any] = {"clip": np.clip, **dict(zip(identifiers(names, 10), x.T))}
    exec(net.formula(names, digits=17), scope)
    assert np.abs(scope["y"] - net.predict(x)).max() < 1e-9
    rough = dict(scope)
    exec(net.formula(names), rough)
    assert np.abs(rough["y"] - net.predict(x)).max() < 0.05


@pytest.mark.parametrize("names, said", [(["a"] * 9, "needs 10 names"), (["a", "a", *"bcdefghi"], "called a")])
def test_names_that_do_not_fit(grown: Any, names: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        grown.formula(names)


def test_the_plot_is_a_file(grown: Any, tmp_path: Path) -> None:
    for name in ("net.png", "net.svg"):
        grown.plot(tmp_path / name, NAMES)
        assert (tmp_path / name).stat().st_size > 1000


# Stopping and going on


def test_a_run_that_was_stopped_anywhere_goes_on_bit_for_bit(data: list[Rows], grown: Any, tmp_path: Path) -> None:
    steps = drive(begun(data))
    for stop in range(1, steps):
        net = begun(data)
        drive(net, stop)
        save_npz(tmp_path / "state.npz", net.state_dict())
        write_checkpoint(tmp_path / "state.ckpt", {"net": net.state_dict()})
        for state in (load_npz(tmp_path / "state.npz"), read_checkpoint(tmp_path / "state.ckpt")["net"]):
            other = begun(data)
            other.load_state_dict(state)
            assert (other.where, other.pending()) == (net.where, net.pending())
            drive(other)
            assert same(other.state_dict(), grown.state_dict()), stop


def begun(data: list[Rows]) -> Any:
    net = GMDHNetwork(SMALL)
    net.begin(*data)
    return net


def test_a_state_without_rows_is_there_to_predict_with(data: list[Rows], grown: Any) -> None:
    net, x = GMDHNetwork(SMALL), data[2][0]
    net.load_state_dict(grown.state_dict())
    assert net.finished and net.predict(x).tobytes() == grown.predict(x).tobytes()
    half = begun(data)
    drive(half, 4)
    net.load_state_dict(half.state_dict())
    assert not net.finished and net.predict(x).tobytes() == half.predict(x).tobytes()
    with pytest.raises(RuntimeError, match="no layer is open"):
        net.fit_family("quadratic")


def test_what_was_loaded_is_a_copy(data: list[Rows], grown: Any) -> None:
    state, net = grown.state_dict(), GMDHNetwork(SMALL)
    net.load_state_dict(state)
    before = net.predict(data[2][0])
    for array in state.values():
        array[...] = 0
    assert net.predict(data[2][0]).tobytes() == before.tobytes()


BROKEN: dict[str, Callable[[State], Any]] = {
    "it is a list": lambda s: [s],
    "target is missing": lambda s: {k: v for k, v in s.items() if k != "target"},
    "layers.0.low is missing": lambda s: {k: v for k, v in s.items() if k != "layers.0.low"},
    "belongs to no network": lambda s: {**s, "layers.0.extra": np.zeros(2)},
    "a layer is missing": lambda s: {k: v for k, v in s.items() if not k.startswith("layers.1.")},
    "coefficients must be an array of float64": lambda s: {**s, "layers.0.coefficients": np.zeros((5, 8), np.float32)},
    "coefficients has shape": lambda s: {**s, "layers.0.coefficients": np.zeros((5, 6))},
    "pairs must be numbers from 0 to 9": lambda s: {**s, "layers.0.pairs": s["layers.0.pairs"] + 10},
    "pairs must be numbers from 0 to 14": lambda s: {**s, "layers.1.pairs": s["layers.1.pairs"] - 20},
    "families must be": lambda s: {**s, "layers.0.families": s["layers.0.families"] + 4},
    "center holds NaN": lambda s: {**s, "layers.0.center": s["layers.0.center"] * np.nan},
    "a deviation that is not above 0": lambda s: {**s, "layers.0.scale": s["layers.0.scale"] * 0},
    "a range that ends": lambda s: {**s, "layers.0.low": s["layers.0.high"] + 1},
    "target must be": lambda s: {**s, "target": np.array([0.0, -1.0])},
    "head has 3 numbers": lambda s: {**s, "head": np.zeros(3)},
    "one error for each layer": lambda s: {**s, "layer_errors": np.zeros(1), "finished": np.array(False)},
    "has no unit": lambda s: {**s, **{k: v[:0] for k, v in s.items() if k.startswith("layers.2.")}},
}


@pytest.mark.parametrize("said", BROKEN)
def test_a_state_that_is_none_is_refused_and_changes_nothing(grown: Any, data: list[Rows], said: str) -> None:
    net = copy.copy(grown)
    with pytest.raises(ValueError, match=said):
        net.load_state_dict(BROKEN[said](grown.state_dict()))
    assert same(net.state_dict(), grown.state_dict())


def test_a_state_of_other_rows_or_settings_is_refused(data: list[Rows]) -> None:
    net = begun(data)
    drive(net, 1)
    state = net.state_dict()
    others = friedman(1)
    for config, rows, said in (
        (SMALL, others, "other training rows"),
        (GMDHConfig(kinds=("cubic",)), data, "it has tried linear_cov, and the config says cubic"),
    ):
        other = GMDHNetwork(config)
        other.begin(*rows)
        with pytest.raises(ValueError, match=said):
            other.load_state_dict(state)
        assert other.pending() == config.kinds


# Refusals


X, Y = np.random.default_rng(0).normal(size=(20, 3)), np.random.default_rng(1).normal(size=20)


def spoilt(value: float) -> np.ndarray:
    x = X.copy()
    x[3, 2] = value
    return x


@pytest.mark.parametrize(
    "train, dev, error, said",
    [
        (X, (X, Y), TypeError, r"train must be a pair \(x, y\)"),
        ((X[:3], Y[:3]), (X, Y), ValueError, "train has 3 rows, and needs 4 or more"),
        ((X, Y), (X[:1], Y[:1]), ValueError, "dev has 1 rows, and needs 2"),
        ((X[:, :1], Y), (X, Y), ValueError, "train x has 1 features, and a unit needs two"),
        ((X, Y), (X[:, :2], Y), ValueError, "dev x has 2 features, and the network was grown on 3"),
        ((X[:, 0], Y), (X, Y), ValueError, "rows of features"),
        ((X, Y[:9]), (X, Y), ValueError, "train y must have one number for each of 20 rows"),
        ((spoilt(np.nan), Y), (X, Y), ValueError, "train x has NaN or infinity in row 3, column 2"),
        ((X, Y), (spoilt(np.inf), Y), ValueError, "dev x has NaN or infinity in row 3, column 2"),
        ((X, np.where(np.arange(20) == 4, np.nan, Y)), (X, Y), ValueError, "train y has NaN or infinity in row 4;"),
        ((X, np.full(20, 7.0)), (X, Y), ValueError, "train y is 7 in every row"),
        ((X * [1, 0, 0], Y), (X, Y), ValueError, "fewer than two features that vary"),
        ((X.astype(str), Y), (X, Y), TypeError, "array of numbers"),
        (([[1, 2], [3]], Y), (X, Y), TypeError, "unlike lengths"),
        ((X, Y, -np.ones(20)), (X, Y), ValueError, "train weights must be 0 or more"),
        ((X, Y, np.zeros(20)), (X, Y), ValueError, "not all 0"),
        ((X, Y, np.ones(3)), (X, Y), ValueError, "train weights must have one number"),
    ],
)
def test_rows_that_cannot_be_meant(train: Any, dev: Any, error: type[Exception], said: str) -> None:
    net = GMDHNetwork().fit((X, Y), (X, Y))
    before = net.state_dict()
    with pytest.raises(error, match=said):
        net.fit(train, dev)
    assert same(net.state_dict(), before)


@pytest.mark.parametrize(
    "settings, error, said",
    [
        ({"kinds": ("quartic",)}, ValueError, "linear, linear_cov, quadratic, cubic"),
        ({"kinds": ()}, ValueError, "kinds must be"),
        ({"kinds": ("linear", "linear")}, ValueError, "each once"),
        ({"keep": 0}, ValueError, "keep must be 1 or more"),
        ({"keep": 1.5}, TypeError, "keep must be an integer"),
        ({"max_layers": 0}, ValueError, "max_layers"),
        ({"width": True}, TypeError, "width"),
        ({"ridge": 0}, ValueError, "ridge must be above 0"),
        ({"eps": -1}, ValueError, "eps"),
        ({"alpha": 2}, ValueError, "alpha must be between 0 and 1"),
        ({"criterion": "luck"}, ValueError, "regularity, bias, combined"),
        ({"shortcut": False, "keep": 1}, ValueError, "needs two units"),
        ({"clamp": 1}, TypeError, "clamp must be True or False"),
        ({"margin": float("nan")}, ValueError, "margin"),
    ],
)
def test_settings_that_cannot_be_meant(settings: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        GMDHConfig(**settings)


def test_steps_out_of_order(data: list[Rows], grown: Any) -> None:
    net = GMDHNetwork(SMALL)
    for step in (lambda: net.predict(X), net.prune, net.formula, net.active_features):
        with pytest.raises(RuntimeError, match="nothing is grown yet"):
            step()
    for step in (net.close_layer, lambda: net.fit_family("linear")):
        with pytest.raises(RuntimeError, match="no layer is open"):
            step()
    net.begin(*data)
    for step, said in (
        (net.close_layer, "layer 0 has not tried linear_cov, quadratic"),
        (lambda: net.fit_family("cubic"), "layer 0 waits for linear_cov, quadratic, not for cubic"),
        (net.prune, "layer 0 is open"),
        (lambda: fit_head(net, data[0]), "layer 0 is open"),
        (lambda: to_module(net), "not finished"),
    ):
        with pytest.raises(RuntimeError, match=said):
            step()
    with pytest.raises(TypeError, match="needs a GMDHConfig"):
        GMDHNetwork({"keep": 8})
    with pytest.raises(ValueError, match="9 features, and the network was grown on 10"):
        grown.predict(data[0][0][:, 1:])


# The head, and the Module


def test_a_head_reads_all_units_and_may_be_pruned(data: list[Rows], grown: Any) -> None:
    net, x = copy.copy(grown), data[2][0]
    fit_head(net, data[0])
    assert net.head is not None and len(net.head[0]) == 5
    assert regularity(net.predict(data[0][0])[None], data[0][1]) <= regularity(
        grown.predict(data[0][0])[None], data[0][1]
    )
    before = net.predict(x)
    net.prune()
    other = GMDHNetwork(SMALL)
    other.load_state_dict(net.state_dict())
    assert net.predict(x).tobytes() == before.tobytes() == other.predict(x).tobytes()


@pytest.mark.parametrize("head", [False, True])
def test_the_module_says_what_the_network_says(data: list[Rows], grown: Any, head: bool) -> None:
    net, x = copy.copy(grown), data[2][0]
    if head:
        fit_head(net, data[0])
    module = to_module(net)
    assert np.abs(module(Tensor(x, "float64")).data - net.predict(x)).max() < 1e-10
    assert module.network().predict(x).tobytes() == net.predict(x).tobytes()
    kept = sum(1 for layer in net.pruned_layers() for _ in range(len(layer)))
    assert kept * 4 <= sum(p.numel() for p in module.parameters()) <= kept * 6 + 6


@pytest.mark.parametrize("kinds", [("linear",), ("linear_cov", "quadratic"), ("cubic", "linear")])
def test_slopes_of_a_layer(data: list[Rows], kinds: tuple[str, ...]) -> None:
    layer = GMDHNetwork(GMDHConfig(kinds=kinds, keep=6, max_layers=1, margin=0.2)).fit(*data[:2]).layers[0]
    coefficients = layer.coefficients[real_terms(layer)]
    for rows in (data[0][0][:5], 4 * data[0][0][:5]):  # the second lot is clamped
        assert gradcheck(lambda x, c: Step(layer).apply(x, c), [rows, coefficients])


def test_training_the_module_improves_the_network(data: list[Rows], grown: Any) -> None:
    from tinytorch import Adam

    x, y = (Tensor(part, "float64") for part in data[0])
    module = to_module(grown)
    optimizer, loss = Adam(module.parameters(), lr=0.01), MSELoss()
    before = loss(module(x), y).item()
    for _ in range(50):
        optimizer.zero_grad()
        loss(module(x), y).backward()
        optimizer.step()
    assert loss(module(x), y).item() < 0.95 * before
    assert np.abs(module.network().predict(data[2][0]) - module(Tensor(data[2][0], "float64")).data).max() < 1e-9
    assert "y = " in module.network().formula()


# Classes


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier(classes: int, tmp_path: Path) -> None:
    train, dev, (x, y) = flowers(0, classes)
    net = GMDHClassifier(SMALL).fit(train, dev)
    said = net.predict(x)
    assert said.shape == ((len(x), 3) if classes == 3 else (len(x),))
    assert (net.classify(x) == y).mean() > 0.75
    chances = np.exp(said) if classes == 3 else 1 / (1 + np.exp(-said))
    if classes == 3:
        assert np.abs(chances.sum(axis=1) - 1).max() < 1e-12
    on_train = net.predict(train[0])
    shares = np.exp(on_train).mean(axis=0)[1] if classes == 3 else (1 / (1 + np.exp(-on_train))).mean()
    assert shares == pytest.approx((train[1] == 1).mean(), abs=1e-5)
    save_npz(tmp_path / "net.npz", net.state_dict())
    other = GMDHClassifier(SMALL)
    other.load_state_dict(load_npz(tmp_path / "net.npz"))
    other.prune()
    assert other.predict(x).tobytes() == said.tobytes() and other.active_features() == net.active_features()
    module = to_module(net)
    scores = module(Tensor(x, "float64")).data
    want = said if classes == 2 else said - said[:, :1] + scores[:, :1]
    assert np.abs(scores - want).max() < 1e-9
    assert module.network().predict(x).tobytes() == said.tobytes()


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_that_was_stopped_anywhere_goes_on_bit_for_bit(classes: int) -> None:
    config, rows = GMDHConfig(keep=3, max_layers=2), flowers(1, classes)
    whole = GMDHClassifier(config).fit(*rows)

    def begun() -> Any:
        net = GMDHClassifier(config)
        net.begin(*rows)
        return net

    for stop in range(1, drive(begun())):
        net = begun()
        drive(net, stop)
        other = begun()
        other.load_state_dict(net.state_dict())
        assert other.where == net.where
        drive(other)
        assert same(other.state_dict(), whole.state_dict()), stop


def test_weights_of_rows_move_the_read_out() -> None:
    train, dev, (x, _) = flowers(2, 2)
    heavy = (*train, np.where(train[1] == 1, 10.0, 1.0))
    plain, weighed = GMDHClassifier(SMALL).fit(train, dev), GMDHClassifier(SMALL).fit(heavy, dev)
    assert weighed.classify(x).mean() > plain.classify(x).mean()


@pytest.mark.parametrize(
    "train, dev, said",
    [
        (np.array([0, 1, 3, 3, 1, 0]), np.arange(6) % 2, "train has no row of class 2"),
        (np.arange(6) % 3, np.arange(6) % 2, "dev has no row of class 2; split the rows class by class"),
        (np.arange(6) % 2, np.arange(6) % 3, "dev has class 2, and the largest of train is 1"),
        (np.arange(6) % 2 + 0.5, np.arange(6) % 2, "class numbers 0, 1, 2, ..., got 0.5"),
        (np.arange(6) % 2 - 1, np.arange(6) % 2, "class numbers"),
    ],
)
def test_classes_that_cannot_be_meant(train: np.ndarray, dev: np.ndarray, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GMDHClassifier().fit((X[:6], train), (X[:6], dev))


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda s: None, "a dict of arrays"),
        (lambda s: {**s, "classes": np.array(1)}, "classes must be"),
        (lambda s: {**s, "classes": np.array(10**9)}, "read_out must be|a network is missing"),
        (lambda s: {**s, "read_out": np.zeros((2, 2))}, "read_out must be"),
        (lambda s: {**s, "read_out": s["read_out"] * np.nan}, "NaN"),
        (lambda s: {**s, "networks.3.target": np.zeros(2)}, "belongs to no classifier"),
        (lambda s: {k: v for k, v in s.items() if k != "networks.1.target"}, "target is missing"),
        (lambda s: {**s, "networks.1.features": np.array(9)}, "not of one classifier"),
    ],
)
def test_a_state_that_is_no_classifiers_is_refused(change: Callable[[State], Any], said: str) -> None:
    net = GMDHClassifier(GMDHConfig(max_layers=1)).fit(*flowers(3)[:2])
    before = net.state_dict()
    with pytest.raises(ValueError, match=said):
        net.load_state_dict(change(net.state_dict()))
    assert same(net.state_dict(), before)


def test_the_lessons_names_are_offered() -> None:
    assert {"expand", "fit_candidates", "regularity", "select", "GrowthRule", "prune", "bias", "GMDHNetwork"} <= set(
        growing.__all__
    )
