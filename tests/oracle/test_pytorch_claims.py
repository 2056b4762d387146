"""What site/pytorch/05 to 08 say, tried on both: PyTorch 2.13.0 and the reference package."""

from __future__ import annotations

import pickle
import threading
from contextlib import suppress

import numpy as np
import pytest
import tinytorch as tt
import torch
import torch.nn.functional as F
import torch.utils.data as D
from tinytorch import Generator, Parameter, Tensor


def leaf(values, dtype="float64"):
    return Tensor(values, dtype=dtype, requires_grad=True), torch.tensor(
        values, dtype=getattr(torch, dtype), requires_grad=True
    )


class Listed(tt.Dataset):
    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return self.samples[index]


# 05


def test_dataset():
    for wrong in (lambda: tt.Dataset()[0], lambda: len(tt.Dataset()), lambda: len(D.Dataset())):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(NotImplementedError):
        D.Dataset()[0]
    assert D.DataLoader([1, 2, 3]).dataset == [1, 2, 3]
    with pytest.raises(TypeError):
        tt.DataLoader([1, 2, 3])
    assert isinstance(D.TensorDataset(torch.zeros(2)) + D.TensorDataset(torch.zeros(3)), D.ConcatDataset)
    with pytest.raises(TypeError):
        tt.TensorDataset(Tensor([1.0])) + tt.TensorDataset(Tensor([1.0]))


def test_gather():
    ours = Listed([([0.5, 1.5], 3), ([2.5, 3.5], 7)]).gather(np.array([0, 1]))
    assert isinstance(ours, tuple) and ours[0].shape == (2, 2) and ours[0].dtype == "float32"
    theirs = D.default_collate([([0.5, 1.5], 3), ([2.5, 3.5], 7)])
    assert isinstance(theirs, list) and isinstance(theirs[0], list)
    assert theirs[0][0].dtype == torch.float64
    assert isinstance(D.default_collate([{"a": 1}, {"a": 2}]), dict)


def test_tensor_dataset():
    with pytest.raises(AssertionError):
        D.TensorDataset(torch.zeros(2), torch.zeros(3))
    with pytest.raises(ValueError):
        tt.TensorDataset(Tensor([1.0, 2.0]), Tensor([1.0]))
    D.TensorDataset()
    with pytest.raises(ValueError):
        tt.TensorDataset()
    assert not hasattr(D.TensorDataset, "__getitems__") and hasattr(D.Subset, "__getitems__")
    asked = []

    class Watched(D.TensorDataset):
        def __getitem__(self, index):
            asked.append(index)
            return super().__getitem__(index)

    list(D.DataLoader(Watched(torch.arange(5)), batch_size=5))
    assert asked == [0, 1, 2, 3, 4]


def test_loader():
    theirs = D.DataLoader(range(7), batch_size=3)
    assert next(iter(theirs)).tolist() == next(iter(theirs)).tolist()
    ours = tt.DataLoader(tt.TensorDataset(Tensor(np.arange(7))), 3)
    first, second = next(iter(ours))[0], next(iter(ours))[0]
    assert first.data.tolist() == [0, 1, 2] and second.data.tolist() == [3, 4, 5]
    assert not hasattr(theirs, "position") and not hasattr(theirs, "batch_at")
    assert len(theirs) == len(ours) == 3
    assert list(D.DataLoader(range(7), batch_size=8, drop_last=True)) == []
    with pytest.raises(ValueError):
        list(tt.DataLoader(tt.TensorDataset(Tensor(np.arange(7))), 8, drop_last=True))
    for make in (lambda: D.DataLoader(range(7), batch_size=0), lambda: tt.DataLoader(tt.TensorDataset(Tensor([1])), 0)):
        with pytest.raises(ValueError):
            make()


def test_orders():
    generator = torch.Generator().manual_seed(0)
    sampler = D.RandomSampler(range(10), generator=generator)
    first, second = list(sampler), list(sampler)
    generator.manual_seed(0)
    assert list(sampler) == first != second
    ours = tt.DataLoader(tt.TensorDataset(Tensor(np.arange(10))), shuffle=True)
    assert ours.draw_order(1).tolist() == ours.draw_order(1).tolist() != ours.draw_order(0).tolist()
    from tinytorch.samplers import RandomSampler, SequentialSampler

    assert list(D.SequentialSampler(range(4))) == SequentialSampler(4).order(0).tolist()
    over = list(D.RandomSampler(range(4), num_samples=10))
    mine = RandomSampler(4, num_samples=10).order(0).tolist()
    for drawn in (over, mine):
        assert sorted(drawn[:4]) == sorted(drawn[4:8]) == [0, 1, 2, 3] and len(drawn) == 10
    np.testing.assert_array_equal(
        RandomSampler(10, seed=3).order(2),
        tt.DataLoader(tt.TensorDataset(Tensor(np.arange(10))), shuffle=True, seed=3).draw_order(2),
    )


def test_weighted():
    from tinytorch.samplers import WeightedSampler

    theirs = np.bincount(list(D.WeightedRandomSampler([0.0, 1.0, 3.0], 20_000)), minlength=3) / 20_000
    ours = np.bincount(WeightedSampler([0.0, 1.0, 3.0], 20_000).order(0), minlength=3) / 20_000
    np.testing.assert_allclose(theirs, [0, 0.25, 0.75], atol=0.02)
    np.testing.assert_allclose(ours, [0, 0.25, 0.75], atol=0.02)
    assert sorted(D.WeightedRandomSampler([0.0, 2.0], 2, replacement=False)) == [0, 1]  # weight 0 is drawn all the same
    with pytest.raises(ValueError):
        WeightedSampler([0.0, 2.0], 2, replacement=False)


