"""The rules of the documents can fail: each is shown a document that leaves something out."""

import msgspec
import pytest
import typer
import typer.main

from . import documents


def small_app() -> documents.Command:
    """A command line with a group, an option with two names, and things to hide."""
    app, topic = typer.Typer(), typer.Typer()
    app.add_typer(topic, name="topic")

    @topic.command("add")
    def add(name: str, keep: bool = True, secret: str = typer.Option("", hidden=True)) -> None: ...

    @topic.command("drop")
    def drop() -> None: ...

    @app.command("debug", hidden=True)
    def debug(level: int = 0) -> None: ...

    return typer.main.get_command(app)


class Http(msgspec.Struct, rename="kebab"):
    """A section."""

    port: int = 8080
    max_clients: int = 10


class Settings(msgspec.Struct):
    """Settings with a section and a plain field."""

    data: str = ""
    http: Http | None = None


class BrokenError(Exception):
    """The root of a small tree of errors."""


class LostError(BrokenError):
    """One with a code."""

    code = "lost"


class MislaidError(BrokenError):
    """One with the code of another."""

    code = "lost"


class ForgottenError(LostError):
    """One that only inherits its code."""


def test_a_command_and_its_options_left_out_are_reported() -> None:
    document = "# `pregon`\n\n`pregon topic add` takes `--keep-all`; pregon topic drop and --no-keep stand in prose."

    found = documents.undocumented_commands(small_app(), "pregon", document)

    assert found == [
        "`--keep` of `pregon topic add` is not documented",
        "`--no-keep` of `pregon topic add` is not documented",
        "`pregon topic drop` is not documented",
    ]


def test_a_complete_page_of_commands_has_nothing_to_report() -> None:
    document = "## pregon topic add\n\n| `--keep/--no-keep` | keep it |\n\n```\npregon topic drop\n```\n"

    found = documents.undocumented_commands(small_app(), "pregon", document)

    assert found == []


def test_a_setting_left_out_is_reported_by_each_of_its_names() -> None:
    document = "The data is in `data` (`PREGON_DATA`); `http.port` is `PREGON_HTTP_PORT`; `PREGON_HTTP_MAX_CLIENTS`."

    found = documents.undocumented_settings(Settings, document) + documents.undocumented_settings(Http, "")

    assert found == [
        "`http.max-clients` is not documented",
        "`port` is not documented",
        "`PREGON_PORT` is not documented",
        "`max-clients` is not documented",
        "`PREGON_MAX_CLIENTS` is not documented",
    ]


def test_an_error_code_left_out_is_reported() -> None:
    family = documents.family_of(BrokenError)

    found = documents.undocumented_codes([LostError], "A message may be lost, or `lost-again`.")

    assert family == [BrokenError, LostError, MislaidError, ForgottenError]
    assert found == ["`lost` of LostError is not documented"]


def test_errors_that_share_a_code_are_reported() -> None:
    family = documents.family_of(BrokenError)

    found = documents.shared_codes(family)

    assert found == [
        "MislaidError and LostError have the same code `lost`",
        "ForgottenError has no code of its own",
    ]


@pytest.mark.parametrize("line", ["| `ROWS_MAX` | 10,000 |", "`ROWS_MAX` = 10000.", "ROWS_MAX: 10,000, no more"])
def test_a_limit_may_be_written_as_people_write_numbers(line: str) -> None:
    limits = documents.constants_of({"ROWS_MAX": 10_000, "__doc__": "", "Final": object, "TYPE_CHECKING": False})

    found = documents.undocumented_limits(limits, f"# Limits\n\n{line}\n")

    assert found == []


@pytest.mark.parametrize(
    ("value", "written"),
    [(4 * 2**20, "4 MiB"), (64 * 2**10, "64 KiB"), (4 * 2**20, "4,194,304"), (30.0, "30"), (0, "0")],
)
def test_a_limit_may_be_written_in_binary_units(value: float, written: str) -> None:
    document = f"| `SIZE_MAX` | {written} |"

    found = documents.undocumented_limits({"SIZE_MAX": value}, document)

    assert found == []


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("`BATCH_BYTES_MAX_EVER` is 4 MiB", "`BATCH_BYTES_MAX` is not documented"),
        ("`BATCH_BYTES_MAX` is 64 MiB", "`BATCH_BYTES_MAX` is documented without its value, 4194304"),
        ("`BATCH_BYTES_MAX`\n\n4 MiB", "`BATCH_BYTES_MAX` is documented without its value, 4194304"),
        ("`BATCH_BYTES_MAX` is 14,194,304", "`BATCH_BYTES_MAX` is documented without its value, 4194304"),
    ],
)
def test_a_limit_left_out_or_with_another_value_is_reported(document: str, reason: str) -> None:
    limits = {"BATCH_BYTES_MAX": 4 * 2**20}

    found = documents.undocumented_limits(limits, document)

    assert found == [reason]


def test_a_route_left_out_is_reported_by_its_method_and_whole_path() -> None:
    routes = [("GET", "/v1/topics"), ("POST", "/v1/topics"), ("GET", "/v1/topics/{topic}"), ("GET", "/docs")]
    document = "`GET /v1/topics/{topic}` shows one, `REPOST /v1/topics` is nothing, and GET /docs stands in prose."

    found = documents.undocumented_routes(routes, document)

    assert found == [
        "`GET /v1/topics` is not documented",
        "`POST /v1/topics` is not documented",
        "`GET /docs` is not documented",
    ]


def test_a_complete_page_of_routes_has_nothing_to_report() -> None:
    routes = [("GET", "/v1/topics"), ("GET", "/v1/topics/{topic}"), ("DELETE", "/v1/topics/{topic}")]
    document = "## GET /v1/topics\n\n| `GET /v1/topics/{topic}` | one |\n\n```\nDELETE /v1/topics/{topic}?x=1\n```\n"

    found = documents.undocumented_routes(routes, document)

    assert found == []


def test_a_link_to_nothing_is_reported() -> None:
    document = (
        "[a](here.md#part) [b](gone.md) ![c](<gone.png> 'title') [d](https://example.org/x) [e](#part)\n"
        "[f]: lost.md\n\n```\n[g](in-code.md)\n```\n"
    )

    found = documents.broken_links(document, lambda target: target == "here.md")

    assert found == ["gone.md does not exist", "gone.png does not exist", "lost.md does not exist"]
