# ruff: noqa
# Other right answers to lesson 05, by people who read only the stubs.

# %% exercise="gather" answer="columns filled one by one"
@patch
def gather(self: Dataset, indices: np.ndarray) -> Any:
    columns: list[list[Any]] = []
    several = False
    for index in np.asarray(indices).tolist():
        sample = self[index]
        several = type(sample) in (tuple, list)
        parts = sample if several else [sample]
        if not columns:
            columns = [[] for _ in parts]
        for column, part in zip(columns, parts):
            column.append(part)
    batch = tuple(stack_samples(column) for column in columns)
    return batch if several else batch[0]


# %% exercise="gather" answer="by part number"
@patch
def gather(self: Dataset, indices: np.ndarray) -> Any:
    samples = list(map(self.__getitem__, map(int, indices)))
    first = samples[0]
    if isinstance(first, list) or isinstance(first, tuple):
        return tuple([stack_samples([sample[k] for sample in samples]) for k in range(len(first))])
    return stack_samples(samples)


# %% exercise="tensor_dataset" answer="compares with the first"
class TensorDataset(Dataset):
    def __init__(self, *tensors: Tensor) -> None:
        if not tensors:
            raise ValueError("a TensorDataset of no tensors has no samples")
        for t in tensors:
            if not isinstance(t, Tensor):
                raise TypeError(f"not a Tensor: {t!r}")
        if any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            raise ValueError("as many rows in each, please; got " + " and ".join(str(t.shape[0]) for t in tensors))
        self.tensors = tensors

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        picked = []
        for t in self.tensors:
            picked.append(t[index])
        return tuple(picked)

    def gather(self, indices: np.ndarray) -> tuple[Tensor, ...]:
        return tuple(t[indices] for t in self.tensors)


# %% exercise="tensor_dataset" answer="a set of sizes, and take"
class TensorDataset(Dataset):
    def __init__(self, *tensors: Tensor) -> None:
        if not all(isinstance(tensor, Tensor) for tensor in tensors):
            raise TypeError("TensorDataset holds Tensors only")
        sizes = {len(tensor) for tensor in tensors}
        if len(sizes) == 0:
            raise ValueError("no tensors, sizes []")
        if len(sizes) > 1:
            raise ValueError(f"sizes {sizes} where one size was wanted")
        self.tensors = tensors

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(map(lambda tensor: tensor[index], self.tensors))

    def gather(self, indices: np.ndarray) -> tuple[Tensor, ...]:
        return tuple(Tensor.wrap(np.take(tensor.data, indices, axis=0)) for tensor in self.tensors)


# %% exercise="length" answer="rounds up"
import math


@patch
def __len__(self: DataLoader) -> int:
    exact = len(self.dataset) / self.batch_size
    return math.floor(exact) if self.drop_last else math.ceil(exact)


# %% exercise="length" answer="adds almost a batch"
@patch
def __len__(self: DataLoader) -> int:
    extra = 0 if self.drop_last else self.batch_size - 1
    return (len(self.dataset) + extra) // self.batch_size


# %% exercise="length" answer="counts the starts"
@patch
def __len__(self: DataLoader) -> int:
    starts = range(0, len(self.dataset), self.batch_size)
    whole = [start for start in starts if start + self.batch_size <= len(self.dataset)]
    return len(whole if self.drop_last else starts)


# %% exercise="order" answer="a step at a time"
@patch
def draw_order(self: DataLoader, epoch: int) -> np.ndarray:
    n = len(self.dataset)
    if self.shuffle:
        stream = Generator(self.seed).split("epoch " + str(epoch))
        return stream.permutation(n)
    return np.array(range(n), dtype=np.int64)


# %% exercise="order" answer="shuffles the unshuffled"
@patch
def draw_order(self: DataLoader, epoch: int) -> np.ndarray:
    numbers = np.arange(len(self.dataset), dtype=np.int64)
    return (
        numbers[Generator(self.seed).split("epoch %d" % epoch).permutation(numbers.size)] if self.shuffle else numbers
    )


# %% exercise="batch_at" answer="cuts all batches of the epoch"
@patch
def batch_at(self: DataLoader, g: int) -> Any:
    if g < 0:
        raise ValueError("batches count from zero up")
    if not len(self):
        raise ValueError("too few samples for even one")
    order = self.order(g // len(self))
    cuts = np.arange(self.batch_size, len(order), self.batch_size)
    return self.dataset.gather(np.split(order, cuts)[g % len(self)])


# %% exercise="batch_at" answer="by a range of places"
@patch
def batch_at(self: DataLoader, g: int) -> Any:
    epoch, number = self.locate(g)
    order = self.draw_order(epoch)
    first = number * self.batch_size
    places = range(first, min(first + self.batch_size, len(self.dataset)))
    return self.dataset.gather(order[list(places)])


# %% exercise="iterate" answer="a for loop over what is left"
@patch
def __iter__(self: DataLoader) -> Iterator[Any]:
    if len(self) < 1:
        raise ValueError("an empty loader cannot be looped over")
    begin = self.position
    for g in range(begin, begin + len(self) - begin % len(self)):
        self.position = g + 1
        yield self.batch_at(g)


# %% exercise="iterate" answer="until the epoch changes"
@patch
def __iter__(self: DataLoader) -> Iterator[Any]:
    epoch = self.locate(self.position)[0]
    while True:
        batch = self.batch_at(self.position)
        self.position = self.position + 1
        yield batch
        if self.locate(self.position)[0] != epoch:
            return
