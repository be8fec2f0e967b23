"""Reading envelopes: versions, headers, encodings, and what is understood."""

from __future__ import annotations

import pytest

from pregon.errors import BadRequest, BadXml, MediaTypeUnknown, Unauthorized, VersionUnknown
from pregon.soap.envelope import Addressing, Envelope, open_envelope, read_content_type, read_envelope
from pregon.soap.vocabulary import PS, SOAP_11, SOAP_12, WSA, WSA_2004, WSSE, SoapVersion

BOTH_VERSIONS = pytest.mark.parametrize("version", [SOAP_11, SOAP_12], ids=["1.1", "1.2"])
SPACES = f'xmlns:ps="{PS}" xmlns:wsa="{WSA}" xmlns:w4="{WSA_2004}" xmlns:wsse="{WSSE}"'


def written(header: str, body: str = "", version: SoapVersion = SOAP_11) -> bytes:
    """An envelope."""
    inside = f"<e:Header>{header}</e:Header><e:Body>{body}</e:Body>"
    return f'<e:Envelope xmlns:e="{version.namespace}" {SPACES}>{inside}</e:Envelope>'.encode()


def read(data: bytes, charset: str = "") -> Envelope:
    return read_envelope(*open_envelope(data, charset))


@BOTH_VERSIONS
def test_the_header_says_who_and_where_without_the_space_around(version: SoapVersion) -> None:
    header = "<ps:producer>\n P1 </ps:producer><!-- x --><ps:topic>C<!-- x --></ps:topic><ps:key/>"

    envelope = read(written(header, version=version))

    assert envelope.version is version
    assert envelope.said == {"producer": "P1", "topic": "C", "key": ""}
    assert (envelope.addressing, envelope.not_understood) == (None, ())


def test_an_envelope_needs_no_header() -> None:
    data = f'<Envelope xmlns="{SOAP_11.namespace}"><Body><a xmlns=""/></Body></Envelope>'.encode()

    envelope = read(data)

    assert envelope.said == {}
    assert [child.tag for child in envelope.body] == ["a"]


@pytest.mark.parametrize(
    ("header", "addressing"),
    [
        ("<wsa:MessageID> urn:1 </wsa:MessageID>", Addressing(WSA, "urn:1")),
        ("<w4:MessageID>urn:1</w4:MessageID>", Addressing(WSA_2004, "urn:1")),
        ("<wsa:Action>a</wsa:Action>", Addressing(WSA, None)),
    ],
)
def test_addressing_is_read_in_both_its_namespaces(header: str, addressing: Addressing) -> None:
    envelope = read(written(header))

    assert envelope.addressing == addressing


@BOTH_VERSIONS
@pytest.mark.parametrize(
    ("attributes", "is_for_us"),
    [
        ("", True),
        ('e:{role}=""', True),
        ('e:{role}="{next}"', True),
        ('e:{role}="urn:another"', False),
    ],
)
def test_only_what_is_for_us_must_be_understood(version: SoapVersion, attributes: str, is_for_us: bool) -> None:
    next_role = next(role for role in version.own_roles if role.endswith("next"))
    filled = attributes.format(role=version.role.rpartition("}")[2], next=next_role)
    header = f'<x:y xmlns:x="urn:x" e:mustUnderstand="1" {filled}/>'

    envelope = read(written(header, version=version))

    assert envelope.not_understood == (("{urn:x}y",) if is_for_us else ())


def test_the_key_of_ours_goes_before_the_others() -> None:
    token = "<wsse:Security><wsse:UsernameToken><wsse:Password>w</wsse:Password></wsse:UsernameToken></wsse:Security>"

    keys = [read(written(header)).presented("b") for header in (f"<ps:accessKey>a</ps:accessKey>{token}", token, "")]

    assert keys == ["a", "w", "b"]


def test_a_key_is_not_in_what_an_envelope_shows_of_itself() -> None:
    token = (
        "<wsse:Security><wsse:UsernameToken><wsse:Password>s3cret</wsse:Password></wsse:UsernameToken></wsse:Security>"
    )

    envelope = read(written(f"<ps:accessKey>s3cret</ps:accessKey>{token}"))

    assert envelope.password == "s3cret"
    assert "s3cret" not in repr(envelope)


@pytest.mark.parametrize(
    ("header", "error"),
    [
        ("<ps:topic>a</ps:topic><ps:topic>a</ps:topic>", BadRequest),
        ("<ps:topic><a/></ps:topic>", BadRequest),
        ("<wsa:MessageID/>", BadRequest),
        (
            '<wsse:Security><wsse:UsernameToken><wsse:Password Type="x#PasswordDigest">a</wsse:Password>'
            "</wsse:UsernameToken></wsse:Security>",
            Unauthorized,
        ),
    ],
)
def test_a_header_that_says_nothing_clear_is_refused(header: str, error: type[Exception]) -> None:
    data = written(header)

    with pytest.raises(error):
        read(data)


def test_another_namespace_is_another_version() -> None:
    data = b'<Envelope xmlns="urn:soap-3"><Body/></Envelope>'

    with pytest.raises(VersionUnknown, match="urn:soap-3"):
        open_envelope(data)


@pytest.mark.parametrize("charset", ["", "utf-8", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252"])
def test_plain_letters_are_read_in_any_charset(charset: str) -> None:
    data = written("<ps:topic>C</ps:topic>")

    envelope = read(data, charset)

    assert envelope.said == {"topic": "C"}


@pytest.mark.parametrize(
    ("data", "charset"),
    [
        (b'<?xml version="1.0" encoding="utf-8"?>' + written(""), "iso-8859-1"),
        (b'<?xml version="1.0" encoding="iso-8859-1"?>' + written(""), "utf-8"),
        (written("<ps:topic>ñ</ps:topic>").decode().encode("latin-1"), "utf-8"),
        (written("<ps:topic>\u0081</ps:topic>").decode().encode("latin-1"), "windows-1252"),
    ],
    ids=["says utf-8", "says latin-1", "is latin-1", "is no windows-1252"],
)
def test_bytes_that_are_not_what_they_are_said_to_be_are_refused(data: bytes, charset: str) -> None:
    with pytest.raises(BadXml):
        read(data, charset)


@pytest.mark.parametrize(
    ("text", "version", "charset", "action"),
    [
        ("text/xml", SOAP_11, "", ""),
        ("", SOAP_11, "", ""),
        ('Text/XML; Charset="UTF-8"', SOAP_11, "utf-8", ""),
        ('application/soap+xml;charset=utf-8;action="urn:a;b"', SOAP_12, "utf-8", "urn:a;b"),
        ("application/xml; charset=utf-16", SOAP_11, "utf-16", ""),
    ],
)
def test_a_content_type_says_version_charset_and_action(
    text: str, version: SoapVersion, charset: str, action: str
) -> None:
    found = read_content_type(text)

    assert (found.version, found.charset, found.action) == (version, charset, action)


@pytest.mark.parametrize("text", ["text/html", "multipart/related; boundary=x", "text/xml; charset=utf-32", "xml"])
def test_a_content_type_without_an_envelope_is_refused(text: str) -> None:
    with pytest.raises(MediaTypeUnknown):
        read_content_type(text)
