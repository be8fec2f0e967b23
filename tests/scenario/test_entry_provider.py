"""Entering by an identity provider, without a browser: what is asked of the provider, and what is believed of it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from pregon.edges.admin.provider import FAILED, UNTRUSTED, Arrived, NotLetIn, Provider, ProviderOptions
from pregon.errors import KeysUnavailable, SettingsInvalid
from pregon.server.people_provider import make_provider
from pregon.settings import Settings

from .identity_provider import CALLBACK, CLIENT, DISCOVERY, KEYS, SECRET, TOKEN, Answer, IdentityProvider

BACK = f"http://127.0.0.1:5580{CALLBACK}"


@pytest.fixture
def idp() -> Iterator[IdentityProvider]:
    """The provider, where Ana administers."""
    with IdentityProvider() as made:
        made.people["ana"] = {"preferred_username": "ana", "roles": ["pregon:admin"]}
        yield made


def make(idp: IdentityProvider, **options: Any) -> Provider:
    """The pages' side of it."""
    return Provider(ProviderOptions(**{"issuer": idp.issuer, "client": CLIENT, "secret": SECRET, **options}))


def go(idp: IdentityProvider, address: str, who: str = "ana") -> dict[str, str]:
    """What a browser brings back that is sent to this address, where somebody says who they are."""
    asked = dict(parse_qsl(urlsplit(address).query))
    assert httpx.get(address).status_code == 200
    sent = httpx.post(f"{idp.issuer}/authorize", data={**asked, "who": who})
    return dict(parse_qsl(urlsplit(sent.headers["location"]).query))


def enter(provider: Provider, idp: IdentityProvider) -> Arrived:
    """The whole way, in one browser."""
    return provider.finish("browser", go(idp, provider.begin("browser", BACK, "/admin/topics")))


def test_the_provider_is_asked_as_the_protocol_has_it(idp: IdentityProvider) -> None:
    provider = make(idp, scopes="openid email")

    address = provider.begin("browser", BACK, "/admin")
    again = provider.begin("browser", BACK, "/admin")

    asked = dict(parse_qsl(urlsplit(address).query))
    varying = {name: asked.pop(name) for name in ("state", "nonce", "code_challenge")}
    assert address.startswith(f"{idp.issuer}/authorize?")
    assert asked == {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": BACK,
        "scope": "openid email",
        "code_challenge_method": "S256",
    }
    assert [len(varying[name]) for name in ("nonce", "code_challenge")] == [43, 43]
    # The random part and the seal; providers take a state of any length that an address may have.
    assert 43 < len(varying["state"]) < 500
    assert varying.items() & dict(parse_qsl(urlsplit(again).query)).items() == set()
    # What the provider says of itself is believed for a while.
    assert idp.asked == [DISCOVERY]


def test_whoever_comes_back_is_who_the_provider_says(idp: IdentityProvider) -> None:
    provider = make(idp)

    arrived = enter(provider, idp)

    assert arrived == Arrived("ana", "administrator", "/admin/topics")


def test_the_client_shows_its_secret_as_the_provider_wants_it(idp: IdentityProvider) -> None:
    idp.auth_methods = ["private_key_jwt", "client_secret_post"]

    arrived = enter(make(idp), idp)

    assert arrived.name == "ana"


def test_a_public_client_needs_no_secret(idp: IdentityProvider) -> None:
    idp.secret = ""

    arrived = enter(make(idp, secret=""), idp)

    assert arrived.name == "ana"


def test_a_wrong_secret_is_a_failure_that_the_log_names(
    idp: IdentityProvider, caplog: pytest.LogCaptureFixture
) -> None:
    provider = make(idp, secret="another")

    with pytest.raises(NotLetIn, match="401 invalid_client") as refused:
        enter(provider, idp)

    assert refused.value.reason == FAILED
    assert [record.message for record in caplog.records] == ["somebody is not let in"]
    assert "another" not in caplog.text