def test_sampled_loader_and_subset():
    from tinytorch.samplers import SampledLoader, SequentialSampler, Subset, stratified_split

    data = tt.TensorDataset(Tensor(np.arange(7)))
    ours, theirs = SampledLoader(data, SequentialSampler(7), 3), D.DataLoader(range(7), sampler=[3, 1], batch_size=2)
    with pytest.raises(AttributeError):
        ours.sampler = SequentialSampler(3)
    with pytest.raises(ValueError):
        theirs.sampler = [1]
    D.DataLoader(range(3), sampler=[9])
    with pytest.raises(ValueError):
        SampledLoader(tt.TensorDataset(Tensor(np.arange(3))), SequentialSampler(9))
    D.Subset(range(3), [5])
    assert D.Subset(range(3), [-1])[0] == 2
    for indices in ([5], [-1]):
        with pytest.raises(ValueError):
            Subset(data, [*indices, 9])
    assert [part.tolist() for (part,) in D.Subset(D.TensorDataset(torch.arange(5)), [3, 1]).__getitems__([0, 1])] == [
        3,
        1,
    ]
    assert Subset(data, [3, 1]).gather(np.array([0, 1]))[0].data.tolist() == [3, 1]
    first, _ = stratified_split(np.repeat([0, 1], [90, 10]), 0.5, Generator(0))
    assert len(first) == 50 and (first >= 90).sum() == 5
    counts = {
        sum(i >= 90 for i in D.random_split(range(100), [0.5, 0.5], torch.Generator().manual_seed(s))[0].indices)
        for s in range(9)
    }
    assert len(counts) > 1


def test_prefetch():
    threads = []

    class Noting(Listed):
        def __getitem__(self, index):
            threads.append(threading.current_thread().name)
            return self.samples[index]

    list(tt.PrefetchLoader(tt.DataLoader(Noting([1, 2, 3]))))
    assert set(threads) == {"prefetch"}
    import inspect

    assert {"num_workers", "prefetch_factor"} <= set(inspect.signature(D.DataLoader).parameters)


# 06


def test_marks_of_a_tensor():
    a, b = leaf([2.0])
    with pytest.raises(RuntimeError):
        (b + 1).requires_grad = False
    (a + 1).requires_grad = False
    for make, kind in (
        (lambda: torch.tensor([1], requires_grad=True), RuntimeError),
        (lambda: Tensor([1], requires_grad=True), TypeError),
    ):
        with pytest.raises(kind):
            make()
    assert b.grad is None and a.grad is None
    (a * 3).sum().backward(), (b * 3).sum().backward()
    assert isinstance(a.grad, np.ndarray) and isinstance(b.grad, torch.Tensor) and a.grad[0] == b.grad.item() == 3
    assert a.operation is None and b.grad_fn is None
    y, z = a + 1, b + 1
    assert y.operation.inputs[0] is a and z.grad_fn.next_functions[0][0].variable is b
    assert isinstance(z.grad_fn, torch.autograd.graph.Node)


def test_retain_and_detach():
    a, b = leaf([2.0])
    for x, twice in ((a, lambda y: y + y), (b, lambda y: y + y)):
        y = x * 3
        assert not y.retains_grad
        y.retain_grad()
        assert y.retains_grad
        z = twice(y).sum()
        z.backward(retain_graph=True), z.backward()
        assert float(y.grad[0]) == 4.0 and float(x.grad[0]) == 12.0
    a.retain_grad(), b.retain_grad()
    assert a.retains_grad and not b.retains_grad
    with pytest.raises(AttributeError):
        b.retains_grad = True
    for plain in (torch.ones(1), Tensor([1.0])):
        with pytest.raises(RuntimeError):
            plain.retain_grad()
    d, e = a.detach(), b.detach()
    assert d.data is a.data and e.data_ptr() == b.data_ptr() and not d.requires_grad and not e.requires_grad


def test_sum_to_size():
    grad = np.arange(6.0).reshape(2, 3)
    for shape in ((3,), (2, 1), ()):
        np.testing.assert_array_equal(
            Tensor(np.zeros(shape)).unbroadcast(grad), torch.tensor(grad).sum_to_size(shape).numpy()
        )
    with pytest.raises(RuntimeError):
        torch.tensor(grad).sum_to_size(4)


def test_backward_of_a_tensor():
    a, b = leaf([2.0, 3.0])
    for y in (a * 2, b * 2):
        with pytest.raises(RuntimeError):
            y.backward()
    for y in (a.sum() * a.sum(), b.sum() * b.sum()):
        y.backward()
        with pytest.raises(RuntimeError):
            y.backward()
    a.sum().backward(gradient=2.0)
    with pytest.raises(TypeError):
        b.sum().backward(gradient=2.0)
    with pytest.raises(ValueError):
        (a * 2).backward(np.ones(3))
    with pytest.raises(RuntimeError):
        (b * 2).backward(torch.ones(3))
    import inspect

    assert {"create_graph", "inputs"} <= set(inspect.signature(torch.Tensor.backward).parameters)
    c, d = leaf([2.0])
    for x in (c, d):
        y = x * x
        x.data[0] = 5.0
        y.backward()
        assert float(x.grad[0]) == 10.0
    y = d * d
    with torch.no_grad():
        d[0] = 7.0
    with pytest.raises(RuntimeError):
        y.backward()


