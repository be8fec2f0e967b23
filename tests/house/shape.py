"""Rules of size and shape: what fits in a head, and says what it is.

Promises: pure, one `Source` in, sentences out. What the code does is left to `conduct`.
"""

import ast
import re

from .tree import Source

MODULE_LINES_MAX = 350
FUNCTION_LINES_MAX = 60
PARAMETERS_MAX = 7
PACKAGE_SENTENCES_MIN = 2
EMPTY_NAMES = frozenset({"utils", "helpers", "common", "misc", "core", "manager"})
COMMANDS = "src/pregon/cli/"

Function = ast.FunctionDef | ast.AsyncFunctionDef

# A full stop inside these ends no sentence.
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs)\.")
_SENTENCE_END = re.compile(r"[.!?][)`*\"']*(?=\s|$)")


def long_modules(source: Source) -> list[str]:
    """A module has at most 350 lines."""
    lines = len(source.text.splitlines())
    if lines <= MODULE_LINES_MAX:
        return []
    return [f"{source.name}: {lines} lines, at most {MODULE_LINES_MAX}"]


def long_functions(source: Source) -> list[str]:
    """A function has at most 60 lines, from its `def` to its last line, docstring included."""
    found = []
    for function in _functions(source.tree):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > FUNCTION_LINES_MAX:
            found.append(f"{source.at(function)}: {function.name} has {lines} lines, at most {FUNCTION_LINES_MAX}")
    return found


def wide_signatures(source: Source) -> list[str]:
    """A signature has at most 7 parameters; a command of the command line has the options its users need."""
    found = []
    for function in _functions(source.tree):
        if source.name.startswith(COMMANDS) and _is_command(function):
            continue
        count = len(_parameters(function))
        if count > PARAMETERS_MAX:
            found.append(
                f"{source.at(function)}: {function.name} takes {count} parameters, at most {PARAMETERS_MAX}: "
                "group them in a frozen dataclass"
            )
    return found


def silent_modules(source: Source) -> list[str]:
    """A module opens by saying what it is for; an empty `__init__.py` outside the package may stay empty."""
    is_marker = source.path.name == "__init__.py" and not source.text.strip()
    if ast.get_docstring(source.tree) or (is_marker and not source.name.startswith("src/")):
        return []
    return [f"{source.name}: no docstring says what it is for"]


def curt_packages(source: Source) -> list[str]:
    """A package says in two sentences what it is for and what it leaves to others."""
    if source.path.name != "__init__.py":
        return []
    said = _ABBREVIATION.sub(r"\1", ast.get_docstring(source.tree) or "")
    count = len(_SENTENCE_END.findall(said))
    if count >= PACKAGE_SENTENCES_MIN:
        return []
    return [f"{source.name}: {count} sentences in its docstring, at least {PACKAGE_SENTENCES_MIN}"]


def empty_names(source: Source) -> list[str]:
    """No file or folder has a name that could hold anything."""
    parts = (*source.path.parent.parts, source.path.stem)
    return [f"{source.name}: `{part}` says nothing of what is inside" for part in parts if part in EMPTY_NAMES]


def undescribed_names(source: Source) -> list[str]:
    """Every public class and function at the top of a module has a docstring."""
    return [
        f"{source.at(node)}: {node.name} is public and has no docstring"
        for node in source.tree.body
        if isinstance(node, ast.ClassDef | Function)
        and not node.name.startswith("_")
        and not _is_overload(node)
        and not ast.get_docstring(node)
    ]


def _functions(tree: ast.Module) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def _parameters(function: Function) -> list[str]:
    signature = function.args
    named = [argument.arg for argument in (*signature.posonlyargs, *signature.args)]
    if named[:1] in (["self"], ["cls"]):
        named = named[1:]
    rest = [argument for argument in (signature.vararg, *signature.kwonlyargs, signature.kwarg) if argument]
    return named + [argument.arg for argument in rest]


def _is_command(function: Function) -> bool:
    return bool(_decorators(function) & {"command", "callback"})


def _is_overload(node: Function | ast.ClassDef) -> bool:
    return "overload" in _decorators(node)


def _decorators(node: Function | ast.ClassDef) -> set[str]:
    """The last word of each decorator: `command` for `@app.command("add")`."""
    return {ast.unparse(decorator).split("(")[0].split(".")[-1] for decorator in node.decorator_list}
