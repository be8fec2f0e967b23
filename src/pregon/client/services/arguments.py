"""Arguments and results as frames: each is one frame, so a message of several segments is a call of several arguments.

    bytes          as they are
    str            its text, in UTF-8
    anything else  JSON, as msgspec writes it

They are read by the type that is wanted: `bytes` raw, `str` as text, another type as JSON (or, for types that are
written as text, as text). Where no type is wanted: JSON if it parses, else text if it is UTF-8, else bytes.

Pure: values in, frames out, and back. Everything from outside that does not fit is BadRequest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from pregon.errors import BadRequest, SettingsInvalid, TooLarge
from pregon.limits import SERVICE_BODY_BYTES_MAX, SERVICE_FRAMES_MAX

Read = Callable[[bytes], Any]
"""Turns one frame into one value; raises msgspec.DecodeError, UnicodeDecodeError or RecursionError."""

_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_NOTHING = [b""]
_encode_json = msgspec.json.Encoder().encode
_decode_json = msgspec.json.Decoder().decode
_readers: dict[Any, Read] = {}
_READERS_MAX = 1_000


def encode_arguments(values: Sequence[Any]) -> list[bytes]:
    """The frames of a call; one empty frame for a call without arguments. Raises BadRequest or TooLarge."""
    if len(values) == 1:
        frames = [_encode(values[0], 1)]
    else:
        frames = [_encode(value, number) for number, value in enumerate(values, start=1)] or [b""]
    return check_body(frames)


def encode_result(value: Any) -> list[bytes]:
    """The frames of a result: of a tuple, one for each of its values. Raises BadRequest or TooLarge."""
    return encode_arguments(value if type(value) is tuple and value else (value,))


def check_body(frames: list[bytes]) -> list[bytes]:
    """The frames of a body, if they are within the limits; raises BadRequest or TooLarge."""
    if not 1 <= len(frames) <= SERVICE_FRAMES_MAX:
        raise BadRequest(f"a body has 1 to {SERVICE_FRAMES_MAX} frames, not {len(frames)}: send a list as one argument")
    size = len(frames[0]) if len(frames) == 1 else sum(map(len, frames))
    if size > SERVICE_BODY_BYTES_MAX:
        raise TooLarge(f"a body has at most {SERVICE_BODY_BYTES_MAX} bytes, not {size}: send a reference to it")
    return frames


def decode_result(frames: Sequence[bytes], wanted: Any = None) -> Any:
    """The value of an answer, of the type that is wanted (None: whatever it is); several frames are a tuple.

    Raises msgspec.DecodeError, UnicodeDecodeError or RecursionError.
    """
    if len(frames) == 1:
        return read_anything(frames[0]) if wanted is None else reader_of(wanted)(frames[0])
    types = _types_of_tuple(wanted, len(frames))
    return tuple(reader_of(each)(frame) for each, frame in zip(types, frames, strict=True))


def read_anything(frame: bytes) -> Any:
    """JSON if it parses, else text if it is UTF-8, else the bytes."""
    try:
        return _decode_json(frame)
    except _UNREADABLE:
        pass
    try:
        return frame.decode()
    except UnicodeDecodeError:
        return frame


def reader_of(wanted: Any) -> Read:
    """How to read a frame into a type; raises SettingsInvalid for a type that no frame can become."""
    try:
        reader = _readers.get(wanted)
    except TypeError:  # An annotation with something in it that cannot be a key is made anew each time.
        return _make_reader(wanted)
    if reader is None:
        reader = _make_reader(wanted)
        if len(_readers) < _READERS_MAX:
            _readers[wanted] = reader
    return reader


class Parameters:
    """What a function takes, by position, and how each is read."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        """Raises SettingsInvalid for a function that cannot be called with frames."""
        self._name = name
        try:
            hints = get_type_hints(function, include_extras=True)
        except (NameError, TypeError) as error:
            raise SettingsInvalid(
                f"{name}: its annotations cannot be understood ({error}): import their types"
            ) from error
        self._names: list[str] = []
        self._types: list[str] = []
        self._readers: list[Read] = []
        self._needed = 0
        self._rest: Read | None = None
        for one in inspect.signature(function).parameters.values():
            hint = hints.get(one.name, Any)
            self._types.append(getattr(hint, "__name__", str(hint)))
            self._add(one, reader_of(hint))

    def _add(self, one: inspect.Parameter, reader: Read) -> None:
        has_default = one.default is not inspect.Parameter.empty
        if one.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            self._names.append(one.name)
            self._readers.append(reader)
            self._needed += not has_default
        elif one.kind is inspect.Parameter.VAR_POSITIONAL:
            self._rest = reader
        elif one.kind is inspect.Parameter.KEYWORD_ONLY and not has_default:
            raise SettingsInvalid(f"{self._name}: `{one.name}` can only be given by name, and frames have none")

    def decode(self, frames: Sequence[bytes]) -> list[Any]:
        """The arguments of a call; raises BadRequest, which says which one is wrong."""
        count = len(frames)
        if count == 1 and len(self._readers) == 1:
            reader = self._readers[0]
            if not self._needed and frames == _NOTHING:
                return []
            try:
                return [reader(frames[0])]
            except _UNREADABLE as error:
                raise self._wrong(0, error) from error
        if not self._needed and frames == _NOTHING:
            return []
        if count < self._needed or (count > len(self._readers) and self._rest is None):
            raise BadRequest(f"{self._name} takes {self._arity()}, and {count} came: each argument is one frame")
        arguments = []
        for position, frame in enumerate(frames):
            reader = self._readers[position] if position < len(self._readers) else self._rest or read_anything
            try:
                arguments.append(reader(frame))
            except _UNREADABLE as error:
                raise self._wrong(position, error) from error
        return arguments

    def _wrong(self, position: int, error: Exception) -> BadRequest:
        which = f"`{self._names[position]}`" if position < len(self._names) else f"number {position + 1}"
        wanted = self._types[min(position, len(self._types) - 1)]
        return BadRequest(f"argument {which} of {self._name} must be {wanted}: {str(error)[:300]}")

    def _arity(self) -> str:
        most = len(self._readers)
        if self._rest is not None:
            return f"at least {self._needed} arguments"
        words = str(most) if most == self._needed else f"{self._needed} to {most}"
        return f"{words} argument" if words == "1" else f"{words} arguments"


def _encode(value: Any, number: int) -> bytes:
    kind = type(value)
    if kind is bytes:
        return value  # type: ignore[no-any-return]
    try:
        if isinstance(value, str) and kind is str:
            return value.encode()
        if kind in (bytearray, memoryview):
            return bytes(value)
        return _encode_json(value)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise BadRequest(
            f"value {number} cannot be sent ({str(error)[:200]}): send bytes, text, or what JSON can write"
        ) from error


def _make_reader(wanted: Any) -> Read:
    if wanted in (Any, inspect.Parameter.empty):
        return read_anything
    if wanted is bytes:
        return bytes
    if wanted is str:
        return bytes.decode
    if bytes in get_args(wanted):
        raise SettingsInvalid(f"{wanted} cannot be told apart in a frame: say `bytes`, and nothing else")
    try:
        decode = msgspec.json.Decoder(wanted).decode
    except TypeError as error:
        raise SettingsInvalid(
            f"{wanted} is no type that JSON becomes ({error}): a struct, a dataclass, a list…"
        ) from error
    is_text_first = _is_written_as_text(wanted)

    def read_text(frame: bytes) -> Any:
        return msgspec.convert(frame.decode(), wanted)

    def read(frame: bytes) -> Any:
        try:
            return decode(frame)
        except _UNREADABLE as error:
            # A date, a member of an enumeration or a text with a pattern may have been sent as plain text.
            try:
                return read_text(frame)
            except _UNREADABLE:
                raise error from None

    return read_text if is_text_first else read


def _is_written_as_text(wanted: Any) -> bool:
    """Whether a value of the type is a `str`, which is sent as it is and not as JSON."""
    arguments = get_args(wanted)
    if get_origin(wanted) is Annotated:
        return arguments[0] is str
    return get_origin(wanted) is Literal and all(type(value) is str for value in arguments)


def _types_of_tuple(wanted: Any, count: int) -> Sequence[Any]:
    if wanted is None or wanted is tuple:
        return [Any] * count
    arguments = get_args(wanted)
    if get_origin(wanted) is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return [arguments[0]] * count
        if len(arguments) == count:
            return arguments
    raise msgspec.DecodeError(f"the answer has {count} frames, which are no {wanted}")
