"""Known wrong answers to lesson e1: each a small change to a solution, and what it looks like."""

from tito.dev.mistakes import Mistake

MISTAKES = [
    Mistake("expand", "axis=-1", "axis=0", "stacks the terms in front, not behind", "expand"),
    Mistake("expand", "np.ones_like(u), u, v, u * v", "u, v, u * v, np.ones_like(u)", "puts the constant last", "expand"),
    Mistake("expand", "np.ones_like(u), u, v", "np.zeros_like(u), u, v", "takes 0 for the constant term", "expand"),
    Mistake("expand", "u * v, u * u, v * v", "u * u, v * v, u * v", "puts the squares before the product", "expand"),
    Mistake("expand", "u * v, u * u", "u + v, u * u", "adds the inputs where the product belongs", "expand"),
    Mistake("expand", "u * u * u, v * v * v", "u * u * v, u * v * v", "takes mixed terms for the cubes", "expand"),
    Mistake("expand", "terms[: TERMS[kind]]", "terms", "gives all eight terms to every family", "expand"),
    Mistake(
        "expand",
        "    if kind not in TERMS:\n        raise ValueError",
        "    if False:\n        raise ValueError",
        "does not refuse an unknown kind in its own words",
        "expand",
    ),
    Mistake("fit_candidates", "ridge * len(y)", "ridge", "forgets that ridge counts once a row", "fit_candidates"),
    Mistake(
        "fit_candidates", "ridge * len(y)", "ridge * len(terms)", "counts ridge once a candidate", "fit_candidates"
    ),
    Mistake(
        "fit_candidates", " + ridge * len(y)", " - ridge * len(y)", "takes ridge away instead of adding it", "fit_candidates"
    ),
    Mistake(
        "fit_candidates",
        "np.eye(terms.shape[2])",
        "np.ones((terms.shape[2], terms.shape[2]))",
        "adds ridge everywhere, not on the diagonal alone",
        "fit_candidates",
    ),
    Mistake(
        "fit_candidates",
        "gram = turned @ terms + ridge * len(y) * np.eye(terms.shape[2])",
        "gram = (turned @ terms).sum(axis=0) + ridge * len(y) * np.eye(terms.shape[2])",
        "adds the candidates' matrices up",
        "fit_candidates",
    ),
    Mistake(
        "fit_candidates", "[:, :, None])[:, :, 0]", "[:, :, None])", "leaves the coefficients as columns", "fit_candidates"
    ),
    Mistake(
        "fit_candidates",
        "    return np.linalg.solve(gram, (turned @ y)[:, :, None])[:, :, 0]",
        "    return turned @ y / np.diagonal(gram, axis1=1, axis2=2)",
        "fits each term by itself",
        "fit_candidates",
    ),
    Mistake(
        "fit_candidates", "(turned @ y)[:, :, None]", "(turned @ (y - y.mean()))[:, :, None]", "centres y", "fit_candidates"
    ),
    Mistake("regularity", ".sum(axis=1)", ".sum()", "adds all candidates up", "regularity"),
    Mistake("regularity", ".sum(axis=1)", ".sum(axis=1) / len(y)", "divides by the rows above only", "regularity"),
    Mistake("regularity", "y - y.mean()", "y", "divides by the squares of y, not by those around its mean", "regularity"),
    Mistake("regularity", "(predictions - y) ** 2", "np.abs(predictions - y)", "does not square the errors", "regularity"),
    Mistake("regularity", "error, np.inf)", "error, 0.0)", "makes what is not finite the best of all", "regularity"),
    Mistake(
        "regularity",
        "np.where(np.isfinite(error), error, np.inf)",
        "error",
        "leaves NaN as it is",
        "regularity",
    ),
    Mistake(
        "regularity",
        "np.where(np.isfinite(error), error, np.inf)",
        "1 - np.where(np.isfinite(error), error, np.inf)",
        "gives what is explained, not the error",
        "regularity",
    ),
    Mistake("select", "np.argsort(errors,", "np.argsort(-errors,", "keeps the highest errors", "select"),
    Mistake("select", 'kind="stable"', 'kind="quicksort"', "sorts equal errors in any order", "select"),
    Mistake("select", "order[np.isfinite(errors[order])][:keep]", "order[:keep]", "keeps what is not finite", "select"),
    Mistake(
        "select",
        "order[np.isfinite(errors[order])][:keep]",
        "np.sort(order[np.isfinite(errors[order])][:keep])",
        "brings the kept ones back into the order of their numbers",
        "select",
    ),
    Mistake(
        "select", "[np.isfinite(errors[order])][:keep]", "[np.isfinite(errors[order])]", "keeps them all", "select"
    ),
    Mistake(
        "select",
        "order[np.isfinite(errors[order])][:keep]",
        "errors[order[np.isfinite(errors[order])][:keep]]",
        "gives the errors, not their numbers",
        "select",
    ),
    Mistake("select", "np.isfinite(errors[order])", "np.isfinite(errors)", "looks up the wrong errors", "select"),
    Mistake(
        "select",
        "np.isfinite(errors[order])",
        "~np.isnan(errors[order])",
        "keeps infinite errors",
        "select",
    ),
    Mistake("rule", "layer == 0 or ", "", "lets the first layer fail like any other", "rule drawn"),
    Mistake(
        "rule", "self.accepted - error >=", "self.best - error >=", "measures from the best, so small steps are lost", "rule"
    ),
    Mistake("rule", "max(self.min_delta,", "min(self.min_delta,", "asks for the smaller of the two margins", "rule"),
    Mistake(
        "rule", "max(self.min_delta, self.eps * self.best)", "self.eps * self.best", "forgets min_delta", "rule"
    ),
    Mistake(
        "rule",
        "self.kept, self.accepted, self.waited = layer, error, 0",
        "self.kept, self.accepted = layer, error",
        "counts on after an improvement",
        "rule",
    ),
    Mistake(
        "rule",
        "self.kept, self.accepted, self.waited = layer, error, 0",
        "self.kept, self.waited = layer, 0",
        "forgets which error was accepted",
        "rule",
    ),
    Mistake("rule", "self.waited >= self.width", "self.waited > self.width", "waits one layer too long", "rule"),
    Mistake("rule", "self.waited >= self.width", "self.waited < self.width", "says whether to go on", "rule"),
    Mistake("rule", "    self.waited += 1\n", "    self.waited = 1\n", "never counts beyond one", "rule"),
    Mistake(
        "rule",
        "        self.best = min(self.best, error)\n",
        "        self.best = error\n",
        "takes the latest error for the best",
        "rule drawn",
    ),
    Mistake("prune", "features + np.searchsorted(below, read)", "read", "leaves the columns as they were", "prune"),
    Mistake(
        "prune",
        "features + np.searchsorted(below, read)",
        "np.searchsorted(below, read)",
        "forgets that features stand in front",
        "prune",
    ),
    Mistake("prune", "units = below - features", "units = below", "takes columns for units", "prune"),
    Mistake("prune", "reversed(wiring)", "wiring", "walks from the first layer to the last", "prune"),
    Mistake("prune", "kept.insert(0, (", "kept.append((", "gives the last layer first", "prune"),
    Mistake(
        "prune",
        "        if not len(units):\n            break\n",
        "",
        "keeps layers that nothing reads",
        "prune",
    ),
    Mistake("prune", "np.unique(read[read >= features])", "np.unique(read)", "takes features for units below", "prune"),
    Mistake("prune", "np.array(wanted)", "np.array([0])", "always starts from unit 0", "prune"),
    Mistake("prune", "np.unique(read[read >= features])", "read[read >= features]", "lists a unit twice that is read twice", "prune drawn"),
    Mistake("bias", "terms[:, first::2]", "terms[:, ::2]", "fits both halves to the even rows' terms", "bias"),
    Mistake("bias", "y[first::2]", "y[::2]", "fits both halves to the even rows' targets", "bias"),
    Mistake(
        "bias",
        "even, odd = (fit_candidates(terms[:, first::2], y[first::2], ridge) for first in (0, 1))",
        "half = len(y) // 2\n    even, odd = (fit_candidates(terms[:, rows], y[rows], ridge) for rows in (slice(half), slice(half, None)))",
        "cuts the rows in the middle",
        "bias",
    ),
    Mistake("bias", "respond(terms, even)", "y", "measures one fit against the targets", "bias"),
    Mistake(
        "bias",
        "respond(terms, even) - respond(terms, odd)",
        "even - odd",
        "compares coefficients, not what they say",
        "bias",
    ),
    Mistake(
        "bias",
        "respond(terms, even) - respond(terms, odd)",
        "(respond(terms, even) - respond(terms, odd))[:, ::2]",
        "looks at the even rows only",
        "bias",
    ),
    Mistake("bias", "y - y.mean()", "y", "divides by the squares of y, not by those around its mean", "bias"),
    Mistake("bias", "y[first::2], ridge)", "y[first::2], 0.0)", "leaves ridge out", "bias"),
    Mistake("bias", "np.where(np.isfinite(error), error, np.inf)", "error", "leaves NaN as it is", "bias"),
]
