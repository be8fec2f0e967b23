"""Notices to a web service: each a CloudEvent in structured mode, signed as Standard Webhooks does.

The web service is the operator's own choice, so it may be anywhere; where messages are pushed to is guarded elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx

from pregon.clock import wall_us
from pregon.delivery.notice_senders import Told
from pregon.delivery.notice_texts import encode_event
from pregon.errors import SettingsInvalid
from pregon.security.signatures import sign
from pregon.settings import is_loopback
from pregon.version import __version__

_TIME_LIMIT_S = 10.0
"""How long one notice may take in all."""


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """Which web service, and how notices to it are signed and worded."""

    url: str
    secrets: tuple[bytes, ...] = ()
    source: str = "/pregon"
    """Who says it: the `source` of the event."""
    language: str = "en"


class Webhook:
    """A channel for notices; see `notice_senders`."""

    name = "webhook"
    together_max: Final = 1

    def __init__(self, options: WebhookOptions) -> None:
        self._options = options
        # What is on this machine is not to be asked of a proxy elsewhere.
        host = urlsplit(options.url).hostname or ""
        self._uses_proxy = not is_loopback(f"[{host}]:0")

    def send(self, notices: Sequence[Told]) -> None:
        """Post them, one after another; raises OSError unless each is answered with 2xx."""
        for told in notices:
            try:
                status = asyncio.run(asyncio.wait_for(self._post(told), _TIME_LIMIT_S))
            except TimeoutError as error:
                raise OSError(f"no answer in {_TIME_LIMIT_S:.0f} s") from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise OSError(f"{type(error).__name__}: {error}") from error
            if not 200 <= status < 300:
                raise OSError(f"it answered HTTP {status}")

    async def _post(self, told: Told) -> int:
        """The status of the answer; nothing more of it is read."""
        options = self._options
        body = encode_event(told.notice, told.id, options.source, options.language)
        now_s = wall_us() // 1_000_000
        headers = {
            "Content-Type": "application/cloudevents+json; charset=utf-8",
            "User-Agent": f"pregon/{__version__}",
            "webhook-id": told.id,
            "webhook-timestamp": str(now_s),
        }
        if options.secrets:
            headers["webhook-signature"] = sign(options.secrets, told.id, now_s, body)
        async with httpx.AsyncClient(timeout=_TIME_LIMIT_S, trust_env=self._uses_proxy) as client:
            async with client.stream("POST", options.url, content=body, headers=headers) as answer:
                return answer.status_code


def check_notice_url(url: str) -> str:
    """The URL, if notices can be posted there; raises SettingsInvalid, without showing it: it may hold a secret."""
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        is_url = False
    if not is_url or not url.isascii() or not url.isprintable() or " " in url:
        raise SettingsInvalid("notice_url is an http or https URL with a host, such as https://avisos.example/pregon")
    return url
