"""Makes what a submission shows harmless, for pages that an instructor opens. Begin at `outputs` and `markdown`.

Of outputs remain plain text and pictures that were decoded and encoded anew. Markdown stays as it is where it can give
no tag with an address, an id or a style, whatever parser reads it, and is shown as plain text otherwise. It is looked
at by expressions that need linear time, and never parsed here.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterable, Mapping
from typing import Any

TEXT = 10_000  # characters of output that a cell keeps
ANSWER = 100_000  # characters of markdown that a cell keeps
PICTURES = 8  # that a cell keeps
PICTURE_BYTES = 4 * 2**20
PIXELS = 4_000_000
CUT = "\n[... the rest is left out ...]"

_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ALLOWED_TEX = frozenset(
    re.findall(
        r"\w+",
        """
alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi varphi chi
psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega frac dfrac tfrac sqrt sum prod int partial nabla infty
cdot cdots ldots dots times div pm mp le leq ge geq ne neq approx sim equiv propto in notin subset cup cap to mapsto
rightarrow leftarrow Rightarrow Leftarrow Leftrightarrow implies iff forall exists left right big Big bigl bigr hat
bar tilde vec dot overline underline mathbf mathrm mathit mathbb mathcal boldsymbol text textbf operatorname exp log
ln sin cos tan tanh max min arg lim det dim top odot otimes oplus circ star quad qquad begin end lVert rVert lvert
rvert Vert vert langle rangle lfloor rfloor lceil rceil binom hline displaystyle limits mid ast prime ell
""",
    )
)
_TROUBLE = re.compile(
    r"""<[A-Za-z/!?]              # a tag, a comment, an automatic link
    | &\#?\w+;                    # what a browser reads as another character
    | \][(\[:]                    # a link, a picture, the address of one
    | ^[ \t>*+\d.)-]*\#           # a heading, which would get an id
    | ^[ \t>*+=-]*[=-][ \t]*$     # the same, underlined
    | (?:```(?!`)|~~~(?!~))[ \t]*\S  # the name of a language, which would get a class or be a drawing by program
    | ^(?:[ ]*(?:[>*+-]|\d+[.)])){6} | ^[ \t]{24} | [][*_~`$]{12}   # nesting that breaks parsers
    """,
    re.VERBOSE | re.MULTILINE,
)


def markdown(source: str) -> str:
    """The text of a markdown cell, so that its page shows it and runs nothing."""
    source = text(source, ANSWER)
    return source if harmless(source) else as_text(source)


def harmless(source: str) -> bool:
    """Whether markdown gives words, emphasis, code, lists, tables and formulas, and nothing else."""
    commands = set(re.findall(r"\\([A-Za-z]+)", source))
    return not _TROUBLE.search(source) and commands <= _ALLOWED_TEX


def as_text(source: str) -> str:
    """Markdown that shows the text as it was written, in a fence longer than any in it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", source)), default=0))
    return f"{fence}\n{source}\n{fence}"


def outputs(given: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Outputs of a code cell (nbformat 4) as plain text and PNG.

    stderr becomes ordinary text, and a value that a cell ends in is shown like any other: neither is a mark.
    """
    kept: list[dict[str, Any]] = []
    room, pictures = TEXT, PICTURES
    for output in given:
        made = _output(output, room)
        picture = _png(output.get("data")) if pictures else None
        if picture:
            made.setdefault("data", {})["image/png"] = picture
            pictures -= 1
        room = max(0, room - _size(made))
        kept += [made] if _size(made) or picture or made["output_type"] == "error" else []
    return kept


def error(name: str, says: str) -> dict[str, Any]:
    """The output by which nbgrader sees that a check failed."""
    name, says = text(name, 100), text(says, TEXT)
    return {"output_type": "error", "ename": name, "evalue": says, "traceback": [f"{name}: {says}"]}


def text(value: Any, room: int) -> str:
    """A string, or the list of strings that nbformat allows, without what moves a terminal, at most `room` long."""
    joined = "".join(map(str, value)) if isinstance(value, list) else str(value)
    plain = _CONTROL.sub("", joined[: 4 * room].replace("\r\n", "\n").replace("\r", "\n"))
    return plain if len(plain) <= room and len(joined) <= 4 * room else plain[:room] + CUT


def _output(output: Mapping[str, Any], room: int) -> dict[str, Any]:
    kind = output.get("output_type")
    if kind == "error":
        says = text(output.get("evalue", ""), room)
        lines = [text(line, room) for line in output.get("traceback", ())[:100]]
        return {**error(str(output.get("ename", "")), says), "traceback": [text("\n".join(lines), room)]}
    if kind == "stream":
        return {"output_type": "stream", "name": "stdout", "text": text(output.get("text", ""), room)}
    data = output.get("data")
    shown = data.get("text/plain", "") if isinstance(data, Mapping) else ""
    return {"output_type": "display_data", "metadata": {}, "data": {"text/plain": text(shown, room)} if shown else {}}


def _size(output: Mapping[str, Any]) -> int:
    lines = (output.get("text", ""), output.get("data", {}).get("text/plain", ""), *output.get("traceback", ()))
    return sum(map(len, lines))


def _png(data: Any) -> str | None:
    """The picture, decoded by Pillow as PNG and nothing else, encoded anew; None for what is none."""
    from PIL import Image

    given = data.get("image/png") if isinstance(data, Mapping) else None
    try:
        raw = base64.b64decode("".join(given or ""), validate=False)
        with Image.open(io.BytesIO(raw[:PICTURE_BYTES]), formats=["PNG"]) as image:
            if image.width * image.height > PIXELS or getattr(image, "n_frames", 1) > 1:
                return None
            pixels = image.convert("RGBA")
    except (OSError, ValueError, TypeError, SyntaxError, EOFError, MemoryError, Image.DecompressionBombError):
        return None
    fresh = Image.frombytes("RGBA", pixels.size, pixels.tobytes())  # no comment, profile or other chunk comes along
    made = io.BytesIO()
    fresh.save(made, format="PNG")
    return base64.b64encode(made.getvalue()).decode("ascii")