def test_deep_chain():
    (a, b) = leaf([1.0])
    for x in (a, b):
        y = x
        for _ in range(20_000):
            y = y + 1.0
        y.sum().backward()
        assert float(x.grad[0]) == 1.0


SLOPES = {  # ours on one side, PyTorch's on the other, on inputs of these shapes
    "Add": (lambda a, b: a + b, lambda a, b: a + b, [(2, 3), (3,)]),
    "Sub": (lambda a, b: a - b, lambda a, b: a - b, [(2, 3), (2, 1)]),
    "Mul": (lambda a, b: a * b, lambda a, b: a * b, [(2, 3), (3,)]),
    "Div": (lambda a, b: a / b, lambda a, b: a / b, [(2, 3), (3,)]),
    "Neg": (lambda a: -a, lambda a: -a, [(2, 3)]),
    "Pow": (lambda a: a**3, lambda a: a**3, [(2, 3)]),
    "Pow fraction": (lambda a: (a * a) ** -1.5, lambda a: (a * a) ** -1.5, [(2, 3)]),
    "Exp": (lambda a: a.exp(), lambda a: a.exp(), [(2, 3)]),
    "Log": (lambda a: (a * a).log(), lambda a: (a * a).log(), [(2, 3)]),
    "Sqrt": (lambda a: (a * a).sqrt(), lambda a: (a * a).sqrt(), [(2, 3)]),
    "MatMul": (lambda a, b: a @ b, lambda a, b: a @ b, [(2, 3), (3, 4)]),
    "MatMul stack": (lambda a, b: a @ b, lambda a, b: a @ b, [(5, 2, 3), (3, 4)]),
    "Sum": (lambda a: a.sum(dim=1), lambda a: a.sum(dim=1), [(2, 3)]),
    "Mean": (lambda a: a.mean(dim=0, keepdim=True), lambda a: a.mean(dim=0, keepdim=True), [(2, 3)]),
    "Max": (lambda a: a.amax(dim=1), lambda a: a.amax(dim=1), [(2, 3)]),
    "Max values": (lambda a: a.max(dim=1).values, lambda a: a.max(dim=1).values, [(2, 3)]),
    "Reshape": (lambda a: a.reshape(3, 2), lambda a: a.reshape(3, 2), [(2, 3)]),
    "Permute": (lambda a: a.permute(2, 0, 1), lambda a: a.permute(2, 0, 1), [(2, 3, 4)]),
    "GetItem": (lambda a: a[[0, 0, 1]], lambda a: a[[0, 0, 1]], [(2, 3)]),
    "ReLU": (tt.ReLU(), torch.nn.ReLU(), [(2, 3)]),
    "Sigmoid": (tt.Sigmoid(), torch.nn.Sigmoid(), [(2, 3)]),
    "Tanh": (tt.Tanh(), torch.nn.Tanh(), [(2, 3)]),
    "GELU": (tt.GELU(), torch.nn.GELU(approximate="tanh"), [(2, 3)]),
    "Softmax": (tt.Softmax(dim=0), torch.nn.Softmax(dim=0), [(2, 3)]),
    "LogSoftmax": (tt.LogSoftmax(dim=-1), torch.nn.LogSoftmax(dim=-1), [(2, 3)]),
    "Affine": (tt.Affine(), F.linear, [(4, 3), (2, 3), (2,)]),
    "Abs": (lambda a: tt.Abs()(a), torch.abs, [(2, 3)]),
    "LogisticLoss": (
        lambda a: tt.LogisticLoss(np.full((2, 3), 0.25))(a),
        lambda a: F.binary_cross_entropy_with_logits(
            a, torch.full((2, 3), 0.25, dtype=torch.float64), reduction="none"
        ),
        [(2, 3)],
    ),
    "SoftmaxCrossEntropy": (
        lambda a: tt.CrossEntropyLoss(weight=[1, 2, 3])(a, Tensor([2, -100, 0])),
        lambda a: F.cross_entropy(a, torch.tensor([2, -100, 0]), torch.tensor([1.0, 2, 3], dtype=torch.float64)),
        [(3, 3)],
    ),
    "softmax": (tt.softmax, lambda a: F.softmax(a, -1), [(2, 3)]),
    "log_softmax": (tt.log_softmax, lambda a: F.log_softmax(a, -1), [(2, 3)]),
    "layer_norm": (
        lambda a, w, b: tt.layer_norm(a, 4, w, b),
        lambda a, w, b: F.layer_norm(a, (4,), w, b),
        [(2, 3, 4), (4,), (4,)],
    ),
}


@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name):
    mine, his, shapes = SLOPES[name]
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(0.5, 2, shape) * rng.choice([-1, 1], shape) for shape in shapes]
    ours, theirs = (
        [Tensor(a, "float64", requires_grad=True) for a in arrays],
        [torch.tensor(a, requires_grad=True) for a in arrays],
    )
    y, z = mine(*ours), his(*theirs)
    np.testing.assert_allclose(y.data, z.detach().numpy(), rtol=1e-9)
    grad = rng.normal(size=y.shape)
    y.backward(grad), z.backward(torch.tensor(grad))
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.grad, b.grad.numpy(), rtol=1e-7, atol=1e-12)


