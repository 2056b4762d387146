"""Copies are found and independent right answers are not; nothing that a student wrote is tokenised in this process."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from classes import COURSE, LESSON, NAME
from hypothesis import given, settings
from hypothesis import strategies as st

from tito import percent, release
from tito.course import Lesson
from tito.teach.grader.conversation import Limits
from tito.teach.pages import fingerprinting, jplag, similarity
from tito.teach.pages.fingerprinting import Reader, Unreadable
from tito.teach.sealed import tokens

ANSWERS = Path(__file__).resolve().parents[1] / "alternatives"
CLASS = 5000 if os.environ.get("TITO_LONG") else 300
each_lesson = pytest.mark.parametrize("lesson", COURSE.everything, ids=lambda lesson: lesson.stem)

Answers = dict[str, str]  # exercise: source
words = st.sampled_from(["n", "(", ")", "=", "+", "return", "for", "in", ".sum", "1", "2"])


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader() as one:
        yield one


def answer_sets(lesson: Lesson) -> list[Answers]:
    """Three right answers to every exercise, each by someone who had read the stub only."""
    found: dict[str, list[str]] = {}
    for cell in percent.read((ANSWERS / f"a{lesson.stem}.py").read_text(encoding="utf-8")):
        if cell.role == "exercise":
            found.setdefault(cell.name, []).append(cell.source)
    return [{name: sources[k] for name, sources in found.items() if k < len(sources)} for k in range(3)]


def prints_of(
    reader: Reader, lesson: Lesson, students: Mapping[str, Answers]
) -> tuple[dict[str, similarity.Prints], set[int]]:
    """The fingerprints of the students and of the course's own solutions."""
    given = similarity.released(lesson)
    known = {mark for marks in reader.read(similarity.solutions(lesson), given).values() for mark in marks}
    return {student: reader.read(answers, given) for student, answers in students.items()}, known


def alike(reader: Reader, lesson: Lesson, students: Mapping[str, Answers]) -> list[similarity.Pair]:
    return similarity.pairs(*prints_of(reader, lesson, students))


def renamed(source: str) -> str:
    """With other names for all that the writer named: parameters and what is assigned."""
    own = set(re.findall(r"(?<![.\w])([a-z_]\w*)(?=\s*(?:=[^=]|:| in |, \w+ in ))", source)) - {"self", "np"}
    for i, name in enumerate(sorted(own - tokens.KEPT)):
        source = re.sub(rf"(?<![.\w]){name}\b", f"thing{i}", source)
    return source


def commented(source: str) -> str:
    """With a comment at the end of each line and blank lines between them."""
    return "\n\n".join(
        f"{line}  # it works" if line.strip() and '"""' not in line else line for line in source.split("\n")
    )


def disguised(answers: Answers, seed: int = 3) -> Answers:
    """The same answers, renamed, commented, and in another order under other cells' names."""
    changed = [commented(renamed(source)) for source in answers.values()]
    random.Random(seed).shuffle(changed)
    return dict(zip(answers, changed))


def notebook(lesson: Lesson, answers: Answers) -> str:
    """The released notebook with these answers in it."""
    made = release.notebook(lesson)
    ids = {cell.id: cell.name for cell in lesson.cells() if cell.role == "exercise"}
    for cell in made["cells"]:
        if ids.get(cell["id"]) in answers:
            cell["source"] = answers[ids[cell["id"]]]
    return json.dumps(made)


@given(st.lists(words, max_size=60), st.lists(words, max_size=60), st.lists(words, min_size=20, max_size=40))
@settings(max_examples=200, deadline=None)
def test_what_two_share_is_found_from_the_guarantee_on(before: list[str], after: list[str], shared: list[str]) -> None:
    one, other = tokens.hashes([*before, *shared, "end"]), tokens.hashes(["begin", *shared, *after])
    assert tokens.GUARANTEE == 20
    assert set(tokens.winnow(one)) & set(tokens.winnow(other))


@given(st.lists(words, min_size=30, max_size=200))
@settings(deadline=None)
def test_what_is_shorter_than_a_run_is_no_match(text: list[str]) -> None:
    marked = [
        f"{token} {i // 11}" for i, token in enumerate(text)
    ]  # with the other in common: 11 tokens in a row at most
    other = [token if i % 12 else "!" for i, token in enumerate(marked)]
    assert not set(tokens.winnow(tokens.hashes(marked))) & set(tokens.winnow(tokens.hashes(other)))


