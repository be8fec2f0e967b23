"""The documents name everything the program has, and their links lead somewhere."""

import importlib
from pathlib import Path

import typer.main

from . import documents
from .repository import missing_commands
from .tree import ROOT, kept_files, listed, read


def test_every_command_and_option_is_documented() -> None:
    app = importlib.import_module("pregon.cli").app
    command = typer.main.get_command(app)

    found = documents.undocumented_commands(command, "pregon", read("docs/reference/cli.md"))

    assert not found, listed(found)


def test_every_setting_is_documented_with_its_variable() -> None:
    settings = importlib.import_module("pregon.settings").Settings

    found = documents.undocumented_settings(settings, read("docs/reference/settings.md"))

    assert not found, listed(found)


def test_every_error_code_is_documented() -> None:
    family = documents.family_of(importlib.import_module("pregon.errors").PregonError)

    found = documents.undocumented_codes(family, read("docs/reference/errors.md"))

    assert not found, listed(found)


def test_every_error_has_a_code_of_its_own() -> None:
    family = documents.family_of(importlib.import_module("pregon.errors").PregonError)

    found = documents.shared_codes(family)

    assert not found, listed(found)


def test_every_limit_is_documented_with_its_value() -> None:
    limits = documents.constants_of(vars(importlib.import_module("pregon.limits")))

    found = documents.undocumented_limits(limits, read("docs/reference/limits.md"))

    assert not found, listed(found)


def test_every_route_of_the_http_interface_is_documented() -> None:
    make_router = importlib.import_module("pregon.edges.http.api").make_router
    dispatcher = object()  # Routes hold it; nothing is asked of it here.
    routes = [(route.method, route.path) for route in make_router(dispatcher).routes]

    found = documents.undocumented_routes(routes, read("docs/reference/rest.md"))

    assert len(routes) > 50
    assert not found, listed(found)


def test_every_relative_link_leads_to_a_file() -> None:
    pages = [
        name for name in kept_files() if name == "README.md" or (name.startswith("docs/") and name.endswith(".md"))
    ]

    found = [f"{page}: {broken}" for page in pages for broken in broken_links_of(ROOT / page)]

    assert pages
    assert not found, listed(found)


def test_the_readme_shows_how_to_run_and_how_to_test() -> None:
    shown = documents.set_apart(read("README.md"))

    found = missing_commands(shown, ["make run", "make test"])

    assert not found, listed(found)


def broken_links_of(page: Path) -> list[str]:
    """The broken links of a page, sought from where the page stands."""
    return documents.broken_links(page.read_text(encoding="utf-8"), lambda target: (page.parent / target).exists())
