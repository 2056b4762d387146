# ruff: noqa
# fmt: off

# %% exercise="gather" answer="stacks the parts of each sample together instead of turning samples sideways"
@patch
def gather(self: Dataset, indices: np.ndarray) -> Any:
    """The samples at `indices` as one batch: a tuple of tensors `(B, ...)`, one for each part of a sample.

    A sample is a tuple or a list of parts; samples that are single things give a single tensor `(B, ...)`.
    Every sample is asked for by a Python integer, once, in the order of `indices`.
    About 4 lines.
    """
    samples = [self[int(i)] for i in indices]
    if isinstance(samples[0], (tuple, list)):
        return tuple(stack_samples(sample) for sample in samples)
    return stack_samples(samples)


# %% exercise="length" answer="adds one for a short last batch even when the samples divide evenly"
@patch
def __len__(self: DataLoader) -> int:
    """How many batches an epoch has. A short last one counts unless `drop_last`. About 2 lines."""
    full = len(self.dataset) // self.batch_size
    return full if self.drop_last else full + 1


# %% exercise="order" answer="draws from the seed alone, so every epoch has the same order"
@patch
def draw_order(self: DataLoader, epoch: int) -> np.ndarray:
    """Sample numbers in the order of this epoch, int64 `(N,)`: 0 to N - 1, shuffled if the loader shuffles.

    Shuffled, it is the permutation that the stream "epoch 0", "epoch 1", ... of Generator(self.seed) draws first.
    About 3 lines.
    """
    n = len(self.dataset)
    if not self.shuffle:
        return np.arange(n)
    return Generator(self.seed).permutation(n)


# %% exercise="batch_at" answer="cuts the epoch's order by the running number g instead of by the number within the epoch"
@patch
def batch_at(self: DataLoader, g: int) -> Any:
    """Batch `g`, which is batch `g % len(self)` of epoch `g // len(self)`. `position` stays where it is.

    Raises ValueError when g is negative, or when an epoch has no batch.
    About 3 lines.
    """
    epoch, _ = self.locate(g)
    order = self.order(epoch)
    return self.dataset.gather(order[g * self.batch_size : (g + 1) * self.batch_size])


# %% exercise="iterate" answer="counts the batch after the yield, so a loop that is stopped gets its last batch again"
@patch
def __iter__(self: DataLoader) -> Iterator[Any]:
    """Yield the batches from `position` to the end of its epoch, and count each in `position` before it is yielded.

    Raises ValueError when an epoch has no batch.
    About 6 lines.
    """
    epoch, number = self.locate(self.position)
    for _ in range(number, len(self)):
        yield self.batch_at(self.position)
        self.position += 1
