"""Bodies as a person looks at them: laid out, never carried out, never too much."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregon.edges.admin.bodies import EMPTY, HEX, JSON, KINDS, TEXT, XML, ShownBody, show_body
from pregon.limits import ADMIN_BODY_SHOWN_CHARACTERS_MAX, MIB

LAUGHS = b"""<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]>
<lolz>&lol2;</lolz>"""
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><g><path d="M0 0"/></g></svg>'


def test_json_has_a_line_for_each_value_and_everything_stands_as_it_was_written() -> None:
    body = b'{"ci":1.10,"n":12345678901234567890123,"e":-0.0e+5,"t":"a\\u00e9: {[,]} \\"x\\"","l":[1,[],{}],"t":null}'

    shown = show_body("application/json; charset=utf-8", body)

    assert shown.kind == JSON
    assert shown.text.splitlines() == [
        "{",
        '  "ci": 1.10,',
        '  "n": 12345678901234567890123,',
        '  "e": -0.0e+5,',
        '  "t": "a\\u00e9: {[,]} \\"x\\"",',
        '  "l": [',
        "    1,",
        "    [],",
        "    {}",
        "  ],",
        '  "t": null',
        "}",
    ]
    assert not shown.is_cut


@pytest.mark.parametrize(
    "body, text",
    [
        (b'"alone"', '"alone"'),
        (b" 7 ", "7"),
        (b"[ ]", "[]"),
        (b'{"a" : [ { } ] }', '{\n  "a": [\n    {}\n  ]\n}'),
    ],
)
def test_any_json_value_is_laid_out(body: bytes, text: str) -> None:
    assert show_body("application/problem+json", body) == ShownBody(JSON, text, False, len(body))


@pytest.mark.parametrize("body", [b"[1,]", b"{'a': 1}", b"nan", b'{"a":1} x', b'["\x01"]', b"[1 2]"])
def test_what_is_no_json_is_shown_as_the_text_that_it_is(body: bytes) -> None:
    shown = show_body("application/json", body)

    assert shown.kind == TEXT
    assert shown.text == body.decode().replace("\x01", "␁")


@pytest.mark.parametrize("depth", [101, 900, 100_000])
def test_json_that_is_too_deep_is_shown_as_text(depth: int) -> None:
    shown = show_body("application/json", b"[" * depth + b"]" * depth)

    assert (shown.kind, shown.text[:3], shown.is_cut) == (TEXT, "[[[", 2 * depth > ADMIN_BODY_SHOWN_CHARACTERS_MAX)


def test_json_that_would_grow_a_hundred_times_is_laid_out_no_further_than_it_is_shown() -> None:
    body = b"[" * 99 + b"1," * (MIB // 2) + b"1" + b"]" * 99
    begun = time.perf_counter()

    shown = show_body("application/json", body)

    assert (shown.kind, len(shown.text), shown.is_cut) == (JSON, ADMIN_BODY_SHOWN_CHARACTERS_MAX, True)
    assert time.perf_counter() - begun < 2


def test_xml_has_a_line_for_each_element() -> None:
    body = b'<?xml version="1.0" encoding="iso-8859-1"?><a x="1"><b>\xf1</b><!-- c --><d><e/></d></a>'

    shown = show_body("text/xml", body)

    assert shown.kind == XML
    assert shown.text.splitlines() == [
        '<a x="1">',
        "  <b>ñ</b>",
        "  <!-- c -->",
        "  <d>",
        "    <e/>",
        "  </d>",
        "</a>",
    ]


@pytest.mark.parametrize("content_type", ["application/xml", "application/soap+xml", "application/octet-stream"])
def test_xml_with_entities_is_shown_as_text_and_none_is_resolved(content_type: str) -> None:
    shown = show_body(content_type, LAUGHS)

    assert shown == ShownBody(TEXT, LAUGHS.decode(), False, len(LAUGHS))


def test_xml_that_names_a_file_gets_nothing_of_it() -> None:
    body = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'

    assert show_body("application/xml", body).text == body.decode()


def test_a_picture_that_is_xml_is_shown_as_its_text() -> None:
    shown = show_body("image/svg+xml", SVG)

    assert shown.kind == XML
    assert "<script>alert(1)</script>" in shown.text


def test_xml_of_very_many_elements_is_laid_out_no_further_than_it_is_shown() -> None:
    body = b"<a>" * 90 + b"<b/>" * 190_000 + b"</a>" * 90
    begun = time.perf_counter()

    shown = show_body("application/xml", body)

    assert (shown.kind, len(shown.text), shown.is_cut) == (XML, ADMIN_BODY_SHOWN_CHARACTERS_MAX, True)
    assert time.perf_counter() - begun < 3


@pytest.mark.parametrize("content_type", ["text/html", "text/plain; charset=utf-8", "", "application/octet-stream"])
def test_text_is_text_whatever_it_would_be_elsewhere(content_type: str) -> None:
    body = "Pepe Gómez\r\n¡murió!\t<script>alert(1)</script".encode()

    shown = show_body(content_type, body)

    assert shown == ShownBody(TEXT, "Pepe Gómez\n¡murió!\t<script>alert(1)</script", False, len(body))


def test_a_charset_that_the_type_names_is_read() -> None:
    assert show_body("text/plain; charset=ISO-8859-1", "niño".encode("latin-1")).text == "niño"
    assert show_body('text/csv;charset="windows-1252"', b"\x80").text == "€"


@pytest.mark.parametrize("charset", ["utf-7", "rot13", "zip", "idna", "no-such-one"])
def test_a_charset_that_is_not_read_is_shown_byte_by_byte(charset: str) -> None:
    assert show_body(f"text/plain; charset={charset}", b"hola").kind == HEX


def test_what_cannot_be_seen_is_named() -> None:
    body = "a\0b\x1b[31m\x7f\x85\u202efdp.exe\u2066\ufeff\rz👨‍👩".encode()

    shown = show_body("text/plain", body)

    assert shown.kind == TEXT
    assert shown.text == "a␀b␛[31m␡⟨U+0085⟩⟨U+202E⟩fdp.exe⟨U+2066⟩⟨U+FEFF⟩␍z👨‍👩"


def test_bytes_are_shown_with_where_they_are_and_what_they_would_be() -> None:
    shown = show_body("image/png", b"\x89PNG\r\n\x1a\n" + bytes(range(60, 72)))

    assert shown.kind == HEX
    assert shown.text.splitlines() == [
        "00000000  89 50 4e 47 0d 0a 1a 0a  3c 3d 3e 3f 40 41 42 43  |.PNG....<=>?@ABC|",
        "00000010  44 45 46 47                                       |DEFG|",
    ]


@pytest.mark.parametrize("content_type", ["text/plain", "application/json", "text/xml", "application/octet-stream"])
def test_what_is_no_utf_8_is_shown_byte_by_byte(content_type: str) -> None:
    shown = show_body(content_type, b"hola \xff\xfe")

    assert shown.kind == HEX
    assert "68 6f 6c 61 20 ff fe" in shown.text


def test_a_type_that_says_nothing_is_looked_at() -> None:
    nothing = "application/octet-stream"

    kinds = [show_body(nothing, body).kind for body in (b'{"a": 1}', b"<a/>", b"hola", b"a\0b", b"\xff", b"{")]

    assert kinds == [JSON, XML, TEXT, HEX, HEX, TEXT]


def test_nothing_is_nothing() -> None:
    assert show_body("application/json", b"") == ShownBody(EMPTY, "", False, 0)


@pytest.mark.parametrize(
    "content_type, body",
    [
        ("text/plain", b"x" * MIB),
        ("text/plain", b"\0" * MIB),
        ("application/json", b'["' + b"x" * MIB + b'"]'),
        ("application/json", b"[" + b"1," * (MIB // 2) + b"1]"),
        ("text/xml", b"<a>" + b"x" * MIB + b"</a>"),
        ("application/pdf", bytes(range(256)) * 4_096),
    ],
)
def test_of_a_large_body_the_beginning_is_shown(content_type: str, body: bytes) -> None:
    shown = show_body(content_type, body)

    assert shown.is_cut
    assert shown.size == len(body)
    assert ADMIN_BODY_SHOWN_CHARACTERS_MAX * 0.9 < len(shown.text) <= ADMIN_BODY_SHOWN_CHARACTERS_MAX


def test_a_body_that_just_fits_is_not_cut() -> None:
    shown = show_body("text/plain", b"x" * ADMIN_BODY_SHOWN_CHARACTERS_MAX)

    assert (len(shown.text), shown.is_cut) == (ADMIN_BODY_SHOWN_CHARACTERS_MAX, False)


@given(
    st.sampled_from(["application/json", "text/xml", "text/plain", "", "image/x", "text/plain; charset=utf-16"]),
    st.one_of(st.binary(max_size=300), st.text(alphabet='{}[]<>/ab"\\:,1 \n\0é', max_size=60).map(str.encode)),
)
def test_whatever_the_bytes_something_is_shown(content_type: str, body: bytes) -> None:
    shown = show_body(content_type, body)

    assert shown.kind in KINDS
    assert shown.size == len(body)
    assert bool(shown.text) == bool(body) or shown.kind == TEXT