def test_few_hashes_are_kept_and_the_smallest() -> None:
    rng = random.Random(1)
    hashes = [rng.getrandbits(64) for _ in range(20_000)]
    kept = tokens.winnow(hashes)
    expected = 2 / (tokens.WINDOW + 1)  # the density that the paper derives
    assert abs(len(kept) / len(hashes) - expected) < 0.01
    assert tokens.winnow(hashes[: tokens.WINDOW - 1]) == []


def test_names_comments_layout_and_strings_make_no_difference() -> None:
    one = 'def mean(self, dim):\n    """Doc."""\n    total = self.std(dim)  # all\n    raise ValueError(f"bad {dim}")\n'
    other = "def mean(self, axis):\n\n    t = self.std(\n        axis)\n    raise ValueError('wrong')\n"
    assert tokens.tokens(one) == tokens.tokens(other)
    assert tokens.tokens(one) != tokens.tokens(one.replace("std", "var"))  # an attribute is nobody's own choice
    assert tokens.tokens(one) != tokens.tokens(one.replace("ValueError", "TypeError"))


def test_what_was_released_is_set_aside(reader: Reader) -> None:
    given = similarity.released(LESSON)
    assert not any(reader.read({str(i): text for i, text in enumerate(given)}, given).values())
    assert sum(map(bool, reader.read(similarity.solutions(LESSON), given).values())) >= 6


@each_lesson
def test_independent_right_answers_are_not_alike(reader: Reader, lesson: Lesson) -> None:
    one, two, three = answer_sets(lesson)
    prints, _ = prints_of(
        reader, lesson, {"one": one, "two": two, "three": three, "course": similarity.solutions(lesson)}
    )
    assert similarity.pairs(prints) == []  # though nothing is set aside as known, and all of it is rare among four
    mine, theirs = ({mark for marks in prints[name].values() for mark in marks} for name in ("one", "two"))
    assert len(mine & theirs) <= similarity.SHARE / 2 * min(len(mine), len(theirs))


@each_lesson
def test_a_disguised_copy_is_found(reader: Reader, lesson: Lesson) -> None:
    one, two, _ = answer_sets(lesson)
    (pair,) = alike(reader, lesson, {"ada": one, "bob": two, "eve": disguised(one)})
    assert (pair.one, pair.other) == ("ada", "eve") and pair.share > 0.6


def test_the_disguise_changes_every_answer() -> None:
    for answers in answer_sets(LESSON)[:2]:
        assert not set(answers.values()) & set(disguised(answers).values())
        assert all(renamed(source) != source for source in answers.values())


def test_short_answers_and_what_many_have_say_nothing(reader: Reader) -> None:
    short = {"train": "def train(self, mode=True):\n    for m in self.modules(): m.training = mode\n    return self\n"}
    assert alike(reader, LESSON, dict.fromkeys("abc", short)) == []
    whole = answer_sets(LESSON)[0]
    assert len(alike(reader, LESSON, dict.fromkeys("abcd", whole))) == 6
    assert alike(reader, LESSON, dict.fromkeys("abcde", whole)) == []  # five of five: then it is how one does it


def test_what_all_copied_from_the_course_says_nothing(reader: Reader) -> None:
    solution = similarity.solutions(LESSON)
    assert alike(reader, LESSON, {"ada": solution, "bob": disguised(solution)}) == []


def submit(root: Path, **students: str) -> Path:
    for student, text in students.items():
        (root / student / NAME).mkdir(parents=True)
        (root / student / NAME / f"{NAME}.ipynb").write_text(text, encoding="utf-8")
    return root


BOMBS = {
    "deep": "(" * 10**5,
    "nul": "\x00" * 1000,
    "unclosed": "'''" + "x" * 10**5,
    "fstring": "f'{" * 5000,
    "indent": "".join(" " * i + "if 1:\n" for i in range(2000)),
    "half": "'\ud800'",
    "long": "x=1;" * 10**6,
}


def test_no_source_breaks_the_comparison_or_is_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a student's text was tokenised in this process")

    for name in ("fingerprints", "tokens", "lines", "_raw"):
        monkeypatch.setattr(tokens, name, refuse)
    monkeypatch.setattr("tokenize.generate_tokens", refuse)
    one, two, _ = answer_sets(LESSON)
    bombs = {name: notebook(LESSON, {**two, "affine": text}) for name, text in BOMBS.items() if name != "half"}
    texts = {"ada": notebook(LESSON, one), "eve": notebook(LESSON, disguised(one)), **bombs, "zip": "[" * 10**5}
    submitted = submit(tmp_path, **texts)
    pairs, unread = similarity.compare(submitted, LESSON, NAME, [*texts, "nobody"])
    assert ("ada", "eve") in {(pair.one, pair.other) for pair in pairs}
    assert unread == ["zip", "nobody"]


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_gives_fingerprints_or_none_in_time(reader: Reader, name: str) -> None:
    reader.read({"bomb": BOMBS[name]})  # within the time that one submission has
    assert reader.read({"good": answer_sets(LESSON)[0]["linear"]})["good"]


