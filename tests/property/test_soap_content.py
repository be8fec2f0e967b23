"""Whatever XML goes into a SOAP body comes out of one canonically equal, and whatever is stored fits into a body."""

from __future__ import annotations

import base64

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from pregon.edges.soap.answers import answer
from pregon.soap.content import XML, put_content, take_content
from pregon.soap.envelope import open_envelope, read_envelope
from pregon.soap.vocabulary import PS, SOAP_11, SOAP_12

NAMESPACES = ("urn:a", "urn:b", "urn:c?x=1&amp;y=2", PS, SOAP_11.namespace)
PREFIXES = ("a", "b", "ps", "soapenv", "q")
# A sender's envelope declares these; the elements inside use them without saying so again.
IN_SCOPE = {"a": "urn:outer-a", "b": "urn:outer-b", "q": "urn:outer-q", "ps": PS, "soapenv": "urn:not-soap"}

TORN = (
    *(b"<a>", b"</a>", b"</soapenv:Body>", b"</soapenv:Envelope>", b"<soapenv:Body>", b"<!--", b"-->", b"x"),
    *(b"<![CDATA[", b"]]>", b"<?xml version='1.0'?>", b"<?p", b"?>", b"&amp;", b"&", b"</several>"),
)
CONTENT_TYPES = (
    *("application/xml", "text/plain", "application/json", "application/octet-stream", "image/svg+xml", ""),
    *("application/xml-external-parsed-entity", 'text/x; a="<>&\n"', "text/xml; charset=x"),
)

letters = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"), max_size=12
)
names = st.sampled_from(["a", "b", "Persona", "ñandú", "x-1", "_", "Body", "Header"])
prefixes = st.sampled_from(["", *PREFIXES])


def escaped(text: str) -> str:
    """A text as content or as an attribute."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


texts = st.one_of(
    letters.map(escaped),
    st.sampled_from(["&#13;&#10;", "&#x1F600;", "&lt;/soapenv:Body&gt;", " \n\t ", "q:name", "&apos;&quot;", "\u00a0"]),
    letters.filter(lambda text: "]]>" not in text).map(lambda text: f"<![CDATA[{text}]]>"),
    letters.filter(lambda text: "--" not in text and not text.endswith("-")).map(lambda text: f"<!--{text}-->"),
    st.sampled_from(["<?go on?>", "<![CDATA[<a>&amp;</a>]]>", "<!-- </e:Envelope> -->"]),
)


@st.composite
def elements(draw: st.DrawFn, inside: st.SearchStrategy[str]) -> str:
    """An element that may declare prefixes anew, undeclare the default namespace, and name prefixes in its content."""
    prefix, name = draw(prefixes), draw(names)
    tag = f"{prefix}:{name}" if prefix else name
    declared = draw(st.dictionaries(st.sampled_from(["", *PREFIXES]), st.sampled_from(NAMESPACES), max_size=2))
    spaces = [f' xmlns{":" + key if key else ""}="{value}"' for key, value in declared.items()]
    if "" not in declared and draw(st.booleans()):
        spaces.append(' xmlns=""')
    attributes = draw(
        st.dictionaries(st.sampled_from(["c", "a:d", "xml:lang", "q:e"]), letters.map(escaped), max_size=2)
    )
    written = [f' {key}="{value}"' for key, value in attributes.items()]
    return f"<{tag}{''.join(spaces)}{''.join(written)}>{draw(inside)}</{tag}>"


contents = st.recursive(
    st.lists(texts, max_size=3).map("".join),
    lambda inner: st.lists(st.one_of(texts, elements(inner)), max_size=4).map("".join),
    max_leaves=15,
)
documents = elements(contents)


def send(body: str, version: str = SOAP_11.namespace) -> bytes:
    """A sender's envelope, with prefixes of its own."""
    spaces = " ".join(f'xmlns:{prefix}="{namespace}"' for prefix, namespace in IN_SCOPE.items())
    said = f'<e:Envelope xmlns:e="{version}" xmlns="urn:default" {spaces}><e:Body>\n {body}\n</e:Body></e:Envelope>'
    return said.encode()


def body_of(envelope: bytes) -> etree._Element:
    """The Body, as any SOAP program finds it."""
    root = etree.fromstring(envelope)
    (body,) = root.findall(f"{{{etree.QName(root).namespace}}}Body")
    return body


def canonical(element: etree._Element) -> bytes:
    return etree.tostring(element, method="c14n", exclusive=True, with_comments=True, with_tail=False)


def is_ours(element: etree._Element) -> bool:
    return element.tag in (f"{{{PS}}}content", f"{{{PS}}}notification")


@given(documents)
def test_an_element_travels_canonically_equal(document: str) -> None:
    sent = send(document)
    (original,) = body_of(sent).iterchildren(etree.Element)
    if is_ours(original):
        return

    stored, content_type = take_content(read_envelope(*open_envelope(sent)).body)
    given_out = answer(SOAP_12, "<ps:producer>P</ps:producer>", put_content(stored, content_type)).body

    (received,) = body_of(given_out)
    assert content_type == XML
    assert canonical(received) == canonical(original)
    assert dict(original.nsmap).items() <= {**received.nsmap}.items()


@given(st.lists(documents, min_size=2, max_size=4))
def test_several_elements_travel_canonically_equal(several: list[str]) -> None:
    sent = send("\n".join(several))

    stored, content_type = take_content(read_envelope(*open_envelope(sent)).body)
    given_out = answer(SOAP_11, "", put_content(stored, content_type)).body

    originals = list(body_of(sent).iterchildren(etree.Element))
    assert [canonical(one) for one in body_of(given_out)] == [canonical(one) for one in originals]


@given(
    st.one_of(
        st.binary(max_size=60),
        st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.lists(
            st.sampled_from(TORN),
            max_size=8,
        ).map(b"".join),
    ),
    st.sampled_from(CONTENT_TYPES),
)
def test_whatever_was_stored_stays_inside_the_body(body: bytes, content_type: str) -> None:
    given_out = answer(SOAP_11, "<ps:producer>P</ps:producer>", put_content(body, content_type)).body

    root = etree.fromstring(given_out)
    assert [etree.QName(child).localname for child in root] == ["Header", "Body"]
    assert [child.text for child in root[0]] == ["P"]
    (inside,) = [*root[1]] if len(root[1]) else [None]
    if inside is not None and inside.tag == f"{{{PS}}}content":
        text = inside.text or ""
        found = base64.b64decode(text) if inside.get("encoding") == "base64" else text.encode()
        assert found == body
        assert inside.get("contentType") == content_type


@given(st.binary(max_size=200), st.sampled_from(["image/png", "text/plain", "application/json"]))
def test_what_is_no_xml_comes_back_as_it_was_through_both_doors(body: bytes, content_type: str) -> None:
    written = put_content(b"\x00" + body, content_type)
    given_out = answer(SOAP_11, "", written).body

    found = take_content(read_envelope(*open_envelope(given_out)).body)

    assert found == (b"\x00" + body, content_type)


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=60))
def test_text_comes_back_with_its_line_ends(text: str) -> None:
    body = ("{" + text).encode()

    given_out = answer(SOAP_12, "", put_content(body, "application/json")).body
    found = take_content(read_envelope(*open_envelope(given_out)).body)

    assert found == (body, "application/json")
