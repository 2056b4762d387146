# ruff: noqa
# mypy: ignore-errors
# What milestone m2 must come to: weights and outputs cross, and are judged by the truth tables here.

# %% check="one layer" points=1
@probe
def found(name):
    from m2_xor_1969 import ANSWERS, INPUTS, answers_of, one_layer, search

    counts, best = search(ANSWERS[name], 0)
    return counts, best, answers_of(one_layer(best), np.array(INPUTS))


def test_one_layer():
    inputs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    for name, wanted, most in (("AND", [0, 0, 0, 1], 4), ("OR", [0, 1, 1, 1], 4), ("XOR", [0, 1, 1, 0], 3)):
        counts, best, outputs = found(name)
        check(counts.sum(), want=100_000, says="Every setting is counted.")
        check(np.flatnonzero(counts).max(), want=most, says=f"{name}: one layer gets {most} of 4 at best.")
        fires = inputs @ best[:2] + best[2] > 0
        check(int(np.sum(fires == np.array(wanted))), want=most, says=f"{name}: the best setting gets as many.")
        check((outputs > 0).tolist(), want=fires.tolist(), says="Your Linear answers as its weights say.")


test_one_layer()


# %% check="two layers" points=1
@probe
def outputs():
    from m2_xor_1969 import INPUTS, answers_of, two_layers_by_hand

    return answers_of(two_layers_by_hand(), np.array(INPUTS)) > 0


def test_two_layers():
    check(outputs(), want=[False, True, True, False], says="Two layers, set by hand, compute XOR.")


test_two_layers()
