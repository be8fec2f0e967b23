"""The pages say everything in both languages: every text that they use has Spanish, and no Spanish is left over."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from jinja2 import nodes

from pregon.edges.admin import rendering, words
from pregon.edges.admin.rendering import environment
from pregon.edges.admin.words import choose_language, spanish, words_of

FOLDER = Path(words.__file__).parent
_PLACES = re.compile(r"{(\w*)}")
_SPEAKERS = ("_", "say", "chart")
_TABLES = ("SENTENCES", "DONE", "_PATTERNS", "_OTHERWISE")
"""Names of tables in code whose texts are said later."""


def in_templates() -> Iterator[tuple[str, str]]:
    """The texts that templates say, and where."""
    for file in sorted(rendering.TEMPLATES.rglob("*.html")):
        tree = environment().parse(file.read_text(encoding="utf-8"))
        for call in tree.find_all(nodes.Call):
            node = call.node
            is_said = isinstance(node, nodes.Name) and node.name == "_"
            is_count = (
                isinstance(node, nodes.Getattr) and node.attr == "count" and getattr(node.node, "name", "") == "_"
            )
            wanted = call.args[:1] if is_said else call.args[1:3] if is_count else []
            for one in wanted:
                for const in [one, *one.find_all(nodes.Const)]:
                    if isinstance(const, nodes.Const) and isinstance(const.value, str):
                        yield const.value, file.name


def in_code() -> Iterator[tuple[str, str]]:
    """The texts that the code of the pages says, and where."""
    for file in sorted(FOLDER.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func).rpartition(".")
                if name[2] in _SPEAKERS:
                    wanted = node.args[:1]
                elif name[2] == "count" and name[0].rpartition(".")[2] in _SPEAKERS:
                    wanted = node.args[1:3]
                else:
                    continue
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                named = ast.unparse(target)
                if named not in _TABLES and not named.endswith(("_WORDS", "_SENTENCES")):
                    continue
                wanted = [node.value]
            else:
                continue
            for one in wanted:
                yield from ((text, file.name) for text in _texts(one))


def _texts(node: ast.expr) -> Iterator[str]:
    """The texts in an expression; of a dictionary its values, of pairs the second."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.value
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _texts(value)
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.Tuple | ast.List):
        if len(node.elts) == 2 and all(isinstance(one, ast.Constant) for one in node.elts):
            yield from _texts(node.elts[1])
        else:
            for one in node.elts:
                yield from _texts(one)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "tuple":
        for pairs in ast.walk(node.args[0]):
            if isinstance(pairs, ast.Tuple) and len(pairs.elts) == 2:
                yield from _texts(pairs.elts[1]) if isinstance(pairs.elts[1], ast.Constant) else ()


def test_every_text_of_the_pages_has_spanish() -> None:
    said = [*in_templates(), *in_code()]

    missing = sorted({f"{where}: {text}" for text, where in said if text not in spanish()})

    assert len(said) > 100
    assert not missing, "\n".join(missing)


def test_no_spanish_is_left_over() -> None:
    said = {text for text, _ in [*in_templates(), *in_code()]}

    left = sorted(set(spanish()) - said)

    assert not left, "\n".join(left)


def test_both_languages_have_the_same_places_for_values() -> None:
    texts = spanish()

    different = [
        text for text, other in texts.items() if sorted(_PLACES.findall(text)) != sorted(_PLACES.findall(other))
    ]

    assert different == []


def test_no_text_has_its_spanish_in_two_files() -> None:
    files = {
        file.name: msgspec.json.decode(file.read_bytes(), type=dict[str, str]) for file in FOLDER.glob("words/*.json")
    }

    twice = sorted(
        f"{text} ({one}, {other})"
        for one, texts in files.items()
        for other in files
        if one < other
        for text in texts.keys() & files[other].keys()
    )

    assert len(files) > 3
    assert not twice, "\n".join(twice)


def test_what_is_put_into_a_text_is_escaped() -> None:
    say = words_of("es")

    said = say("{count} more", count="<script>")

    assert said == "&lt;script&gt; más"


def test_a_browser_gets_the_language_that_it_likes_best() -> None:
    asked = ["es-UY,es;q=0.9,en;q=0.8", "de,en;q=0.5,es;q=0.7", "fr", "", "en;q=zz, es"]

    chosen = [choose_language(one) for one in asked]

    assert chosen == ["es", "es", "en", "en", "es"]
