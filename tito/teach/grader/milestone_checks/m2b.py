# ruff: noqa
# mypy: ignore-errors
# What milestone m2b must come to: networks grow beside the student's package on rows that are drawn here; the targets of
# test rows stay here.

# %% check="XOR" points=1
@probe
def grown_on_xor(points):
    from tinytorch import GMDHConfig, GMDHNetwork

    two = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    net = GMDHNetwork(GMDHConfig(kinds=("linear_cov",), clamp=False)).fit(
        (two, two.sum(axis=1) % 2), (two, two.sum(axis=1) % 2)
    )
    net.prune()
    return sum(len(layer) for layer in net.layers), net.predict(points)


def test_xor():
    points = draw.normal((20, 2))
    units, said = grown_on_xor(points)
    check(units, want=1, says="One unit is enough.")
    wanted = points.sum(axis=1) - 2 * points.prod(axis=1)
    check(said, want=wanted, dtype="float64", rtol=1e-3, atol=1e-3, says="XOR is x + y - 2 x y.")


test_xor()


# %% check="Friedman" points=1
@probe
def said(train, dev, new):
    from m2b_gmdh_1971 import NUMBERS
    from tinytorch import GMDHNetwork

    return GMDHNetwork(NUMBERS).fit(train, dev).predict(new)


def test_friedman():
    explained = []
    for _ in range(10):
        x = draw.uniform(0.0, 1.0, (800, 10))
        y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
        y = y + draw.normal((800,))
        new = said((x[:400], y[:400]), (x[400:600], y[400:600]), x[600:])
        explained.append(1 - float(np.mean((new - y[600:]) ** 2)) / float(np.var(y[600:])))
    mean = float(np.mean(explained))
    check(mean >= 0.88, want=True, says=f"{mean:.3f} of the spread is explained, as a mean of ten; 0.88 is wanted.")


test_friedman()


# %% check="far out" points=1
@probe
def said(train, dev, new):
    from m2b_gmdh_1971 import NUMBERS
    from tinytorch import GMDHNetwork

    return GMDHNetwork(NUMBERS).fit(train, dev).predict(new)


def test_far_out():
    x = draw.uniform(-1.0, 1.0, (400, 6))
    y = 1 + 2 * x[:, 0] * x[:, 1] - x[:, 2] ** 2 + 1.5 * x[:, 0] * x[:, 1] * x[:, 2] + 0.5 * x[:, 3]
    y = y + 0.1 * draw.normal((400,))
    far = x[300:] * np.where(np.arange(100) % 10 == 0, 20.0, 1.0)[:, None]
    new, spread = said((x[:200], y[:200]), (x[200:300], y[200:300]), far), np.ptp(y)
    beyond = max(float(new.max() - y.max()), float(y.min() - new.min())) / float(spread)
    check(
        beyond <= 1,
        want=True,
        says=f"No prediction lies beyond what was seen by more than its range; got {beyond:.3g} ranges.",
    )
    near = np.arange(100) % 10 != 0
    right = 1 - float(np.mean((new - y[300:])[near] ** 2)) / float(np.var(y[300:][near]))
    check(right >= 0.9, want=True, says=f"{right:.3f} of the spread of the other rows is explained; 0.9 is wanted.")


test_far_out()


# %% check="digits" points=1
@probe
def classes(train, dev, new):
    from m2b_gmdh_1971 import DIGITS
    from tinytorch import GMDHClassifier

    return GMDHClassifier(DIGITS).fit(train, dev).classify(new)


def test_digits():
    pixels, labels = digits()
    order = draw.permutation(len(labels))
    train, dev, new = order[:900], order[900:1350], order[1350:]
    found = classes((pixels[train], labels[train]), (pixels[dev], labels[dev]), pixels[new])
    share = float(np.mean(found == labels[new]))
    check(share >= 0.88, want=True, says=f"{share:.1%} of the digits are right; 88 % are wanted.")


test_digits()
