import matplotlib.pyplot as plt
import numpy as np
from tinytorch import Adam, BCEWithLogitsLoss, Generator, Linear, Sequential, Tanh, Tensor

turn = np.linspace(0.2, 1, 100)
arm = np.stack([turn * np.cos(9 * turn), turn * np.sin(9 * turn)], axis=1)
points = Tensor(np.concatenate([arm, -arm]))  # 100 places on each spiral
answers = Tensor(np.repeat([[1.0], [0.0]], 100, axis=0))

HIDDEN, STEPS = 32, 300
rng = Generator(0)
inner = [Linear(2, HIDDEN, rng=rng), Tanh(), Linear(HIDDEN, HIDDEN, rng=rng), Tanh()]
network = Sequential(*inner, Linear(HIDDEN, 1, rng=rng))
optimizer, loss_fn = Adam(network.parameters(), lr=0.02), BCEWithLogitsLoss()
for _ in range(STEPS):
    loss = loss_fn(network(points), answers)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

right = int(np.sum((network(points).data > 0) == (answers.data > 0)))
side = np.linspace(-1.2, 1.2, 161)
places = Tensor(np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2))
ground = network(places).data.reshape(161, 161)
plt.figure(figsize=(4.4, 4.4), layout="constrained")
plt.contourf(side, side, ground, levels=[-1e9, 0, 1e9], colors=["#A9D3EC", "#F9DFA6"])
plt.plot(*arm.T, "o", color="#E69F00", markeredgecolor="black", markeredgewidth=0.4)
plt.plot(*-arm.T, "s", color="#0072B2", markeredgecolor="black", markeredgewidth=0.4)
plt.title(f"After {STEPS} steps {right} of 200 points lie on their side", fontsize=10)
plt.show()
print(f"the loss fell to {loss.item():.4f}")
