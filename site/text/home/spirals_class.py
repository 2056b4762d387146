import matplotlib.pyplot as plt
import numpy as np

turn = np.linspace(0.2, 1, 100)
arm = np.stack([turn * np.cos(9 * turn), turn * np.sin(9 * turn)], axis=1)
points = np.concatenate([arm, -arm])  # 100 places on each spiral
answers = np.repeat([1.0, -1.0], 100)

HIDDEN = 200
rng = np.random.default_rng(0)
directions, shifts = rng.normal(0, 4, (2, HIDDEN)), rng.uniform(-4, 4, HIDDEN)


def hidden(places):
    return np.tanh(places @ directions + shifts)  # drawn once, and never trained


weights = np.linalg.lstsq(hidden(points), answers, rcond=1e-4)[0]  # the last layer, fitted
right = int(np.sum(hidden(points) @ weights * answers > 0))
side = np.linspace(-1.2, 1.2, 161)
ground = (hidden(np.stack(np.meshgrid(side, side), axis=-1)) @ weights).reshape(161, 161)
plt.figure(figsize=(4.4, 4.4), layout="constrained")
plt.contourf(side, side, ground, levels=[-1e9, 0, 1e9], colors=["#A9D3EC", "#F9DFA6"])
plt.plot(*arm.T, "o", color="#E69F00", markeredgecolor="black", markeredgewidth=0.4)
plt.plot(*-arm.T, "s", color="#0072B2", markeredgecolor="black", markeredgewidth=0.4)
plt.title(f"{HIDDEN} fitted weights: {right} of 200 points lie on their side", fontsize=10)
plt.show()
print(f"the furthest that an answer is off: {np.abs(hidden(points) @ weights - answers).max():.4f}")
