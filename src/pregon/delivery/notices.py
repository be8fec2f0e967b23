"""Telling people, or their programs, that a subscription needs them.

The pusher says here what happens to it; `alarms` decides what of that is worth a notice; each notice is a line in the
log, and goes to the channels that the operator has set up: a web service, mail addresses.

Promises:
- Nothing here waits for a network, or raises: a push costs one look into a dictionary while nothing is wrong.
- A channel that fails is the channel's problem (see `notice_senders`); the log has every notice.
- `stop` returns in little more than `STOP_S`, whatever hangs.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Sequence

from pregon.clock import monotonic_ms, wall_us
from pregon.delivery.alarms import RECOVERED, AlarmOptions, Alarms, Notice
from pregon.delivery.notice_senders import Sender, Told
from pregon.delivery.notice_texts import fields_of, subject_of
from pregon.errors import BadRequest, PregonError, SettingsInvalid
from pregon.model.ids import new_id
from pregon.settings import Settings
from pregon.store.backlogs import Backlog

log = logging.getLogger("pregon.notices")

LOOK_EVERY_S = 5.0
"""How often backlogs are looked at."""
LOOK_SHARE = 50
"""They are looked at for at most one part of so many of the time: less often on a hub with very many."""
STOP_S = 1.0
"""How long stopping waits for what is being read and sent."""

ReadBacklogs = Callable[[], Sequence[Backlog]]


class Notifier:
    """Watches the subscriptions, and tells. Any thread may call it."""

    def __init__(
        self,
        read_backlogs: ReadBacklogs,
        options: AlarmOptions | None = None,
        senders: Sequence[Sender] = (),
        *,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        self._read_backlogs = read_backlogs
        self._alarms = Alarms(options)
        self._failing = self._alarms.failing
        self._senders = senders
        self._look_every_s = look_every_s
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pregon-notices", daemon=True)

    def start(self) -> None:
        """Begin to look at backlogs, and to send."""
        for sender in self._senders:
            sender.start()
        self._thread.start()

    def stop(self) -> None:
        """End; what was told and is not sent yet is tried once more."""
        deadline_ms = monotonic_ms() + STOP_S * 1_000
        self._stopping.set()
        for sender in self._senders:
            sender.stop_soon()
        if self._thread.is_alive():
            self._thread.join(STOP_S)
        for sender in self._senders:
            sender.join((deadline_ms - monotonic_ms()) / 1_000)

    def push_failed(self, topic: str, subscriber: str, reason: str, now_us: int) -> None:
        """A push failed, for this reason."""
        with self._lock:
            notices = self._alarms.push_failed(topic, subscriber, reason, now_us)
        self._tell(notices)

    def push_delivered(self, topic: str, subscriber: str, now_us: int) -> None:
        """A push succeeded."""
        if (topic, subscriber) in self._failing:
            with self._lock:
                notices = self._alarms.push_delivered(topic, subscriber, now_us)
            self._tell(notices)

    def disabled(self, subscriber: str, reason: str) -> None:
        """Nothing is pushed to a subscriber any more."""
        with self._lock:
            notices = self._alarms.disabled(subscriber, reason, wall_us())
        self._tell(notices)

    def parked(self, topic: str, subscriber: str, seq: int, reason: str) -> None:
        """A message was set aside because the subscriber refused it too often."""
        with self._lock:
            notices = self._alarms.parked(topic, subscriber, seq, reason, wall_us())
        self._tell(notices)

    def _tell(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            told = Told(new_id(), notice)
            level = logging.INFO if notice.kind == RECOVERED else logging.WARNING
            log.log(level, "notice", extra={"id": told.id, "text": subject_of(notice, "en"), **fields_of(notice)})
            for sender in self._senders:
                sender.put(told)

    def _run(self) -> None:
        wait_s = self._look_every_s
        while not self._stopping.wait(wait_s):
            begun_ms = monotonic_ms()
            try:
                self._look()
            except Exception:  # The top of the thread's loop: it must look again.
                log.exception("looking for something to tell failed by a bug")
            wait_s = max(self._look_every_s, (monotonic_ms() - begun_ms) / 1_000 * LOOK_SHARE)

    def _look(self) -> None:
        backlogs: Sequence[Backlog] | None
        try:
            backlogs = self._read_backlogs()
        except PregonError as error:
            log.warning("backlogs not read", extra={"code": error.code, "reason": str(error)})
            backlogs = None
        with self._lock:
            now_us = wall_us()
            notices = self._alarms.passed(now_us) if backlogs is None else self._alarms.looked(backlogs, now_us)
        self._tell(notices)


def make_notifier(settings: Settings, read_backlogs: ReadBacklogs) -> Notifier:
    """A notifier with the channels that are set; raises SettingsInvalid. With none it only writes to the log."""
    options = AlarmOptions(after_us=settings.notice_after_s * 1_000_000, pending_max=settings.notice_backlog)
    senders = []
    if settings.notice_url:
        senders.append(_make_webhook(settings))
    elif settings.notice_secret:
        raise SettingsInvalid("notice_secret needs notice_url: mails are not signed")
    if settings.notice_email:
        senders.append(_make_mail(settings))
    return Notifier(read_backlogs, options, senders)


def _make_webhook(settings: Settings) -> Sender:
    # Imported here, as below: who has no such channel need not wait for what it needs.
    from pregon.delivery.webhook import Webhook, WebhookOptions, check_notice_url
    from pregon.security.signatures import decode_secret

    try:
        secrets = (decode_secret(settings.notice_secret),) if settings.notice_secret else ()
    except BadRequest as error:
        raise SettingsInvalid(f"notice_secret is wrong: {error}") from error
    source = settings.public_url.rstrip("/") or f"//{socket.gethostname()}/pregon"
    url = check_notice_url(settings.notice_url)
    return Sender(Webhook(WebhookOptions(url, secrets, source, settings.notice_language)))


def _make_mail(settings: Settings) -> Sender:
    from pregon.delivery.mail import Mail, MailOptions, parse_addresses

    recipients = parse_addresses("notice_email", settings.notice_email)
    (sender,) = parse_addresses("notice_from", settings.notice_from or f"pregon@{socket.gethostname()}")[:1]
    return Sender(Mail(MailOptions(settings.notice_smtp, sender, recipients, settings.notice_language)))
