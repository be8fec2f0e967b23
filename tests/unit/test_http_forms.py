"""The pieces of the HTTP door that need no socket: the form of an answer, the table of routes, cursors and problems."""

from __future__ import annotations

import pytest

from pregon.edges.http.answers import choose, problem_answer, problem_of, status_of
from pregon.edges.http.api import make_router
from pregon.edges.http.forms import MessageIn, decode_cursor, encode_cursor, time_name
from pregon.edges.http.openapi import describe
from pregon.edges.http.routes import Router
from pregon.errors import BY_CODE, BadRequest, MethodUnknown, NotAcceptable, NotFound, Unavailable

OFFERS = ("application/json", "application/xml", "text/plain")


@pytest.fixture(scope="module")
def router() -> Router:
    # Nothing is carried out here: the table needs nobody who could.
    return make_router(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("text/*", "text/plain"),
        ("application/xml", "application/xml"),
        ("application/xml;q=0.3, text/plain;q=0.4", "text/plain"),
        ("application/*;q=0.3, application/xml;q=0.4", "application/xml"),
        ("application/json;q=0, application/*", "application/xml"),
        ("*/*;q=0.1, text/plain;q=0.05", "application/json"),
        ("APPLICATION/XML", "application/xml"),
        ("application/xml; charset=utf-8; q=1", "application/xml"),
        ("text/html, */*;q=0.1", "application/json"),
        ("text/plain;q=2", "text/plain"),
    ],
)
def test_the_form_that_is_liked_best_is_chosen(accept: str, chosen: str) -> None:
    assert choose(accept, OFFERS) == chosen


@pytest.mark.parametrize("accept", ["text/html", "*/*;q=0", "application/json;q=nan", ",", "json", "text/plain;q=-1"])
def test_no_form_is_chosen_that_is_not_liked(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        choose(accept, OFFERS)


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_every_error_is_a_problem_that_says_whether_to_try_again(code: str) -> None:
    error = BY_CODE[code]("what to do")

    problem, answer = problem_of(error), problem_answer(error)

    headers = dict(answer.headers)
    assert (problem.code, problem.detail, problem.status) == (code, "what to do", answer.status)
    assert problem.title and "\n" not in problem.title
    assert problem.retryable == isinstance(error, Unavailable) == (b"retry-after" in headers)
    assert 400 <= status_of(error) < 600
    assert (b"www-authenticate" in headers) == (answer.status == 401)


def test_every_route_is_found_at_its_own_address(router: Router) -> None:
    for route in router.routes:
        path = route.path.replace("{seq}", "1").replace("{", "").replace("}", "")

        found, params = router.find(route.method, path)

        assert found is route
        assert set(params) == {part[1:-1] for part in route.path.split("/") if part.startswith("{")}
        assert route.method in router.methods(path)


@pytest.mark.parametrize(
    "path", ["", "/", "/v1", "/v1/topics/", "/v1/topics//messages", "/v1/topics/t/messages/1/body/x"]
)
def test_no_route_is_found_where_there_is_none(router: Router, path: str) -> None:
    with pytest.raises(NotFound):
        router.find("GET", path)


def test_head_is_found_where_get_is_and_other_methods_are_unknown(router: Router) -> None:
    found, _ = router.find("HEAD", "/v1/topics")

    assert found.method == "GET"
    with pytest.raises(MethodUnknown):
        router.find("HEAD", "/v1/topics/t/subscriptions/s/pull")
    with pytest.raises(MethodUnknown):
        router.find("PUT", "/v1/topics")


def test_every_route_is_described_once_under_a_name_of_its_own(router: Router) -> None:
    paths = describe(router.routes)["paths"]

    operations = [operation for methods in paths.values() for operation in methods.values()]
    assert len(operations) == len(router.routes)
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert all(operation["summary"] and operation["responses"] for operation in operations)


@pytest.mark.parametrize("names", [["a"], ["a", "b"], [17], ["x" * 128, "ñ"]])
def test_a_cursor_is_read_as_it_was_written(names: list[str | int]) -> None:
    cursor = encode_cursor(names)

    assert decode_cursor(cursor, len(names)) == tuple(str(name) for name in names)
    assert cursor.replace("-", "").replace("_", "").isalnum()
    with pytest.raises(BadRequest):
        decode_cursor(cursor, len(names) + 1)


@pytest.mark.parametrize("cursor", ["x", "ñ", "!!!!", "AAAA", "wA", "k", "a" * 1_000])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(BadRequest):
        decode_cursor(cursor, 1)


def test_no_cursor_is_the_first_page() -> None:
    assert decode_cursor("", 1) == ()


@pytest.mark.parametrize(
    ("name", "shown"), [("created_us", "created_at"), ("at_us", "at"), ("expires_us", "expires_at")]
)
def test_times_have_names_without_units(name: str, shown: str) -> None:
    assert time_name(name) == shown


@pytest.mark.parametrize("message", [MessageIn(), MessageIn(text="a", base64="YQ=="), MessageIn(base64="a b")])
def test_a_message_says_its_body_once(message: MessageIn) -> None:
    with pytest.raises(BadRequest):
        message.outgoing()
