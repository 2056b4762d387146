"""Lies about its class by __class__, __instancecheck__ and a metaclass."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
class Meta(type):
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
    def __eq__(cls, other): return True
    def __hash__(cls): return hash(np.ndarray)
    def mro(cls): return [cls, object]
class Liar(metaclass=Meta):
    __class__ = np.ndarray
    def __eq__(self, other): return True
def double(x):
    return Liar()
""",
}
