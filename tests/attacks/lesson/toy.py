# ruff: noqa
# %% [markdown]
# # 01 Toy
#
# Three small exercises to attack. Worth 5 points each: `double`, `length`, `Stack`.

# %% imports
from tito.notebook import check, draw, patch, probe, raises
import numpy as np


# %% exercise="double"
def double(x):
    """Twice every number; ValueError for text. `(n,) -> (n,)`"""
    ### BEGIN SOLUTION
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
    ### END SOLUTION


# %% check="double" points=2
def test_unit_double():
    check("double(x)", want=[2.0, 6.0], x=np.float32([1, 3]))
    raises("double('a')", ValueError, match="text")


test_unit_double()


# %% check="double drawn" points=3 hidden=true
# On drawn numbers.
### BEGIN HIDDEN TESTS
def test_unit_double_drawn():
    mark = "HIDDEN-MARK-7f3a"
    x = draw.normal((5,))
    check("double(x)", want=2 * x, dtype="float64", x=x, says=mark)


test_unit_double_drawn()
### END HIDDEN TESTS


# %% exercise="length"
def length(x):
    """The Euclidean length. `(n,) -> float`"""
    ### BEGIN SOLUTION
    return float(np.sqrt(np.sum(x * x)))
    ### END SOLUTION


# %% check="length" points=2
def test_unit_length():
    check("length(x)", want=5.0, x=np.array([3.0, 4.0]))


test_unit_length()


# %% check="length drawn" points=3 hidden=true
# On drawn numbers.
### BEGIN HIDDEN TESTS
def test_unit_length_drawn():
    x = draw.normal((7,))
    check("length(x)", want=math.sqrt(float(np.sum(x * x))), x=x)


test_unit_length_drawn()
### END HIDDEN TESTS


# %% exercise="Stack"
class Stack:
    """Last in, first out."""

    def __init__(self):
        ### BEGIN SOLUTION
        self.items = []
        ### END SOLUTION

    def push(self, item):
        ### BEGIN SOLUTION
        self.items.append(item)
        ### END SOLUTION

    def pop(self):
        ### BEGIN SOLUTION
        return self.items.pop()
        ### END SOLUTION


# %% check="Stack" points=2
@probe
def popped(items):
    stack = Stack()
    for item in items:
        stack.push(item)
    return [stack.pop() for _ in items]


def test_unit_stack():
    check(popped([1, 2, 3]), want=[3, 2, 1])


test_unit_stack()


# %% check="Stack drawn" points=3 hidden=true
# On drawn numbers; two stacks are apart.
### BEGIN HIDDEN TESTS
@probe
def popped(items):
    one, other = Stack(), Stack()
    for item in items:
        one.push(item)
        other.push(-item)
    return [one.pop() for _ in items], np.allclose(other.pop(), -items[-1])


def test_unit_stack_drawn():
    items = draw.normal((4,)).tolist()
    check(popped(items), want=(items[::-1], True))


test_unit_stack_drawn()
### END HIDDEN TESTS
