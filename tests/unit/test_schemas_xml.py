"""XML from strangers: what is read, what is refused, and that refusing is cheap."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from pregon import limits
from pregon.errors import BadXml, TooLarge
from pregon.schemas.xml import parse_xml, parse_xml_text

SIZE = limits.MIB
PLAIN = b"<a>" + b'<b c="1">some words</b>' * (SIZE // 23) + b"</a>"

LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % (level, b"&l%d;" % (level - 1) * 10) for level in range(1, 12))
BILLION_LAUGHS = b'<!DOCTYPE a [<!ENTITY l0 "ha">' + LAUGHS + b"]><a>&l11;</a>"
QUADRATIC = b'<!DOCTYPE a [<!ENTITY x "' + b"x" * (SIZE // 2) + b'">]><a>' + b"&x;" * (SIZE // 6) + b"</a>"

WITH_A_DOCTYPE = [
    BILLION_LAUGHS,
    QUADRATIC,
    b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    b'<!DOCTYPE a SYSTEM "http://127.0.0.1:9/evil.dtd"><a/>',
    b'<!DOCTYPE a [<!ENTITY % p SYSTEM "http://127.0.0.1:9/evil.dtd"> %p;]><a/>',
    b'<?xml version="1.0"?>\n<!-- <a> --><?p <a ?> <!DOCTYPE a><a/>',
    "\ufeff<!DOCTYPE a><a/>".encode("utf-16-le"),
]

HUGE = {
    "deep": b"<a>" * (SIZE // 3),
    "deep and closed": b"<a>" * 5_000 + b"</a>" * 5_000,
    "elements": b"<a>" + b"<b/>" * (SIZE // 4) + b"</a>",
    "attributes": b"<a " + b" ".join(b'a%d=""' % number for number in range(SIZE // 10)) + b"/>",
    "namespaces": b"<a " + b" ".join(b'xmlns:a%d="u"' % number for number in range(SIZE // 18)) + b"/>",
    "attribute": b'<a b="' + b"x" * SIZE + b'"/>',
    "attribute that does not end": b'<a b="' + b"x" * SIZE,
    "name": b"<" + b"x" * SIZE + b"/>",
    "attribute name": b"<a " + b"x" * SIZE + b'=""/>',
    "quadratic": QUADRATIC,
    "beginnings of tags": b"<" * SIZE,
    "beginnings of attributes": b'<a b="' * (SIZE // 6),
    "beginnings of comments": b"<!--" * (SIZE // 4),
    "beginnings of comments and a DOCTYPE": b"<!-- " * (SIZE // 5) + b"<!DOCTYPE a>",
    "beginnings of instructions and a DOCTYPE": b"<?" * (SIZE // 2) + b"<!DOCTYPE a>",
    "beginnings of CDATA": b"<a>" + b"<![CDATA[" * (SIZE // 9),
    "beginnings of declarations": b"<?xml encoding" * (SIZE // 14),
}

REFUSED = {
    "nothing": b"",
    "spaces": b"  \n",
    "no end": b"<a>",
    "two roots": b"<a/><b/>",
    "an unknown entity": b"<a>&x;</a>",
    "a zero byte": b"<a>\0</a>",
    "bytes that are not UTF-8": b"<a>\xff</a>",
    "a character written too long": b"<a>\xc0\xaf</a>",
    "half a surrogate pair": b"<a>\xed\xa0\x80</a>",
    "UTF-7": b'<?xml version="1.0" encoding="UTF-7"?><a>+ADw-</a>',
    "UTF-7 far away": b'<?xml version="1.0"' + b" " * 500 + b'encoding="UTF-7"?><a>+ADw-</a>',
    "an encoding that nobody knows": b'<?xml version="1.0" encoding="klingon"?><a/>',
    "ASCII that is not": b'<?xml version="1.0" encoding="US-ASCII"?><a>\xf1</a>',
    "UTF-16 without its mark": "<a/>".encode("utf-16-le"),
    "UTF-16 that is not": b'<?xml version="1.0" encoding="UTF-16"?><a/>',
    "UTF-16 that says to be UTF-8": '\ufeff<?xml version="1.0" encoding="UTF-8"?><a/>'.encode("utf-16-be"),
    "half of UTF-16": "\ufeff<a/>".encode("utf-16-le")[:-1],
    "UTF-32": "\ufeff<a/>".encode("utf-32-le"),
    "UTF-8 that says to be another": b'\xef\xbb\xbf<?xml version="1.0" encoding="ISO-8859-1"?><a/>',
    "a prefix without a namespace": b"<x:a/>",
    "an attribute twice": b'<a b="" b=""/>',
}

READ = {
    "UTF-8": ("<a>ñ</a>".encode(), "ñ"),
    "UTF-8 with its mark": (b"\xef\xbb\xbf" + '<?xml version="1.0" encoding="utf-8"?><a>ñ</a>'.encode(), "ñ"),
    "UTF-16, little end first": ("\ufeff<a>ñ</a>".encode("utf-16-le"), "ñ"),
    "UTF-16, big end first": ('\ufeff<?xml version="1.0" encoding="UTF-16"?><a>ñ</a>'.encode("utf-16-be"), "ñ"),
    "ISO-8859-1": ('<?xml version="1.0" encoding="ISO-8859-1"?><a>ñ</a>'.encode("iso-8859-1"), "ñ"),
    "windows-1252": ("<?xml version='1.0' encoding = 'Windows-1252' ?><a>€</a>".encode("cp1252"), "€"),
    "the five entities": (b"<a>&lt;&gt;&amp;&apos;&quot;&#241;</a>", "<>&'\"ñ"),
    "a DOCTYPE in CDATA": (b"<a><![CDATA[<!DOCTYPE html>]]></a>", "<!DOCTYPE html>"),
    "markup in CDATA": (b"<a><![CDATA[" + b'<x a=""' * 250_000 + b"]]></a>", '<x a=""' * 250_000),
    "equals signs in text": (b"<a>" + b'=""' * 1_000 + b"</a>", '=""' * 1_000),
    "a long text between quotes": (b'<a>b="' + b"x" * 70_000 + b'"</a>', 'b="' + "x" * 70_000 + '"'),
}


@pytest.mark.parametrize("name", READ)
def test_what_is_xml_is_read(name: str) -> None:
    data, text = READ[name]

    root = parse_xml(data)

    assert (root.tag, root.text) == ("a", text)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_xml_is_refused_in_few_words(name: str) -> None:
    data = REFUSED[name]

    with pytest.raises(BadXml) as refusal:
        parse_xml(data)

    assert 10 < len(str(refusal.value)) <= 400


@pytest.mark.parametrize("data", WITH_A_DOCTYPE)
def test_a_document_type_is_refused_as_one(data: bytes) -> None:
    with pytest.raises(BadXml, match="DOCTYPE"):
        parse_xml(data)


@pytest.mark.parametrize("name", HUGE)
def test_refusing_costs_no_more_than_a_few_times_reading(name: str) -> None:
    data = HUGE[name]
    plain_s = min(seconds_to_read(PLAIN) for _ in range(3))

    refused_s = min(seconds_to_refuse(data) for _ in range(3))

    assert refused_s < 20 * plain_s


def test_the_limits_are_exactly_where_they_are_said_to_be() -> None:
    depth, attributes, size = limits.XML_DEPTH_MAX, limits.XML_ATTRIBUTES_MAX, limits.XML_ATTRIBUTE_BYTES_MAX

    for number in (0, 1):
        within = [
            b"<a>" * (depth + number) + b"</a>" * (depth + number),
            b"<a>" * (depth + number - 1) + b"<a/>" + b"</a>" * (depth + number - 1),
            b"<a " + b" ".join(b"a%d='='" % each for each in range(attributes + number)) + b"/>",
            b"<a b='" + b"x" * (size + number) + b"'/>",
            b"<a>" + b"<b/>" * (limits.XML_ELEMENTS_MAX - 1 + number) + b"</a>",
        ]

        refused = [is_refused(data) for data in within]

        assert refused == [bool(number)] * len(within)


def test_more_bytes_than_any_door_lets_in_are_too_large() -> None:
    data = b"<a>" + b" " * limits.REQUEST_BYTES_MAX + b"</a>"

    with pytest.raises(TooLarge):
        parse_xml(data)


def test_nothing_is_included(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    include = f'<x:include xmlns:x="http://www.w3.org/2001/XInclude" parse="text" href="{secret.as_uri()}"/>'

    root = parse_xml(f'<?xml-stylesheet href="{secret.as_uri()}"?><a>{include}</a>'.encode())

    assert len(root) == 1
    assert "".join(str(text) for text in root.itertext()) == ""


def test_text_is_read_whatever_its_declaration_says_of_bytes_that_are_no_more() -> None:
    text = '\ufeff<?xml version="1.0" encoding="ISO-8859-1"?><a>ñ€</a>'

    root = parse_xml_text(text)

    assert root.text == "ñ€"
    with pytest.raises(BadXml):
        parse_xml_text("<a>\ud800</a>")


def test_a_document_outlives_the_names_that_were_forgotten() -> None:
    root = parse_xml(b"<kept><inside attribute='1'/></kept>")

    for number in range(10):
        parse_xml(b"<a>" + b"<n%d/>" % number * 100_000 + b"</a>")

    assert (root.tag, root[0].tag, root[0].get("attribute")) == ("kept", "inside", "1")


def test_names_made_up_for_it_do_not_stay_in_memory() -> None:
    script = """
import resource
from pregon.schemas.xml import parse_xml

def read(first, last):
    for part in range(first, last):
        parse_xml(b"<a>" + b"".join(b"<n%d-%d/>" % (part, number) for number in range(50_000)) + b"</a>")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

warm = read(0, 15)
print(read(15, 50) - warm)
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)

    grown_kib = int(answer.stdout)

    assert grown_kib < 30 * 1_024


def seconds_to_read(data: bytes) -> float:
    """How long it takes to read a document."""
    began = time.perf_counter()
    parse_xml(data)
    return time.perf_counter() - began


def seconds_to_refuse(data: bytes) -> float:
    """How long it takes to refuse a document."""
    began = time.perf_counter()
    with pytest.raises(BadXml):
        parse_xml(data)
    return time.perf_counter() - began


def is_refused(data: bytes) -> bool:
    """Whether a document is refused."""
    try:
        parse_xml(data)
    except BadXml:
        return True
    return False
