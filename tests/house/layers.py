"""Which part may import which: the map, and the rule that reads it.

Imports only point down, wherever they stand: inside a function, under `if TYPE_CHECKING:` or as a name
given to `import_module`. A part is a folder of `src/pregon`, or a file directly in it; it may always import
from itself. `pregon` is the package's own `__init__.py`.
"""

import ast
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath

from .tree import Source

Parts = frozenset[str]


def _parts(names: str) -> Parts:
    return frozenset(names.split())


# Groups of parts, from the bottom to the top; the map below is made of them.
GROUND = _parts("addresses errors limits clock version plots")
SHARED = GROUND | _parts("model causal wire")
BELOW_HUB = SHARED | _parts("settings logs store security schemas filters soap")
BELOW_EDGES = BELOW_HUB | _parts("hub delivery services groups")
BELOW_CLI = BELOW_EDGES | _parts("edges server client chat spark pregon patterns")

MAY_IMPORT: dict[str, Parts] = {
    # the ground
    "addresses": _parts(""),
    "errors": _parts(""),
    "limits": _parts(""),
    "clock": _parts(""),
    "version": _parts(""),
    "plots": _parts("errors"),
    # nouns and pure order
    "model": GROUND,
    "causal": GROUND,
    "settings": _parts("addresses errors limits"),
    "logs": GROUND,
    # bytes, disk, keys
    "wire": GROUND | _parts("model"),
    "schemas": GROUND,
    "filters": GROUND | _parts("model schemas"),
    "soap": GROUND | _parts("model schemas"),
    "store": GROUND | _parts("model security"),
    "security": SHARED | _parts("settings logs"),
    # the verbs, and those who use them; these three do not know each other
    "hub": BELOW_HUB,
    "delivery": BELOW_HUB | _parts("hub"),
    "services": BELOW_HUB | _parts("hub"),
    "groups": BELOW_HUB | _parts("hub"),
    # the doors, and the only place that joins
    "edges": BELOW_EDGES,
    "server": BELOW_EDGES | _parts("edges"),
    # the other side of the wire: never the server's
    "client": SHARED,
    "pregon": _parts("client errors model version"),
    "chat": SHARED | _parts("client pregon"),
    "spark": SHARED | _parts("client pregon"),
    # ZeroMQ without a hub
    "patterns": GROUND | _parts("wire"),
    # what stands on both sides
    "testing": BELOW_CLI,
    "bench": (BELOW_CLI - _parts("edges")) | _parts("testing"),
    "demo": SHARED | _parts("schemas security soap"),
    "cli": BELOW_CLI | _parts("bench demo testing"),
    "__main__": _parts("cli"),
}

# Doors are siblings: they meet in `server`, or share a file that stands directly in `edges/`.
DOORS = _parts("zmq http soap admin")


def upward_imports(source: Source) -> list[str]:
    """What a module imports against the map."""
    part = part_of(source)
    if part not in MAY_IMPORT:
        return [f"{source.name}: say in tests/house/layers.py where {part} may import from"]
    found = []
    for line, target in imports_of(source):
        wanted = _part_of_target(target)
        if wanted != part and wanted not in MAY_IMPORT[part]:
            found.append(f"{source.name}:{line}: {part} may not import {target}")
    return found


def meeting_doors(source: Source) -> list[str]:
    """Doors that import each other, and folders in `edges/` that the map does not know."""
    if part_of(source) != "edges":
        return []
    parts = source.path.relative_to("src/pregon/edges").parts
    door = PurePosixPath(parts[0]).stem
    if len(parts) > 1 and door not in DOORS:
        return [f"{source.name}: say in tests/house/layers.py that edges/{door} is a door"]
    if door not in DOORS:
        return []
    others = {f"pregon.edges.{other}" for other in DOORS - {door}}
    return [
        f"{source.name}:{line}: edges/{door} may not import {target}"
        for line, target in imports_of(source)
        if ".".join(target.split(".")[:3]) in others
    ]


def undeclared_parts(names: Iterable[str]) -> list[str]:
    """Folders and files of the package that the map does not know, empty ones included."""
    return [
        f"say in tests/house/layers.py where {name} may import from"
        for name in sorted(names)
        if name not in MAY_IMPORT and name != "__init__"
    ]


def circles(map_: dict[str, Parts]) -> list[str]:
    """Why a map is no order, if it is none."""
    unknown = [f"{part} may import {other}, which is not on the map" for part in map_ for other in map_[part] - {*map_}]
    try:
        TopologicalSorter(map_).prepare()
    except CycleError as circle:
        return [*unknown, str(circle)]
    return unknown


def part_of(source: Source) -> str:
    """The folder of `src/pregon` that a file is in, or the file's own name if it stands directly there."""
    first = source.path.relative_to("src/pregon").parts[0]
    return "pregon" if first == "__init__.py" else first.removesuffix(".py")


def imports_of(source: Source) -> Iterator[tuple[int, str]]:
    """Each name of ours that a module imports, in full (`pregon.store.log`), and its line."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(source, node.level, node.module or "")
            targets = [f"{module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call):
            targets = _named_import(source, node)
        else:
            continue
        for target in targets:
            if target.split(".")[0] == "pregon":
                yield node.lineno, target


def _named_import(source: Source, call: ast.Call) -> list[str]:
    """The module in `import_module("pregon.client")`, where it is written out."""
    if ast.unparse(call.func).split(".")[-1] not in {"import_module", "__import__"} or not call.args:
        return []
    first = call.args[0]
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return []
    name = first.value.lstrip(".")
    return [_absolute(source, len(first.value) - len(name), name)]


def _absolute(source: Source, level: int, module: str) -> str:
    if level == 0:
        return module
    folder = source.path.relative_to("src").parent.parts
    return ".".join([*folder[: len(folder) - level + 1], *([module] if module else [])])


def _part_of_target(target: str) -> str:
    """`store` for `pregon.store.log`; `pregon` for a name that the package itself exports."""
    parts = target.split(".")
    is_export = len(parts) == 1 or (len(parts) == 2 and parts[1] not in MAY_IMPORT)
    return "pregon" if is_export else parts[1]
