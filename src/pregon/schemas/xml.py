"""XML from strangers, parsed without doing anything that the XML says.

The only way in the whole product from bytes to an XML tree. What the tree means is for who asked for it.

Promises:
- A document with a DTD is refused before it is parsed, so there are no entities but the five of XML. Nothing is
  opened, fetched, included or transformed; processing instructions are data.
- Depth, elements, attributes of one element and bytes of one attribute stay within `limits`; libxml2 itself
  refuses names of more than 50,000 bytes.
- UTF-8, UTF-16 with a byte order mark, and the Western encodings of one byte that say so in the declaration. The
  bytes must be what the declaration says, and libxml2 always gets UTF-8: there is no second opinion on what they are.
- Whatever the bytes, an element comes back or `BadXml` or `TooLarge` is raised, in time linear in the bytes.

The bounds cost next to nothing for a document that is plainly within them: an element needs a `<`, an attribute an
`=` and each level but the last a `</`, so counting those bytes settles it. Only when the count does not, a second
look tells markup from what merely looks like it, in comments, text and CDATA.
"""

from __future__ import annotations

import ctypes
import re
import threading
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

from lxml import etree

from pregon import limits
from pregon.errors import BadXml, TooLarge
from pregon.schemas.reasons import shorten

_NAMES_FORGOTTEN_AFTER_BYTES = 4 * limits.MIB

_CODECS = {
    b"utf-8": "utf-8",
    b"utf8": "utf-8",
    b"us-ascii": "ascii",
    b"ascii": "ascii",
    b"iso-8859-1": "iso-8859-1",
    b"iso-8859-15": "iso-8859-15",
    b"windows-1252": "windows-1252",
}
_DECLARED = re.compile(rb"<\?xml\s[^<>]*?\sencoding\s*=\s*[\"']([^\"'<>]{0,60})[\"']")
# What begins and does not end goes on to the end of the bytes: it is not looked for again from the next beginning.
_PROLOG = re.compile(rb"(?:\s++|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z))*+", re.DOTALL)
_NO_MARKUP = re.compile(rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)

# A start tag up to its n-th attribute, or up to an attribute that is too long. Neither crosses a `<`, which
# XML forbids inside a tag, so that each byte is looked at once and a search is linear.
_TAG = rb"<[^<>\"'=!?/][^<>\"'=]*+"
_ATTRIBUTE = rb"=\s*+(?:\"[^\"<]*+\"|'[^'<]*+')[^<>\"'=]*+"
_MANY_ATTRIBUTES = re.compile(_TAG + rb"(?:%b){%d}" % (_ATTRIBUTE, limits.XML_ATTRIBUTES_MAX + 1))
_SHORT = rb"=\s*+(?:\"[^\"<]{0,%d}+\"|'[^'<]{0,%d}+')[^<>\"'=]*+" % ((limits.XML_ATTRIBUTE_BYTES_MAX,) * 2)
_LONG = rb"=\s*+(?:\"[^\"<]{%d}|'[^'<]{%d})" % ((limits.XML_ATTRIBUTE_BYTES_MAX + 1,) * 2)
_LONG_ATTRIBUTE = re.compile(_TAG + rb"(?:%b)*+%b" % (_SHORT, _LONG))

_TOO_DEEP = etree.XPath("boolean(" + "/*" * (limits.XML_DEPTH_MAX + 1) + ")")


def hardened_parser(schema: etree.XMLSchema | None = None) -> etree.XMLParser:
    """A parser that only parses; with a schema, it also refuses what does not fit, as it reads."""
    return etree.XMLParser(
        schema=schema,
        encoding="UTF-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        recover=False,
        collect_ids=False,
    )


class _Desk(threading.local):
    """What a thread needs to parse, kept because making it costs a tenth of parsing a small message."""

    def __init__(self) -> None:
        self.parser = hardened_parser()
        self.bytes_since_forgetting = 0


_desk = _Desk()

_thread_state = ctypes.pythonapi.PyThreadState_GetDict
# The reference is borrowed: a `py_object` here would give it back without having taken it.
_thread_state.restype = ctypes.c_void_p
_thread_state.argtypes = []


def parse_xml(data: bytes, parser: etree.XMLParser | None = None) -> etree._Element:
    """The root element of a document; raises BadXml, saying where and why, or TooLarge.

    A parser, if one is given, comes from `hardened_parser` and is used by one thread at a time.
    """
    _refuse_size(len(data))
    return _parse(_as_utf8(data), parser)


def parse_xml_text(text: str) -> etree._Element:
    """The same for text, which has its bytes behind it: an encoding in its declaration means nothing any more."""
    _refuse_size(len(text))
    try:
        data = text.removeprefix("\ufeff").encode()
    except UnicodeError as error:
        raise BadXml(shorten(f"the text has half a character: {error}")) from error
    return _parse(data, None)