def test_slopes_at_edges():
    a, b = leaf([3.0, 7.0, 7.0])
    a.amax().backward(), b.amax().backward()
    np.testing.assert_array_equal(a.grad, b.grad)
    np.testing.assert_array_equal(a.grad, [0, 0.5, 0.5])
    a, b = leaf([3.0, 7.0, 7.0])
    a.max(dim=0).values.backward(), b.max(dim=0).values.backward()
    np.testing.assert_array_equal(a.grad, b.grad)
    a, b = leaf([-1.0, 0.0, 2.0])
    tt.ReLU()(a).sum().backward(), F.relu(b).sum().backward()
    np.testing.assert_array_equal(a.grad, b.grad)
    a, b = leaf([0.0, 4.0])
    (tt.Abs()(a) + (a**0)).sum().backward(), (b.abs() + (b**0)).sum().backward()
    np.testing.assert_array_equal(a.grad, b.grad)
    a, b = leaf([0.0, 4.0])
    with np.errstate(divide="ignore"):
        a.sqrt().sum().backward(), b.sqrt().sum().backward()
    np.testing.assert_array_equal(a.grad, b.grad)
    a, b = Tensor([1.5], requires_grad=True), torch.tensor([1.5], requires_grad=True)
    a.astype("float64").sum().backward(), b.double().sum().backward()
    assert a.grad.dtype == "float32" and b.grad.dtype == torch.float32
    assert not a.astype("int64").requires_grad and not b.long().requires_grad
    with pytest.raises(Exception, match="matmul|inner|dim"):
        Tensor([1.0, 2.0]) @ Tensor([1.0, 2.0])
    # the default GELU there is the exact curve
    assert abs(F.gelu(torch.tensor(1.0)).item() - tt.GELU()(Tensor(1.0)).item()) > 1e-5
    x, w, bias = torch.ones(1, 3), torch.ones(2, 3, requires_grad=True), torch.zeros(2, requires_grad=True)
    assert F.linear(x, w, bias).grad_fn.name() == "AddmmBackward0"
    names = {
        "AddBackward0": b + 1, "SubBackward0": b - b, "MulBackward0": b * b, "DivBackward0": b / b, "NegBackward0": -b,
        "PowBackward0": b**2, "ExpBackward0": b.exp(), "LogBackward0": b.log(), "SqrtBackward0": b.sqrt(),
        "SumBackward0": b.sum(), "MeanBackward0": b.mean(), "AmaxBackward0": b.amax(), "ToCopyBackward0": b.double(),
        "ReluBackward0": F.relu(b), "SigmoidBackward0": b.sigmoid(), "TanhBackward0": b.tanh(), "AbsBackward0": b.abs(),
        "GeluBackward0": F.gelu(b), "SoftmaxBackward0": F.softmax(b, 0), "LogSoftmaxBackward0": F.log_softmax(b, 0),
        "PermuteBackward0": w.permute(1, 0), "ViewBackward0": w.view(-1), "IndexBackward0": w[[0]],
        "MmBackward0": x @ w.T,
        "NllLossBackward0": F.cross_entropy(w, torch.tensor([0, 1])),
        "BinaryCrossEntropyWithLogitsBackward0": F.binary_cross_entropy_with_logits(w, w.detach()),
    }  # fmt: skip
    assert {name: tensor.grad_fn.name() for name, tensor in names.items()} == {name: name for name in names}


def test_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad

    class Ours(tt.Operation):
        def forward(self, a):
            return 2 * a

        def backward(self, grad):
            assert isinstance(grad, np.ndarray)
            return 2 * grad

    a, b = leaf([3.0])
    Ours()(a).backward(), Double.apply(b).backward()
    assert a.grad[0] == b.grad.item() == 2
    with pytest.raises(NotImplementedError):
        tt.Operation().backward(np.ones(1))
    with pytest.raises(NotImplementedError):
        torch.autograd.Function.backward(None, torch.ones(1))


def test_modes():
    assert tt.is_grad_enabled() and torch.is_grad_enabled()
    with tt.no_grad(), torch.no_grad():
        assert not tt.is_grad_enabled() and not torch.is_grad_enabled()
        seen = []
        thread = threading.Thread(target=lambda: seen.append((tt.is_grad_enabled(), torch.is_grad_enabled())))
        thread.start(), thread.join()
        assert seen == [(True, True)]
    assert tt.no_grad()(tt.is_grad_enabled)() is torch.no_grad()(torch.is_grad_enabled)() is False
    assert torch.no_grad(torch.is_grad_enabled)() is False
    with pytest.raises(TypeError):
        tt.no_grad(tt.is_grad_enabled)()


@pytest.mark.filterwarnings("ignore:Input #0 requires gradient")  # PyTorch warns, and then raises
def test_gradchecks():
    with pytest.raises(ValueError):
        tt.gradcheck(lambda a: a.detach() * a, [np.array([1.0, 2.0])])
    with pytest.raises(RuntimeError):
        torch.autograd.gradcheck(
            lambda a: a.detach() * a, torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        )
    assert tt.gradcheck(lambda a: a * a, [np.float32([1, 2])])
    with pytest.raises(RuntimeError):
        torch.autograd.gradcheck(lambda a: a * a, torch.tensor([1.0, 2.0], requires_grad=True))


