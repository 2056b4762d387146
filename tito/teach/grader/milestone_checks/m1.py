# ruff: noqa
# mypy: ignore-errors
# What milestone m1 must come to, as checks: the program's own functions train beside the student's package, on what is
# sent to them; labels of what is held out stay here.

# %% check="cards" points=1
@probe
def learned(cards, answers):
    from m1_perceptron_1958 import learn
    from tinytorch import Tensor

    weights, bias, history = learn(Tensor(cards), Tensor(answers))
    return weights.data, bias.data, history


def test_cards():
    def drawn(places):
        cards = np.zeros((len(places), 20, 20), np.float32)
        rows, columns = places // 14, places % 14
        for card, row, column in zip(cards, rows, columns + 3 * (columns >= 7)):
            card[row : row + 4, column : column + 4] = 1
        return cards.reshape(len(cards), -1), (columns >= 7).astype(np.float32)

    ended, right = 0, []
    for _ in range(10):
        places = draw.permutation(17 * 14)
        new, wanted = drawn(places[50 + draw.integers(0, 17 * 14 - 50, 200)])
        weights, bias, history = learned(*drawn(places[:50]))
        ended += history[-1] == 0
        right.append(float(np.mean((new @ weights + bias > 0) == (wanted > 0))))
    share = float(np.mean(right))
    check(ended >= 9, want=True, says=f"{ended} of 10 runs end without a mistake; at least 9 are wanted.")
    check(share >= 0.9, want=True, says=f"{share:.1%} of new cards are right; at least 90 % are wanted.")


test_cards()


# %% check="digits" points=1
@probe
def learned(pixels, answers):
    from m1_perceptron_1958 import learn
    from tinytorch import Tensor

    weights, bias, history = learn(Tensor(pixels), Tensor(answers))
    return weights.data, bias.data


def test_digits():
    pixels, labels = digits()
    rows, right = np.flatnonzero((labels == 3) | (labels == 8)), []
    for _ in range(10):
        order = rows[draw.permutation(len(rows))]
        train, held_out = order[len(order) // 5 :], order[: len(order) // 5]
        weights, bias = learned(pixels[train], (labels[train] == 8).astype(np.float32))
        right.append(float(np.mean((pixels[held_out] @ weights + bias > 0) == (labels[held_out] == 8))))
    share = float(np.mean(right))
    check(share >= 0.97, want=True, says=f"{share:.1%} of held-out digits are right; at least 97 % are wanted.")


test_digits()