def _parse(data: bytes, parser: etree.XMLParser | None) -> etree._Element:
    _refuse_doctype(data)
    _refuse_excess(data)
    _forget_names_in_time(len(data))
    try:
        root = etree.fromstring(data, parser or _desk.parser)
    except etree.XMLSyntaxError as error:
        raise BadXml(_reason(error)) from error
    if data.count(b"</") >= limits.XML_DEPTH_MAX and _TOO_DEEP(root):
        raise BadXml(f"more than {limits.XML_DEPTH_MAX} elements inside one another")
    return root


def _refuse_size(size: int) -> None:
    if size > limits.REQUEST_BYTES_MAX:
        raise TooLarge(f"the XML has a size of {size}: at most {limits.REQUEST_BYTES_MAX} bytes are read")


def _as_utf8(data: bytes) -> bytes:
    """The document in UTF-8, without its byte order mark."""
    mark = None
    try:
        if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            mark, data = b"utf-16", data.decode("utf-16").encode()
        elif data.startswith(BOM_UTF8):
            mark, data = b"utf-8", data[len(BOM_UTF8) :]
        if b"\0" in data:
            raise BadXml("there is a zero byte, or UTF-16 or UTF-32 without its mark: XML is UTF-8 or says what it is")
        found = _DECLARED.match(data)
        declared = found.group(1).lower() if found else mark or b"utf-8"
        if mark is not None and declared != mark:
            raise BadXml(f"the declaration says {_shown(declared)} and the first bytes say {_shown(mark)}")
        codec = "utf-8" if mark else _CODECS.get(declared)
        if codec is None:
            raise BadXml(f"the encoding {_shown(declared)} is not read here, or not without its mark: send UTF-8")
        text = data.decode(codec)
    except UnicodeError as error:
        raise BadXml(shorten(f"the bytes are not in the encoding of the document: {error}")) from error
    return data if codec == "utf-8" else text.encode()


def _refuse_doctype(data: bytes) -> None:
    """A document type can only stand before the root; elsewhere the word is text, in a comment or CDATA."""
    if b"<!DOCTYPE" in data:
        prolog = _PROLOG.match(data)
        if prolog is None or data.startswith(b"<!", prolog.end()):
            raise BadXml("there is a DOCTYPE: send the document without one, with its entities written out")


def _refuse_excess(data: bytes) -> None:
    """Refuse too many elements, too many attributes or one too long, before they are built."""
    if _find_excess(data) is not None:
        excess = _find_excess(_NO_MARKUP.sub(b"", data))
        if excess is not None:
            raise BadXml(excess)


def _find_excess(data: bytes) -> str | None:
    """What there is too much of, if everything that looks like markup is."""
    if len(data) > limits.XML_ELEMENTS_MAX and data.count(b"<") - data.count(b"</") > limits.XML_ELEMENTS_MAX:
        return f"more than {limits.XML_ELEMENTS_MAX} elements"
    if data.count(b"=") > limits.XML_ATTRIBUTES_MAX and _MANY_ATTRIBUTES.search(data):
        return f"an element with more than {limits.XML_ATTRIBUTES_MAX} attributes"
    if len(data) > limits.XML_ATTRIBUTE_BYTES_MAX and _LONG_ATTRIBUTE.search(data):
        return f"an attribute of more than {limits.XML_ATTRIBUTE_BYTES_MAX} bytes"
    return None


def _forget_names_in_time(size: int) -> None:
    """Let lxml drop the names that this thread has read, every few megabytes.

    lxml interns every name in a dictionary that all the parsers of a thread share and that lives as long as the
    thread: with names made up for it, each message would leave its bytes in memory several times over, for ever.
    lxml offers no way to drop it, but when it is not there takes that of the next parser that parses: it has to be
    a new parser. Documents keep the dictionary that they use.
    """
    desk = _desk
    desk.bytes_since_forgetting += size
    if desk.bytes_since_forgetting > _NAMES_FORGOTTEN_AFTER_BYTES:
        desk.bytes_since_forgetting = size
        kept = ctypes.cast(_thread_state(), ctypes.py_object).value
        kept.pop("_ParserDictionaryContext", None)
        desk.parser = hardened_parser()
        etree.fromstring(b"<a/>", desk.parser)


def _reason(error: etree.XMLSyntaxError) -> str:
    """What libxml2 says, which has the line and column, without the file that there is not."""
    said = str(error).replace("(<string>, line", "(line")
    return shorten(f"the XML is not well-formed: {said}")


def _shown(encoding: bytes) -> str:
    return repr(encoding.decode("ascii", "replace"))