def test_softmaxes_and_norms():
    assert tt.softmax(Tensor([1, 2])).dtype == "float32" and tt.log_softmax(Tensor([1, 2])).dtype == "float32"
    for wrong in (F.softmax, F.log_softmax):
        with pytest.raises(NotImplementedError):
            wrong(torch.tensor([1, 2]), 0)
    with pytest.raises(TypeError):
        torch.softmax(torch.tensor([1.0, 2.0]))
    with pytest.raises(TypeError):
        F.layer_norm(torch.ones(2, 4), 4)
    F.layer_norm(torch.ones(2, 3, 4), (3, 4))
    with pytest.raises(TypeError):
        tt.layer_norm(Tensor(np.ones((2, 3, 4))), (3, 4))
    ours, theirs = tt.LayerNorm(4), torch.nn.LayerNorm(4)
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    np.testing.assert_allclose(ours(Tensor(x)).data, theirs(torch.tensor(x)).detach().numpy(), rtol=1e-4, atol=1e-6)
    assert theirs.extra_repr() == "(4,), eps=1e-05, elementwise_affine=True, bias=True"
    assert ours.extra_repr() == "4, eps=1e-05, elementwise_affine=True"
    assert list(dict(ours.named_parameters())) == list(dict(theirs.named_parameters())) == ["weight", "bias"]
    torch.nn.LayerNorm(4, bias=False), torch.nn.LayerNorm((3, 4))


def test_parameters():
    assert Parameter([1.0]).requires_grad and torch.nn.Parameter(torch.ones(1)).requires_grad
    assert not torch.nn.Parameter(torch.ones(1), requires_grad=False).requires_grad
    with pytest.raises(TypeError):
        Parameter([1.0], requires_grad=False)
    ours, theirs = tt.Linear(2, 2, rng=Generator(0)), torch.nn.Linear(2, 2)
    ours.weight.requires_grad = theirs.weight.requires_grad = False
    ours(Tensor([[1.0, 2.0]])).sum().backward(), theirs(torch.tensor([[1.0, 2.0]])).sum().backward()
    assert ours.weight.grad is None and theirs.weight.grad is None and ours.bias.grad is not None
    ours.zero_grad(), theirs.zero_grad()
    assert ours.bias.grad is None and theirs.bias.grad is None
    theirs.bias.grad = torch.ones(2)
    theirs.zero_grad(set_to_none=False)
    assert theirs.bias.grad.tolist() == [0, 0]
    a, b = leaf([2.0])
    with pytest.raises(RuntimeError):
        a[0] = 5.0
    with pytest.raises(RuntimeError):
        b[0] = 5.0
    (b + 1)[0] = 5.0
    with pytest.raises(RuntimeError):
        (a + 1)[0] = 5.0


# 07


def both(kind, steps=7, **settings):
    rng = np.random.default_rng(1)
    start, grads = rng.normal(size=(3, 4)), rng.normal(size=(steps, 3, 4))
    ours, theirs = Parameter(start, dtype="float64"), torch.nn.Parameter(torch.tensor(start))
    mine, his = (
        getattr(tt, kind)([ours], **settings),
        getattr(torch.optim, kind.removeprefix("Fast"))([theirs], **settings),
    )
    for grad in grads:
        ours.grad, theirs.grad = grad.copy(), torch.tensor(grad)
        mine.step(), his.step()
    np.testing.assert_allclose(ours.data, theirs.detach().numpy(), rtol=1e-10)
    return mine, his, theirs


@pytest.mark.parametrize("fast", ["", "Fast"])
def test_optimizers(fast):
    both(f"{fast}SGD", lr=0.1)
    mine, his, theirs = both(f"{fast}SGD", lr=0.1, momentum=0.9, weight_decay=0.1, nesterov=True)
    np.testing.assert_allclose(
        mine.state[0]["momentum_buffer"], his.state[theirs]["momentum_buffer"].numpy(), rtol=1e-10
    )
    both(f"{fast}Adam", lr=0.1, weight_decay=0.1)
    mine, his, theirs = both(f"{fast}Adam")
    np.testing.assert_allclose(mine.state[0]["exp_avg_sq"], his.state[theirs]["exp_avg_sq"].numpy(), rtol=1e-10)
    assert mine.state[0]["step"] == 7 and isinstance(his.state[theirs]["step"], torch.Tensor)
    both(f"{fast}AdamW")
    both(f"{fast}AdamW", lr=0.1, betas=(0.5, 0.75), eps=1.0, weight_decay=0.5)


def test_optimizer_base():
    parameter = torch.nn.Parameter(torch.ones(2))
    assert torch.optim.SGD([parameter]).param_groups[0]["lr"] == 0.001
    with pytest.raises(TypeError):
        tt.SGD([Parameter([1.0])])
    assert not hasattr(torch.optim.SGD([parameter]), "lr")
    called = []
    torch.optim.SGD([parameter]).step(lambda: called.append(1) or torch.tensor(0.0))
    assert called == [1]
    with pytest.raises(TypeError):
        tt.SGD([Parameter([1.0])], lr=0.1).step(lambda: 0)
    parameter.grad = torch.ones(2)
    torch.optim.SGD([parameter]).zero_grad(set_to_none=False)
    assert parameter.grad.tolist() == [0, 0]
    for make in (
        lambda: torch.optim.SGD([]),
        lambda: tt.SGD([], lr=0.1),
        lambda: tt.SGD([Parameter([1.0])], lr=-1.0),
        lambda: torch.optim.SGD([parameter], lr=-1.0),
    ):
        with pytest.raises(ValueError):
            make()
    for make in (
        lambda: torch.optim.SGD([parameter], nesterov=True),
        lambda: tt.SGD([Parameter([1.0])], lr=0.1, nesterov=True),
    ):
        with pytest.raises(ValueError):
            make()


