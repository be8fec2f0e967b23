"""Signatures of pushes, checked by the library of Standard Webhooks, which knows nothing of us."""

from __future__ import annotations

import base64
import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from pregon.clock import wall_us
from pregon.errors import BadRequest
from pregon.security.signatures import decode_secret, encode_secret, new_secret, sign

BODY = '{"nombre": "Pepe Gómez"}'.encode()


def verify(secret: bytes, headers: dict[str, str], body: bytes) -> None:
    """Ask the independent library; it reads the body as JSON once the signature is right."""
    Webhook(encode_secret(secret)).verify(body, headers)


def signed(secrets: list[bytes], body: bytes = BODY, at_s: int | None = None) -> dict[str, str]:
    timestamp_s = wall_us() // 1_000_000 if at_s is None else at_s
    return {
        "webhook-id": "fallecidos:17",
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": sign(secrets, "fallecidos:17", timestamp_s, body),
    }


def test_the_library_of_standard_webhooks_accepts_what_was_signed() -> None:
    secret = new_secret()

    headers = signed([secret])

    verify(secret, headers, BODY)


@pytest.mark.parametrize("changed", ["webhook-id", "webhook-timestamp", "body"])
def test_whatever_is_changed_on_the_way_is_noticed(changed: str) -> None:
    secret = new_secret()
    headers, body = signed([secret]), BODY

    if changed == "body":
        body = BODY.replace(b"Pepe", b"Pipo")
    else:
        headers[changed] = headers[changed][:-1] + ("1" if headers[changed][-1] == "0" else "0")

    with pytest.raises(WebhookVerificationError):
        verify(secret, headers, body)


def test_while_secrets_change_each_of_them_verifies_and_the_newest_comes_first() -> None:
    new, old, other = new_secret(), new_secret(), new_secret()

    headers = signed([new, old])

    verify(new, headers, BODY)
    verify(old, headers, BODY)
    with pytest.raises(WebhookVerificationError):
        verify(other, headers, BODY)
    first, second = headers["webhook-signature"].split(" ")
    timestamp_s = int(headers["webhook-timestamp"])
    assert first == sign([new], "fallecidos:17", timestamp_s, BODY)
    assert second == sign([old], "fallecidos:17", timestamp_s, BODY)


@given(st.binary(min_size=24, max_size=64), st.text(max_size=40), st.binary(max_size=500))
def test_the_signature_is_the_one_that_the_library_makes(secret: bytes, message_id: str, body: bytes) -> None:
    message_id = message_id.encode("ascii", "ignore").decode()
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text, body = "x", b"x"
    moment = datetime.datetime.fromtimestamp(1_763_000_000, tz=datetime.UTC)

    ours = sign([secret], message_id, 1_763_000_000, body)

    assert ours == Webhook(encode_secret(secret)).sign(message_id, moment, text)


def test_a_body_that_is_no_text_is_signed_as_it_is() -> None:
    assert sign([b"k" * 32], "t:1", 1, b"\xff\x00").startswith("v1,")
    assert sign([b"k" * 32], "t:1", 1, b"\xff\x00") != sign([b"k" * 32], "t:1", 1, b"\xff\x01")
    assert sign([], "t:1", 1, b"") == ""


@given(st.binary(min_size=24, max_size=64))
def test_a_secret_comes_back_from_its_text(secret: bytes) -> None:
    text = encode_secret(secret)

    assert text.startswith("whsec_")
    assert decode_secret(text) == secret
    assert decode_secret(f"  {text.removeprefix('whsec_')}\n") == secret


def test_new_secrets_are_long_and_never_the_same() -> None:
    made = {new_secret() for _ in range(100)}

    assert len(made) == 100
    assert {len(one) for one in made} == {32}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "whsec_",
        "whsec_" + base64.b64encode(b"x" * 23).decode(),
        "whsec_" + base64.b64encode(b"x" * 65).decode(),
        "whsec_" + "A" * 10_000,
        "whsec_" + "*" * 40,
        "whsec_" + "ñ" * 40,
        "whsec_" + "A" * 33,
    ],
)
def test_a_text_that_is_no_secret_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(BadRequest, match="whsec_ and 24 to 64") as caught:
        decode_secret(text)

    assert len(str(caught.value)) < 120