def sealed_child(reader: Reader) -> int:
    """The process in which texts are tokenised: the last of those below the zygote."""
    pid = reader.starter.process.pid  # type: ignore[attr-defined]
    while children := Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
        pid = int(children[-1])
    return int(pid)


@pytest.mark.parametrize("what", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_dies_or_hangs_costs_one_submission(
    what: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprinting, "LIMITS", Limits(check_seconds=0.5))
    good = {"linear": answer_sets(LESSON)[0]["linear"]}
    with Reader() as reader:
        first = reader.read(good)
        os.kill(sealed_child(reader), what)
        start = time.monotonic()
        with pytest.raises(Unreadable):
            reader.read(good)
        assert time.monotonic() - start < 10
        assert reader.read(good) == first


def test_texts_are_read_where_nothing_can_be_done() -> None:
    with Reader() as reader:
        reader.read({"a": "1"})
        place = Path(f"/proc/{sealed_child(reader)}")
        status = (place / "status").read_text(encoding="ascii")
    assert "Seccomp:\t2" in status and "CapEff:\t0000000000000000" in status and "NoNewPrivs:\t1" in status
    assert not re.search(r"Uid:.*\t0\b", status)


def made_class(students: int, copies: Iterable[tuple[int, int]]) -> dict[str, similarity.Prints]:
    """Fingerprints like a class's: half of each student's are common, half their own; `copies` share what is own."""
    rng = random.Random(5)
    common = [[rng.getrandbits(64) for _ in range(6)] for _ in range(40)]
    prints = {
        f"s{i:04}": {"a": sum(rng.sample(common, 6), []), "b": [rng.getrandbits(64) for _ in range(36)]}
        for i in range(students)
    }
    for one, other in copies:
        prints[f"s{other:04}"]["b"] = prints[f"s{one:04}"]["b"]
    return dict(prints)


def test_a_large_class_takes_time_by_its_size_not_by_its_square() -> None:
    copies = [(i, i + CLASS // 2) for i in range(0, CLASS // 2, CLASS // 10)]
    start = time.monotonic()
    pairs = similarity.pairs(made_class(CLASS, copies))
    assert [(pair.one, pair.other) for pair in pairs] == [(f"s{a:04}", f"s{b:04}") for a, b in copies]
    assert time.monotonic() - start < 2 + CLASS / 500


def test_submissions_are_laid_out_for_jplag(tmp_path: Path) -> None:
    one, two, _ = answer_sets(LESSON)
    submitted = submit(tmp_path / "in", ada=notebook(LESSON, one), bob=notebook(LESSON, two), eve="no notebook")
    assert jplag.export(tmp_path / "out", submitted, LESSON, NAME, ["ada", "bob", "eve"]) == 2
    files = sorted(str(path.relative_to(tmp_path / "out")) for path in tmp_path.glob("out/**/*.py"))
    assert files == [f"base/{NAME}.py", f"submissions/ada/{NAME}.py", f"submissions/bob/{NAME}.py"]
    text, base = ((tmp_path / "out" / file).read_text(encoding="utf-8") for file in (files[1], files[0]))
    compile(text, files[1], "exec")
    compile(base, files[0], "exec")
    assert all(source.strip() in text for source in one.values()) and not any(s in base for s in one.values())


def test_percent_files_are_compared_too(tmp_path: Path) -> None:
    one, two, _ = answer_sets(LESSON)

    def text(answers: Answers) -> str:
        return "\n".join(f'# %% exercise="{name}"\n{source}\n' for name, source in answers.items())

    for student, answers in {"ada": one, "bob": two, "eve": disguised(one)}.items():
        (tmp_path / student / NAME).mkdir(parents=True)
        (tmp_path / student / NAME / f"{NAME}.py").write_text(text(answers), encoding="utf-8")
    pairs, unread = similarity.compare(tmp_path, LESSON, NAME, ["ada", "bob", "eve"])
    assert [(pair.one, pair.other) for pair in pairs] == [("ada", "eve")] and unread == []
    assert set(pairs[0].where) <= set(one)