def test_optimizer_states():
    def theirs(shape):
        parameter = torch.nn.Parameter(torch.ones(shape))
        optimizer = torch.optim.Adam([parameter])
        parameter.grad = torch.ones(shape)
        optimizer.step()
        return optimizer

    def ours(shape):
        parameter = Parameter(np.ones(shape))
        optimizer = tt.Adam([parameter])
        parameter.grad = np.ones(shape, np.float32)
        optimizer.step()
        return optimizer

    assert set(theirs(2).state_dict()) == {"state", "param_groups"}
    assert set(ours(2).state_dict()) == {"settings", "step_count", "state"}
    mine, his = ours(2), theirs(2)
    state = his.state_dict()["state"][0]["exp_avg"]
    assert state.data_ptr() == next(iter(his.state.values()))["exp_avg"].data_ptr()
    assert mine.state_dict()["state"][0]["exp_avg"] is not mine.state[0]["exp_avg"]
    theirs(3).load_state_dict(theirs(2).state_dict())  # of another shape, and taken
    with pytest.raises(ValueError):
        ours(3).load_state_dict(ours(2).state_dict())
    sgd = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))])
    sgd.load_state_dict(theirs(2).state_dict())  # of another kind, and taken
    with pytest.raises(ValueError):
        tt.SGD([Parameter([1.0, 1.0])], lr=0.1).load_state_dict(ours(2).state_dict())


def rates(make, count, lr):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=lr)
    schedule, seen = make(optimizer), []
    for _ in range(count):
        seen.append(optimizer.param_groups[0]["lr"])
        optimizer.step(), schedule.step()
    return seen


def test_schedules():
    S = torch.optim.lr_scheduler

    def ours(schedule, count):
        return [schedule.lr_at(step) for step in range(count)]

    np.testing.assert_allclose(rates(lambda o: S.StepLR(o, 3), 9, 0.8), ours(tt.StepLR(0.8, 3), 9))
    np.testing.assert_allclose(rates(lambda o: S.ConstantLR(o, factor=1.0), 9, 0.8), ours(tt.ConstantLR(0.8), 9))
    assert rates(lambda o: S.ConstantLR(o), 9, 0.9)[0] < 0.4  # a third at first
    cosine = rates(lambda o: S.CosineAnnealingLR(o, 4, eta_min=0.1), 9, 0.8)
    np.testing.assert_allclose(cosine[:5], ours(tt.CosineLR(0.8, 4, 0.1), 5))
    assert np.isclose(cosine[8], 0.8) and tt.CosineLR(0.8, 4, 0.1).lr_at(8) == 0.1
    np.testing.assert_allclose(
        rates(lambda o: S.LinearLR(o, 1 / 4, total_iters=3), 7, 0.8), ours(tt.WarmupLR(0.8, 4), 7)
    )
    warmed = rates(
        lambda o: S.SequentialLR(o, [S.LinearLR(o, 1 / 4, total_iters=3), S.CosineAnnealingLR(o, 6, 0.1)], [4]), 11, 0.8
    )
    np.testing.assert_allclose(warmed, ours(tt.WarmupCosineLR(0.8, 4, 10, 0.1), 11))
    from tinytorch.training import CosineSchedule

    cosine = rates(lambda o: S.CosineAnnealingLR(o, 4, eta_min=2.0), 9, 8.0)
    np.testing.assert_allclose(cosine[:5], [CosineSchedule(8, 2, 4).get_lr(epoch) for epoch in range(5)])
    assert np.isclose(cosine[8], 8.0) and CosineSchedule(8, 2, 4).get_lr(8) == 2.0
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.8)
    schedule = S.StepLR(optimizer, 3)
    assert {"last_epoch", "base_lrs"} <= set(schedule.state_dict())
    assert not hasattr(tt.StepLR(0.8, 3), "state_dict")


# 08


