"""Notices by mail: several at a time in one letter, given to a mail server nearby.

The server is the operator's: it takes mail from this machine without a password, and delivers it. To one on another
machine the letter goes encrypted if the server can.
"""

from __future__ import annotations

import re
import smtplib
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import Final

from pregon.delivery.notice_senders import Told
from pregon.delivery.notice_texts import subject_of, text_of
from pregon.errors import SettingsInvalid
from pregon.settings import is_loopback, parse_host_port

_TIME_LIMIT_S = 10.0
"""How long the server may be silent."""
_ADDRESSES_MAX = 100
_ADDRESS = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9._-]{1,255}", re.ASCII)
_AND_MORE = {"en": "and {count} more", "es": "y {count} más"}


@dataclass(frozen=True, slots=True)
class MailOptions:
    """From whom, to whom, by which server."""

    server: str
    sender: str
    recipients: tuple[str, ...]
    language: str = "en"


class Mail:
    """A channel for notices; see `notice_senders`."""

    name = "mail"
    together_max: Final = 50

    def __init__(self, options: MailOptions) -> None:
        self._options = options
        self._host, self._port = parse_host_port(options.server)

    def send(self, notices: Sequence[Told]) -> None:
        """Give one letter with all of them to the server; raises OSError (as smtplib's errors are), saying why not."""
        options, letter = self._options, make_letter(notices, self._options)
        with smtplib.SMTP(self._host, self._port, local_hostname=socket.gethostname(), timeout=_TIME_LIMIT_S) as server:
            server.ehlo_or_helo_if_needed()
            if server.has_extn("starttls") and not is_loopback(options.server):
                server.starttls(context=ssl.create_default_context())
            # One recipient that is refused does not keep the letter from the others: only if all are, it raises.
            server.send_message(letter, options.sender, options.recipients)


def make_letter(notices: Sequence[Told], options: MailOptions) -> EmailMessage:
    """One letter with notices; the first is in its subject."""
    subject = subject_of(notices[0].notice, options.language)
    if len(notices) > 1:
        subject += f" ({_AND_MORE[options.language].format(count=len(notices) - 1)})"
    letter = EmailMessage()
    letter["Subject"] = f"[pregon] {subject}"
    letter["From"] = options.sender
    letter["To"] = ", ".join(options.recipients)
    letter["Date"] = formatdate()
    letter["Message-ID"] = make_msgid(idstring=notices[0].id, domain=options.sender.rpartition("@")[2])
    # So that no machine answers it with a holiday notice of its own.
    letter["Auto-Submitted"] = "auto-generated"
    letter.set_content("\n\n".join(text_of(one.notice, options.language) for one in notices) + "\n")
    return letter


def parse_addresses(name: str, text: str) -> tuple[str, ...]:
    """Mail addresses separated by commas; raises SettingsInvalid."""
    addresses = tuple(address.strip() for address in text.split(","))
    if len(addresses) > _ADDRESSES_MAX or not all(_ADDRESS.fullmatch(address) for address in addresses):
        raise SettingsInvalid(
            f"{name} is mail addresses separated by commas, such as operador@example.org, at most {_ADDRESSES_MAX}"
        )
    return addresses