WRONG: dict[str, dict[str, Any]] = {
    "nonce": {"nonce": "of-another-entry"},
    "no nonce": {"nonce": ""},
    "nonce is no text": {"nonce": 7},
    "audience": {"aud": "another-client"},
    "made for another client": {"aud": [CLIENT, "another"], "azp": "another"},
    "issuer": {"iss": "https://elsewhere.example"},
    "expired": {"exp": time.time() - 3_600},
    "of the future": {"iat": time.time() + 3_600},
    "nobody": {"sub": ""},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_token_that_is_not_for_this_entry_lets_nobody_in(idp: IdentityProvider, wrong: str) -> None:
    provider = make(idp)
    idp.said = WRONG[wrong]

    with pytest.raises(NotLetIn) as refused:
        enter(provider, idp)
    idp.said = {}

    assert refused.value.reason == UNTRUSTED
    assert enter(provider, idp).name == "ana"


def test_a_token_that_another_key_signed_lets_nobody_in(idp: IdentityProvider) -> None:
    provider = make(idp)
    with IdentityProvider() as other:
        forged = other.sign("ana", iss=idp.issuer, aud=CLIENT, roles=["pregon:admin"])
    idp.answers[TOKEN] = Answer(json.dumps({"id_token": forged}).encode())

    with pytest.raises(NotLetIn, match="signature") as refused:
        enter(provider, idp)

    assert refused.value.reason == UNTRUSTED


def test_a_key_that_is_new_at_the_provider_is_fetched(idp: IdentityProvider) -> None:
    provider = make(idp)
    first = enter(provider, idp)

    idp.rotate(keep=False)
    second = enter(provider, idp)

    assert first == second
    assert idp.asked.count(KEYS) == 2


def test_an_answer_of_another_issuer_or_of_none_is_not_taken(idp: IdentityProvider) -> None:
    provider = make(idp)

    for issuer in ("https://elsewhere.example", None):
        answer = go(idp, provider.begin("browser", BACK, "/admin"))
        answer.pop("iss")
        with pytest.raises(NotLetIn, match="another issuer"):
            provider.finish("browser", answer | ({"iss": issuer} if issuer else {}))

    assert TOKEN not in idp.asked


def test_a_code_is_of_no_use_without_the_secret_of_pkce(idp: IdentityProvider) -> None:
    provider = make(idp)
    stolen = go(idp, provider.begin("of the victim", BACK, "/admin"))
    mine = go(idp, provider.begin("mine", BACK, "/admin"))

    with pytest.raises(NotLetIn, match="400 invalid_grant"):
        provider.finish("mine", {**mine, "code": stolen["code"]})


STRANGE: dict[str, Answer] = {
    "no JSON": Answer(b"<html>"),
    "a list": Answer(b"[]"),
    "no token": Answer(b"{}"),
    "no text": Answer(b'{"id_token": 7}'),
    "no JWT": Answer(b'{"id_token": "x.y.z"}'),
    "too deep": Answer(b"[" * 50_000),
    "elsewhere": Answer(b"", 302, "http://127.0.0.1:1/"),
    "an error that is no code": Answer(b'{"error": "<b>x</b>"}', 400),
}


@pytest.mark.parametrize("strange", STRANGE)
def test_whatever_is_given_instead_of_a_token_lets_nobody_in(idp: IdentityProvider, strange: str) -> None:
    provider = make(idp)
    idp.answers[TOKEN] = STRANGE[strange]

    with pytest.raises(NotLetIn) as refused:
        enter(provider, idp)

    assert refused.value.reason in (FAILED, UNTRUSTED)
    assert "<" not in str(refused.value)


def test_a_provider_that_gives_no_answer_to_be_used_is_said_to_be_unavailable(idp: IdentityProvider) -> None:
    provider = make(idp)
    idp.answers[TOKEN] = Answer(b"x" * 100_000)

    with pytest.raises(KeysUnavailable):
        enter(provider, idp)


@pytest.mark.parametrize("status", [400, 401, 500, 503])
def test_what_a_provider_answers_to_one_code_keeps_nobody_else_out(idp: IdentityProvider, status: int) -> None:
    provider = make(idp)
    idp.answers[TOKEN] = Answer(b"", status)

    with pytest.raises(NotLetIn) as refused:
        enter(provider, idp)
    del idp.answers[TOKEN]

    assert (refused.value.reason, str(status) in str(refused.value)) == (FAILED, True)
    assert enter(provider, idp).name == "ana"


DOORS: dict[str, dict[str, Any]] = {
    "another issuer": {"issuer": "https://elsewhere.example"},
    "plain http": {"token_endpoint": "http://id.example/token"},
    "a file": {"token_endpoint": "file:///etc/passwd"},
    "a script": {"authorization_endpoint": "javascript:alert(1)"},
    "two lines": {"authorization_endpoint": "https://id.example/\r\nSet-Cookie: a=b"},
    "nowhere": {"authorization_endpoint": None},
}


@pytest.mark.parametrize("door", DOORS)
def test_a_discovery_document_that_is_not_safe_is_not_used(idp: IdentityProvider, door: str) -> None:
    idp.answers[DISCOVERY] = Answer(json.dumps({**idp.discovered(), **DOORS[door]}).encode())

    with pytest.raises(KeysUnavailable, match="discovery document"):
        make(idp).begin("browser", BACK, "/admin")


def test_a_provider_that_never_answers_is_given_up_and_then_left_alone_for_a_while() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        provider = Provider(ProviderOptions(issuer=f"http://127.0.0.1:{silent.getsockname()[1]}", client=CLIENT))

        with pytest.raises(KeysUnavailable):
            provider.begin("browser", BACK, "/admin")
        silent.settimeout(0)
        silent.accept()[0].close()
        with pytest.raises(KeysUnavailable, match="a moment ago"):
            provider.begin("browser", BACK, "/admin")

        # It was asked once.
        with pytest.raises(BlockingIOError):
            silent.accept()


def test_a_hub_takes_its_provider_from_the_settings(idp: IdentityProvider, tmp_path: Any) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")

    provider = make_provider(
        Settings(oidc_issuer=idp.issuer, admin_oidc_client=CLIENT, admin_oidc_secret_file=str(file))
    )

    assert provider is not None
    assert provider.title == "127.0.0.1"
    assert enter(provider, idp).name == "ana"
    assert make_provider(Settings()) is None


INVALID: list[tuple[dict[str, str], str]] = [
    ({"admin_oidc_client": "c"}, "needs admin_oidc_issuer"),
    ({"admin_oidc_issuer": "https://id.example"}, "needs admin_oidc_client"),
    ({"admin_oidc_secret": "s"}, "needs admin_oidc_client"),
    ({"admin_oidc_client": "c", "admin_oidc_issuer": "http://id.example"}, "must be https"),
    ({"admin_oidc_client": "c", "admin_oidc_issuer": "https://i", "admin_oidc_scopes": "profile"}, "must have openid"),
    ({"admin_oidc_client": "c", "admin_oidc_issuer": "https://i", "admin_oidc_role_claim": ""}, "names of claims"),
    (
        {"admin_oidc_client": "c", "admin_oidc_issuer": "https://i", "admin_oidc_secret_file": "/dev/null"},
        "is empty",
    ),
    (
        {"admin_oidc_client": "c", "admin_oidc_issuer": "https://i", "admin_oidc_secret_file": "/not/there"},
        "cannot be read",
    ),
    (
        {"admin_oidc_client": "c", "admin_oidc_secret": "s", "admin_oidc_secret_file": "/dev/null"},
        "one too many",
    ),
]


@pytest.mark.parametrize(("settings", "why"), INVALID)
def test_settings_that_could_never_work_are_refused(settings: dict[str, str], why: str) -> None:
    with pytest.raises(SettingsInvalid, match=why):
        make_provider(Settings(**settings))  # type: ignore[arg-type]