def test_clip():
    def ours(grads, limit):
        parameters = [Parameter(np.zeros(np.shape(grad))) for grad in grads]
        for parameter, grad in zip(parameters, grads):
            parameter.grad = np.float32(grad)
        return tt.clip_grad_norm(parameters, limit), [parameter.grad for parameter in parameters]

    def theirs(grads, limit, **settings):
        parameters = [torch.zeros(np.shape(grad)) for grad in grads]
        for parameter, grad in zip(parameters, grads):
            parameter.grad = torch.tensor(grad, dtype=torch.float32)
        return torch.nn.utils.clip_grad_norm_(parameters, limit, **settings), [
            parameter.grad.numpy() for parameter in parameters
        ]

    grads = [[3.0, 0.0], [[4.0]]]
    mine, his = ours(grads, 2.5), theirs(grads, 2.5)
    assert mine[0] == 5.0 == his[0].item() and isinstance(mine[0], float) and isinstance(his[0], torch.Tensor)
    for a, b in zip(mine[1], his[1]):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    broken = [[1.0, float("nan")]]
    with pytest.raises(ValueError):
        ours(broken, 1.0)
    assert np.isnan(theirs(broken, 1.0)[1][0]).all()
    with pytest.raises(RuntimeError):
        theirs(broken, 1.0, error_if_nonfinite=True)
    # a square that is too large for float32: there the norm is infinite and the gradients become 0
    norm, scaled = theirs([[1e25, 1e25]], 1.0)
    assert np.isinf(norm.item()) and not np.any(scaled[0])
    assert np.isfinite(ours([[1e25, 1e25]], 1.0)[0])


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")  # PyTorch's, of a file that is not its own
def test_files(tmp_path):
    from tinytorch import CheckpointError, load_npz, load_torch_state, read_checkpoint, save_npz, write_checkpoint

    torch.save({"a": torch.ones(2), "n": 3}, tmp_path / "theirs.pt")
    assert torch.load(tmp_path / "theirs.pt")["n"] == 3
    write_checkpoint(tmp_path / "ours.ckpt", {"a": np.ones(2), "n": 3})
    assert read_checkpoint(tmp_path / "ours.ckpt")["n"] == 3
    data = bytearray((tmp_path / "ours.ckpt").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "changed.ckpt").write_bytes(data)
    with pytest.raises(CheckpointError):
        read_checkpoint(tmp_path / "changed.ckpt")
    torch.save({"a": torch.arange(1000.0)}, tmp_path / "large.pt")
    before, changed = torch.load(tmp_path / "large.pt")["a"], bytearray((tmp_path / "large.pt").read_bytes())
    at = changed.find(np.arange(1000, dtype=np.float32).tobytes()) + 2000
    changed[at] ^= 1
    (tmp_path / "large.pt").write_bytes(changed)
    assert not torch.equal(torch.load(tmp_path / "large.pt")["a"], before)  # read without a word

    class Anything:
        pass

    with pytest.raises(TypeError):
        write_checkpoint(tmp_path / "no.ckpt", {"a": Anything()})
    with pytest.raises(pickle.UnpicklingError):
        torch.load(tmp_path / "ours.ckpt")
    torch.save(torch.nn.Linear(2, 2), tmp_path / "model.pt")  # whole objects go in
    with pytest.raises(pickle.UnpicklingError):
        torch.load(tmp_path / "model.pt")  # and come out only when asked for
    assert isinstance(torch.load(tmp_path / "model.pt", weights_only=False), torch.nn.Linear)
    half = torch.nn.Linear(2, 2).half()
    torch.save(half.state_dict(), tmp_path / "half.pt")
    state = load_torch_state(tmp_path / "half.pt")
    assert state["weight"].dtype == np.float32 and torch.load(tmp_path / "half.pt")["weight"].dtype == torch.float16
    save_npz(tmp_path / "w.npz", {"0.weight": np.ones(2)})
    assert load_npz(tmp_path / "w.npz")["0.weight"].tolist() == np.load(tmp_path / "w.npz")["0.weight"].tolist()


def test_module_strict():
    theirs = torch.nn.Linear(2, 2)
    theirs.load_state_dict({"weight": torch.ones(2, 2, dtype=torch.float64), "bias": torch.ones(2)})
    with pytest.raises(RuntimeError):
        theirs.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.ones(2)})
    tt.require_same("model", {"a": np.ones(2)}, {"a": np.ones(2)})
    with pytest.raises(tt.CheckpointError):
        tt.require_same("model", {"a": np.ones(2)}, {"a": np.ones(2, np.float32)})


def test_ctc():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(6, 2, 4))
    targets, frames, labels = np.array([[1, 2], [3, 3]]), [6, 5], [2, 2]
    for reduction in ("none", "sum", "mean"):
        a, b = Tensor(logits, "float64", requires_grad=True), torch.tensor(logits, requires_grad=True)
        la, lb = tt.LogSoftmax(-1)(a), F.log_softmax(b, -1)
        la.retain_grad(), lb.retain_grad()
        mine = tt.CTCLoss(reduction=reduction)(la, targets, frames, labels)
        his = torch.nn.CTCLoss(reduction=reduction)(
            lb, torch.tensor(targets), torch.tensor(frames), torch.tensor(labels)
        )
        np.testing.assert_allclose(mine.data, his.detach().numpy())
        mine.sum().backward(), his.sum().backward()
        np.testing.assert_allclose(a.grad, b.grad.numpy(), atol=1e-9)
        assert not np.allclose(la.grad, lb.grad.numpy())


def test_weighted_bce():
    z, y, w, p = np.array([[0.5, -1.0]]), np.array([[1.0, 0.0]]), np.array([2.0, 3.0]), np.array([4.0, 5.0])
    mine = tt.WeightedBCEWithLogitsLoss(weight=w, pos_weight=p)(Tensor(z, "float64"), y)
    his = torch.nn.BCEWithLogitsLoss(weight=torch.tensor(w), pos_weight=torch.tensor(p))(
        torch.tensor(z), torch.tensor(y)
    )
    np.testing.assert_allclose(mine.item(), his.item())
    tt.WeightedBCEWithLogitsLoss()(Tensor(z), np.array([[1, 0]]))
    with pytest.raises(RuntimeError):
        torch.nn.BCEWithLogitsLoss()(torch.tensor(z), torch.tensor([[1, 0]]))
    with pytest.raises(ValueError):
        tt.WeightedBCEWithLogitsLoss(pos_weight=[-1.0])
    torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor([-1.0]))
    # both divide by the number of entries, not by the weights
    ones = tt.WeightedBCEWithLogitsLoss(weight=[2.0])(Tensor(z, "float64"), y).item()
    assert np.isclose(ones, 2 * tt.WeightedBCEWithLogitsLoss()(Tensor(z, "float64"), y).item())


