"""1958: a machine that learns from its mistakes.

Frank Rosenblatt showed a computer cards with a square on the left or on the right, told it only when it was wrong, and
after 50 cards it knew left from right. Here is that demonstration on your own Tensor, and then the same rule on
handwriting: is it a 3 or an 8? (Rosenblatt, "The perceptron", Psychological Review 65, 1958.)

Expected: every seed ends without a mistake, after 3 passes or so; about 96 % of new cards and 99 % of new digits right.
"""

from __future__ import annotations

import sys

import numpy as np
from digits import load_digits, stratified_split
from exhibit import ORANGE, Row, canvas, judge, options, percent, report, save, squares
from tinytorch import Generator, Tensor

SEEDS = 10  # runs; each has its own cards, order and split
CARDS, NEW_CARDS = 50, 200  # Rosenblatt's 50 to learn from; 200 that it has not seen, to judge by
SIZE, SQUARE = 20, 4  # a 20x20 retina, a 4x4 square
PASSES = 50  # through the cards at most; it stops at the first pass without a mistake
PAIR = (3, 8)  # alike but for two strokes on the left


def draw_cards(places: np.ndarray) -> tuple[Tensor, Tensor]:
    """Cards `(N, 400)` and answers `(N,)`, 1 for a square in the right half; a place is one of 17 x 14."""
    cards = np.zeros((len(places), SIZE, SIZE), dtype=np.float32)
    rows, columns = places // 14, places % 14
    for card, row, column in zip(cards, rows, columns + 3 * (columns >= 7), strict=True):  # 7, 8, 9: both halves
        card[row : row + SQUARE, column : column + SQUARE] = 1
    return Tensor(cards.reshape(len(cards), -1)), Tensor((columns >= 7).astype(np.float32))


def learn(inputs: Tensor, answers: Tensor) -> tuple[Tensor, Tensor, list[int]]:
    """The error-correction rule. `(N, D), (N,) -> (D,) weights, bias, mistakes in each pass`"""
    weights, bias, history = Tensor(np.zeros(inputs.shape[1])), Tensor(0.0), []
    while len(history) < PASSES and (not history or history[-1] > 0):
        mistakes = 0
        for i in range(len(inputs)):
            fires = (weights * inputs[i]).sum() + bias > 0
            error = answers[i] - fires.astype(np.float32)  # 0 when right; 1 fired too little, -1 too much
            weights = weights + error * inputs[i]  # a mistake moves the weights by the card, a right answer by nothing
            bias = bias + error
            mistakes += int(error.item() != 0)
        history.append(mistakes)
    return weights, bias, history


def share_right(weights: Tensor, bias: Tensor, inputs: Tensor, answers: Tensor) -> float:
    """The fraction of rows that the unit answers rightly."""
    fires = inputs @ weights.reshape(-1, 1) + bias > 0
    return float(np.mean(fires.data[:, 0] == answers.data))


def run_cards(seed: int) -> tuple[Tensor, list[int], float]:
    """Learn from 50 cards, try 200 of the others: weights, mistakes by pass, fraction right."""
    generator = Generator(seed).split("cards")
    places = generator.permutation(17 * 14)
    weights, bias, history = learn(*draw_cards(places[:CARDS]))
    new = CARDS + generator.integers(0, len(places) - CARDS, NEW_CARDS)
    return weights, history, share_right(weights, bias, *draw_cards(places[new]))


def run_digits(pixels: np.ndarray, labels: np.ndarray, seed: int) -> tuple[Tensor, list[int], float]:
    """Learn one digit against the other, try the fifth that was held out: weights, mistakes by pass, fraction right."""
    generator = Generator(seed).split("digits")
    rows = np.flatnonzero(np.isin(labels, PAIR))
    train, held_out = stratified_split(rows[generator.permutation(len(rows))], labels)
    train = train[generator.permutation(len(train))]  # all threes and then all eights would teach it only the last
    inputs, answers = Tensor(pixels), Tensor((labels == PAIR[1]).astype(np.float32))
    weights, bias, history = learn(inputs[train], answers[train])
    return weights, history, share_right(weights, bias, inputs[held_out], answers[held_out])


def picture_cards(runs: list[tuple[Tensor, list[int], float]], seed: int) -> str:
    """A card, the weights that the first seed learned, and the mistakes of every seed."""
    weights, history, _ = runs[0]
    figure, (card, learned, curve) = canvas(3, f"Card and weights: seed {seed}; curves: {SEEDS} seeds from it on.")
    shown, _ = draw_cards(Generator(seed).split("cards").permutation(17 * 14)[:1])
    squares(card, shown.data.reshape(SIZE, SIZE), f"One of the {CARDS} cards")
    title = f"{sum(history)} mistakes made these weights:\norange adds, blue takes away"
    squares(learned, weights.data.reshape(SIZE, SIZE), title)
    longest = max(len(history) for _, history, _ in runs)
    for _, history, _ in runs:
        curve.plot(range(1, len(history) + 1), history, color=ORANGE, marker="o", alpha=0.6)
    left = sum(history[-1] for _, history, _ in runs)
    curve.set(xlabel=f"pass through the {CARDS} cards", ylabel="mistakes in the pass")
    curve.set(title=f"{left} mistakes left after {longest} passes at most", xlim=(0.5, longest + 0.5))
    curve.locator_params(integer=True)
    return save(figure, "m1_cards")


def picture_digits(pixels: np.ndarray, labels: np.ndarray, run: tuple[Tensor, list[int], float], seed: int) -> str:
    """The two digits on average, and what tells them apart."""
    figure, axes = canvas(3, f"Weights of seed {seed}, rounded: ink on orange says {PAIR[1]}, on blue {PAIR[0]}.")
    for axis, digit in zip(axes, PAIR, strict=False):
        ink = (pixels[labels == digit].mean(axis=0) + 1) / 2
        squares(axis, ink.reshape(8, 8), f"The mean of {np.sum(labels == digit)} pictures of a {digit}")
    weights, _, score = run
    squares(axes[2], weights.data.reshape(8, 8), f"64 weights tell {percent(score)} of new ones apart", written=True)
    return save(figure, "m1_digits")


def main() -> int:
    chosen = options(__doc__)
    seeds = range(chosen.seed, chosen.seed + SEEDS)
    pixels, labels = load_digits()
    cards, digits = [run_cards(seed) for seed in seeds], [run_digits(pixels, labels, seed) for seed in seeds]
    ended = sum(history[-1] == 0 for _, history, _ in cards)
    passes = float(np.median([len(history) for _, history, _ in cards]))
    new, held_out = [score for _, _, score in cards], [score for _, _, score in digits]
    rows = [
        judge("cards: runs that end without a mistake", ended, "at least 9 of 10", ended >= 9, f"{ended} of {SEEDS}"),
        Row("cards: passes needed, median", passes, f"{passes:g}"),
        judge("cards: 200 new ones right, mean", np.mean(new), "at least 90 %", np.mean(new) >= 0.90),
        Row("cards: lowest run", min(new), percent(min(new))),
        judge("digits 3 and 8: held out, mean", np.mean(held_out), "at least 97 %", np.mean(held_out) >= 0.97),
        Row("digits: lowest run", min(held_out), percent(min(held_out))),
    ]
    pictures = [picture_cards(cards, chosen.seed), picture_digits(pixels, labels, digits[0], chosen.seed)]
    return report("m1 Perceptron 1958", rows, pictures, chosen)


if __name__ == "__main__":
    sys.exit(main())
