"""The settings of a network that grows, and the families of its units. Supplied with lesson e1: trace it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tinytorch.settings import integer, setting

__all__ = ["GMDHConfig"]

TERMS = {"linear": 3, "linear_cov": 4, "quadratic": 6, "cubic": 8}  # family -> terms of a unit, see `expand`
CRITERIA = ("regularity", "bias", "combined")


@dataclass(frozen=True)
class GMDHConfig:
    """How a network grows.

    `kinds` are the families that every layer tries, `keep` is how many units a layer keeps, `max_layers` where
    growth ends at the latest. It ends earlier after `width` layers without an improvement of at least `min_delta`
    and of the share `eps` of the lowest error; the layers behind the last improvement are cut off. `ridge` times
    the rows is added to the diagonal of every Gram matrix. With `shortcut` all layers see the features again. With
    `clamp` no unit leaves the range that it had on the training rows, widened at both ends by the share `margin` of
    it. `criterion` scores a unit: "regularity" by its error on dev, "bias" by how far two halves of train disagree,
    "combined" by `alpha` times the first and 1 - alpha times the second.

    Raises TypeError or ValueError, in one sentence, for a setting that cannot be meant.
    """

    kinds: tuple[str, ...] = ("quadratic",)
    keep: int = 8
    max_layers: int = 8
    width: int = 1
    eps: float = 0.01
    min_delta: float = 1e-6
    ridge: float = 1e-6
    shortcut: bool = True
    clamp: bool = True
    margin: float = 0.1
    criterion: str = "regularity"
    alpha: float = 0.5

    def __post_init__(self) -> None:
        self._set("kinds", _kinds(self.kinds))
        for name in ("keep", "max_layers", "width"):
            self._set(name, integer(f"GMDHConfig: {name}", getattr(self, name), least=1))
        for name in ("eps", "min_delta", "ridge", "alpha", "margin"):
            self._set(name, setting(f"GMDHConfig: {name}", getattr(self, name)))
        for name in ("shortcut", "clamp"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"GMDHConfig: {name} must be True or False, got {getattr(self, name)!r}")
        self._refuse_what_cannot_be_meant()

    def _refuse_what_cannot_be_meant(self) -> None:
        if not self.ridge > 0:
            raise ValueError("GMDHConfig: ridge must be above 0, for two equal inputs have no one solution; try 1e-9")
        if self.alpha > 1:
            raise ValueError(f"GMDHConfig: alpha must be between 0 and 1, got {self.alpha}")
        if self.criterion not in CRITERIA:
            raise ValueError(f"GMDHConfig: criterion must be one of {', '.join(CRITERIA)}, got {self.criterion!r}")
        if not self.shortcut and self.keep < 2:
            raise ValueError("GMDHConfig: without shortcut a layer needs two units below it; set keep to 2 or more")

    @property
    def external(self) -> float:
        """How much the error on dev counts in the criterion, 0 to 1; the rest is bias."""
        return {"regularity": 1.0, "bias": 0.0}.get(self.criterion, self.alpha)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


def _kinds(kinds: Any) -> tuple[str, ...]:
    """The families, each known and named once."""
    found = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    unknown = [kind for kind in found if kind not in TERMS]
    if unknown or not found or len(set(found)) < len(found):
        raise ValueError(f"GMDHConfig: kinds must be some of {', '.join(TERMS)}, each once, got {kinds!r}")
    return found