def test_saved_tensors():
    x, seen = torch.ones(2, 3, requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.nbytes) or t, lambda t: t):
        x.exp().sum().backward()
    assert seen == [24]
    y = Tensor(np.ones((2, 3)), requires_grad=True)
    with tt.activation_scope() as scope:
        z = y.exp()
        assert [(row.operation, row.bytes) for row in scope.live()] == [("Exp", 24)]
    assert z.operation is None and not z.requires_grad


def test_trainer_has_no_twin():
    assert not hasattr(torch, "Trainer") and not hasattr(torch.nn, "Trainer")
    model = torch.nn.Sequential(torch.nn.Dropout(0.9), torch.nn.Dropout(0.9))
    model[1].eval()
    model.eval(), model.train()
    assert model[1].training


def test_more_claims():
    theirs = D.DataLoader(range(3), sampler=[0, 9])
    batches = iter(theirs)
    next(batches)
    with pytest.raises(IndexError):
        next(batches)
    assert isinstance(torch.tensor([2.0]) ** torch.tensor([3.0]), torch.Tensor)
    with pytest.raises(TypeError):
        Tensor([2.0]) ** Tensor([3.0])
    with (
        pytest.raises(RuntimeError, match="numerical:.*\n.*analytical:")
        if hasattr(torch.autograd.gradcheck, "GradcheckError")
        else pytest.raises(RuntimeError, match="numerical:")
    ):
        torch.autograd.gradcheck(
            lambda a: a.detach() * a, torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        )
    with pytest.raises(ValueError, match=r"argument 0 at \[0\]: backward gives 1.* the difference"):
        tt.gradcheck(lambda a: a.detach() * a, [np.array([1.0, 2.0])])
    z, y = torch.tensor([0.5]), torch.tensor([1.0])
    torch.nn.BCEWithLogitsLoss(weight=torch.tensor([-1.0]))(z, y)
    torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor([-1.0]))(z, y)
    called = []
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    optimizer.register_step_pre_hook(lambda *args: called.append("before"))
    optimizer.register_step_post_hook(lambda *args: called.append("after"))
    optimizer.step()
    assert called == ["before", "after"]


def test_states_that_do_not_fit():
    def made(kind, shape, **settings):
        parameter = torch.nn.Parameter(torch.ones(shape))
        optimizer = kind([parameter], **settings)
        parameter.grad = torch.ones(shape)
        optimizer.step()
        return optimizer

    large = made(torch.optim.Adam, 3)
    large.load_state_dict(made(torch.optim.Adam, 2).state_dict())
    with pytest.raises(RuntimeError):
        large.step()
    sgd = made(torch.optim.SGD, 2, momentum=0.9)
    sgd.load_state_dict(made(torch.optim.Adam, 2).state_dict())
    with suppress(KeyError):  # its settings are Adam's now
        sgd.step()
    with pytest.raises(ValueError):
        sgd.load_state_dict({"state": {}, "param_groups": []})


def test_rmsprop_by_hand():
    parameter = torch.nn.Parameter(torch.tensor([1.0, 2.0], dtype=torch.float64))
    optimizer, weight, square = torch.optim.RMSprop([parameter], lr=0.1, alpha=0.9), np.array([1.0, 2.0]), 0.0
    for grad in ([1.0, -3.0], [2.0, 0.5]):
        parameter.grad = torch.tensor(grad, dtype=torch.float64)
        optimizer.step()
        grad = np.array(grad)
        square = 0.9 * square + 0.1 * grad**2
        weight = weight - 0.1 * grad / (np.sqrt(square) + 1e-8)
    np.testing.assert_allclose(parameter.detach().numpy(), weight)


def test_a_row_of_the_jacobian():
    a, b = leaf([2.0, 3.0])
    (a * a).backward([0.0, 1.0])
    np.testing.assert_allclose(a.grad, torch.autograd.functional.jacobian(lambda x: x * x, b)[1].numpy())


def test_fast_flags():
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        for flag in ("foreach", "fused"):
            parameter = torch.nn.Parameter(torch.ones(2))
            parameter.grad = torch.ones(2)
            kind([parameter], lr=0.1, **{flag: True}).step()


def test_even_more_claims():
    x, y = torch.zeros(3, 2), torch.arange(3)
    assert D.TensorDataset(x, y).tensors == (x, y)
    a, b = Tensor(np.zeros((3, 2))), Tensor(np.arange(3))
    assert tt.TensorDataset(a, b).tensors == (a, b) or tt.TensorDataset(a, b).tensors[0] is a
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam([parameter])
    parameter.grad = torch.ones(2)
    optimizer.step()
    assert optimizer.state[parameter]["step"].item() == 1 and not hasattr(optimizer, "step_count")
    sgd = torch.optim.SGD([parameter])
    sgd.step()
    assert "step" not in sgd.state[parameter]
    state = torch.get_rng_state()
    first = F.dropout(torch.ones(100))
    torch.set_rng_state(state)
    assert torch.equal(first, F.dropout(torch.ones(100)))
    assert "state_dict" in dir(torch.optim.lr_scheduler.StepLR)
