"""Rules of the reference documents: what the program has, its documents name.

A name counts as documented where a reader sees it set apart: in a heading, between backticks or in a code
block. A setting called `port` is not documented by a sentence about ports.

Promises: pure, the thing and the text of its document in, sentences out.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, get_args

import msgspec

# The completion options are the shell's, and typer explains them.
_NOT_OURS = {"--install-completion", "--show-completion", "--help"}
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_SET_APART = re.compile(r"`[^`\n]+`|^#+ .*$", re.MULTILINE)
_LINK = re.compile(r"\]\(\s*<?([^\s)>]+)>?[^)]*\)|^\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*:|#|//)")
_ROUTE = re.compile(r"(?<![\w-])([A-Z]+) (/[^\s`?]*)")
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class Command(Protocol):
    """A command as click describes it; a group also has `commands`."""

    hidden: bool

    @property
    def params(self) -> Sequence[Any]: ...


def undocumented_commands(command: Command, path: str, document: str) -> list[str]:
    """Commands and options that the document does not name. Hidden ones are nobody's business."""
    apart = set_apart(document)
    found = []
    for name, options in _commands(command, path):
        if not _has_word(apart, name):
            found.append(f"`{name}` is not documented")
        found += [f"`{option}` of `{name}` is not documented" for option in options if not _has_word(apart, option)]
    return found


def undocumented_settings(settings: type[msgspec.Struct], document: str) -> list[str]:
    """Settings that the document does not name, in TOML (`a.b`) and as a variable (`PREGON_A_B`)."""
    apart = set_apart(document)
    names = list(_settings(settings, ""))
    spellings = [(name, "PREGON_" + re.sub(r"[.-]", "_", name).upper()) for name in names]
    return [f"`{word}` is not documented" for pair in spellings for word in pair if not _has_word(apart, word)]


def undocumented_codes(errors: Iterable[type[Exception]], document: str) -> list[str]:
    """Codes that the document does not name."""
    apart = set_apart(document)
    codes = {code: error for error in errors if (code := own_code(error))}
    return [
        f"`{code}` of {error.__name__} is not documented" for code, error in codes.items() if not _has_word(apart, code)
    ]


def shared_codes(errors: Iterable[type[Exception]]) -> list[str]:
    """Errors that cannot be told apart by their code: two with the same, or one without its own."""
    owners: dict[str, str] = {}
    found = []
    for error in errors:
        code = own_code(error)
        if code is None:
            if not error.__subclasses__():
                found.append(f"{error.__name__} has no code of its own")
        elif code in owners:
            found.append(f"{error.__name__} and {owners[code]} have the same code `{code}`")
        else:
            owners[code] = error.__name__
    return found


def undocumented_limits(limits: Mapping[str, object], document: str) -> list[str]:
    """Limits that the document does not name with their value on the same line."""
    lines = document.splitlines()
    found = []
    for name, value in limits.items():
        named = [line for line in lines if _has_word(line, name)]
        if not named:
            found.append(f"`{name}` is not documented")
        elif not any(_has_word(line, spelling) for line in named for spelling in spellings_of(value)):
            found.append(f"`{name}` is documented without its value, {value}")
    return found


def undocumented_routes(routes: Iterable[tuple[str, str]], document: str) -> list[str]:
    """Methods of addresses that the document does not name as `METHOD /path`, all of the path and no more."""
    named = set(_ROUTE.findall(set_apart(document)))
    return [f"`{method} {path}` is not documented" for method, path in routes if (method, path) not in named]


def broken_links(document: str, exists: Callable[[str], bool]) -> list[str]:
    """Relative links to files that are not there."""
    targets = [first or second for first, second in _LINK.findall(_FENCE.sub("", document))]
    files = [target.split("#")[0] for target in targets if not _ELSEWHERE.match(target)]
    return [f"{file} does not exist" for file in files if not exists(file)]


def family_of(error: type[Exception]) -> list[type[Exception]]:
    """An error and all that descend from it in the same package; tests may have made others."""
    package = error.__module__.split(".")[0]
    family = [error]
    for member in family:
        family += [
            child
            for child in member.__subclasses__()
            if child.__module__.split(".")[0] == package and child not in family
        ]
    return family


def own_code(error: type[Exception]) -> str | None:
    """The code that a class itself declares."""
    code = vars(error).get("code")
    return code if isinstance(code, str) else None


def constants_of(names: Mapping[str, object]) -> dict[str, object]:
    """The constants of a module: what it spells in capitals."""
    named = {name: value for name, value in names.items() if re.fullmatch(r"[A-Z][A-Z0-9_]*", name)}
    named.pop("TYPE_CHECKING", None)
    return named


def spellings_of(value: object) -> list[str]:
    """How a document may write a value: 10000, 10,000 or, of whole binary units, 4 MiB."""
    if isinstance(value, float):
        return [str(value), f"{value:,}", f"{value:g}"]
    if not isinstance(value, int):
        return [str(value)]
    units = [f"{value // size:,} {unit}" for unit, size in _UNITS.items() if value and value % size == 0]
    return [str(value), f"{value:,}", *units]


def set_apart(document: str) -> str:
    """What a document sets apart from its sentences: headings, code between backticks, code blocks."""
    blocks = [block.group() for block in _FENCE.finditer(document)]
    return "\n".join([*blocks, *_SET_APART.findall(_FENCE.sub("", document))])


def _has_word(text: str, word: str) -> bool:
    """Whether a text has a word that is not part of a longer one: `--url` is not in `--url-file`."""
    return re.search(rf"(?<![\w,.-]){re.escape(word)}(?![\w-]|[,.]\w)", text) is not None


def _commands(command: Command, path: str) -> Iterator[tuple[str, list[str]]]:
    if command.hidden:
        return
    options = [
        name
        for parameter in command.params
        if not getattr(parameter, "hidden", False)
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--") and name not in _NOT_OURS
    ]
    yield path, options
    children: Mapping[str, Command] = getattr(command, "commands", {})
    for name, child in children.items():
        yield from _commands(child, f"{path} {name}")


def _settings(settings: type[msgspec.Struct], prefix: str) -> Iterator[str]:
    for field in msgspec.structs.fields(settings):
        kinds = [kind for kind in (field.type, *get_args(field.type)) if isinstance(kind, type)]
        sections = [kind for kind in kinds if issubclass(kind, msgspec.Struct)]
        if sections:
            yield from _settings(sections[0], f"{prefix}{field.encode_name}.")
        else:
            yield prefix + field.encode_name
