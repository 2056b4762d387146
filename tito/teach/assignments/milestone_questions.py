"""Questions for reflection on the milestones, graded by hand, each with the answer that an instructor reads.

Answers are cleared from what students get, and this file is left out of the class wheel.
"""

from __future__ import annotations

QUESTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "m1": (
        (
            "**Rule.** The error-correction rule changes nothing when the answer is right. Write the update as "
            "a formula with the weights, the input and the error, and say what each of the three values of the "
            "error does.",
            "$w \\leftarrow w + e x$, $b \\leftarrow b + e$. $e = 0$ changes nothing; $e = 1$ (fired too little) "
            "adds the input, so that the sum rises for it; $e = -1$ takes it away.",
        ),
        (
            "**Limits.** The cards end without a mistake and the digits do not. What has to be true of the data "
            "for the rule to stop, and which figure of your run tells you that it is not true of all digits?",
            "The two classes must be separable by a plane. The held-out score stays below 100 % at every seed; "
            "mistakes in the last pass over the training digits would show it directly.",
        ),
        (
            "**Weights.** Look at the picture of the weights. Why does it show left and right, although nobody "
            "told the machine where its pixels lie?",
            "Each weight is the sum of the cards that were got wrong, with sign. Pixels at the right were inked "
            "in cards that wanted more, pixels at the left in cards that wanted less; order of the pixels never "
            "enters.",
        ),
    ),
    "m2": (
        (
            "**One unit.** The proof for XOR needs four inequalities. Write the four for AND, and give weights "
            "and a bias that meet them.",
            "$b \\le 0$, $w_1 + b \\le 0$, $w_2 + b \\le 0$, $w_1 + w_2 + b > 0$; for example 1, 1 and -1.5.",
        ),
        (
            "**Searching.** 100,000 settings found AND and OR, and got at most 3 of 4 answers of XOR right. "
            "What would ten million settings show, and what do they show less well than the proof?",
            "The same 3 of 4. A search says that none of the settings tried will do; the proof says it of all of them.",
        ),
        (
            "**Without the bend.** What happens if the sigmoid between the two layers is left out, and why?",
            "Two affine maps in a row are one affine map, $W_2(W_1x + b_1) + b_2$, so that it is a single unit again.",
        ),
    ),
    "m2b": (
        (
            "**Three sets.** Which rows fit a unit's coefficients, which choose the unit, and which tell how good the "
            "network is? What goes wrong if the last two are the same rows?",
            "Train fits, dev chooses, test tells. The best of a thousand candidates on dev is best partly by luck, so "
            "its error on dev is too low; the milestone's picture shows it for Auto MPG.",
        ),
        (
            "**Limits.** Without its limits the network explains Friedman's function as well as before, and on the "
            "cars its mean falls below zero. What happened, and to how many rows?",
            "A row outside of the training range goes through squares of squares and leaves every scale. One such row "
            "in a hundred is enough, since R2 adds up squared errors.",
        ),
        (
            "**Parity.** Why does no layer find the parity of three bits, though a product of three factors would do?",
            "Any two of the bits say nothing about it, so no candidate of the first layer has an error below that of "
            "the mean, and there is nothing to build the second layer on.",
        ),
    ),
    "m3": (
        (
            "**Two figures.** The score on held-out digits is higher than the one on writers that were left "
            "out. Which of the two tells what happens with post from strangers, and why is the other higher?",
            "The one by writer. In a mixed split other digits of the same hands are trained on, so that the "
            "held-out ones are not wholly new.",
        ),
        (
            "**Cost.** Estimate how many multiplications one training step of the network takes, forward and "
            "backward, and say which layer takes most of them.",
            "About $B \\cdot D \\cdot H$ for a layer forward and twice that backward; the layer with the largest "
            "$D \\cdot H$ takes most.",
        ),
        (
            "**Failure.** Choose one digit that your network gets wrong. What is odd about it, and what would "
            "you change?",
            "A concrete digit, a reason that its picture supports, and a change that would act on that reason.",
        ),
    ),
}
POINTS = 2  # of an answer
