"""What the audit says, as sentences in two languages."""

from __future__ import annotations

import pytest

from pregon.edges.admin.audit_sentences import place_of, read_detail, sentence
from pregon.edges.admin.words import words_of
from pregon.model.administration import AuditEntry


def note(action: str, kind: str, object: str, detail: str = "", who: str = "administrator ana") -> AuditEntry:
    """An entry."""
    return AuditEntry(at_us=1, who=who, action=action, kind=kind, object=object, detail=detail)


@pytest.mark.parametrize(
    "entry, english, spanish",
    [
        (
            note("delete", "topic", "fallecidos"),
            "<b>ana</b> deleted the topic <b>fallecidos</b>",
            "<b>ana</b> eliminó el tópico <b>fallecidos</b>",
        ),
        (
            note("update", "subscription", "fallecidos bps", '{"paused":true}', "token grafana"),
            "<b>the token grafana</b> paused the subscription <b>fallecidos → bps</b>",
            "<b>el token grafana</b> pausó la suscripción <b>fallecidos → bps</b>",
        ),
        (
            note("update", "topic", "fallecidos", '{"enabled":false}', ""),
            "<b>Anybody (the hub was open)</b> disabled the topic <b>fallecidos</b>",
            "<b>Cualquiera (el pregón estaba abierto)</b> deshabilitó el tópico <b>fallecidos</b>",
        ),
        (
            note("update", "topic", "fallecidos", '{"enabled":false,"description":"x"}'),
            "<b>ana</b> changed the topic <b>fallecidos</b>",
            "<b>ana</b> cambió el tópico <b>fallecidos</b>",
        ),
        (
            note("create", "key", "subscriber bps", '{"id":"3f"}', "oidc luis"),
            "<b>luis (by the identity provider)</b> made a key for the <b>subscriber bps</b>",
            "<b>luis (por el proveedor de identidad)</b> creó una clave para el <b>suscriptor bps</b>",
        ),
        (
            note("test", "topic", "fallecidos", '{"producer":"pregon.test","seq":7}'),
            "<b>ana</b> sent a test message to the topic <b>fallecidos</b>",
            "<b>ana</b> envió un mensaje de prueba al tópico <b>fallecidos</b>",
        ),
        (
            note("test", "subscriber", "bps", '{"endpoint":"https://bps.example"}', "token grafana"),
            "<b>the token grafana</b> tested the web service of the subscriber <b>bps</b>",
            "<b>el token grafana</b> probó el servicio web del suscriptor <b>bps</b>",
        ),
        (
            note("enter_failed", "session", "", "", ""),
            "Somebody could not enter as <b>a name that nobody has</b>",
            "Alguien no pudo entrar como <b>un nombre que nadie tiene</b>",
        ),
        (
            note("paint", "fence", "<i>"),
            "<b>ana</b>: paint fence <b>&lt;i&gt;</b>",
            "<b>ana</b>: paint fence <b>&lt;i&gt;</b>",
        ),
    ],
)
def test_who_did_what_is_a_sentence(entry: AuditEntry, english: str, spanish: str) -> None:
    assert str(sentence(entry, words_of("en"))) == english
    assert str(sentence(entry, words_of("es"))) == spanish


@pytest.mark.parametrize(
    "entry, place",
    [
        (note("update", "topic", "fallecidos"), "/admin/topics/fallecidos"),
        (note("delete", "topic", "fallecidos"), ""),
        (note("replay", "subscription", "fallecidos bps"), "/admin/subscriptions/fallecidos/bps"),
        (note("replay", "subscription", "fallecidos"), ""),
        (note("create", "key", "producer dnic"), "/admin/producers/dnic"),
        (note("create", "key", "token grafana"), ""),
        (note("enter", "session", "ana"), ""),
    ],
)
def test_what_is_still_there_has_a_link(entry: AuditEntry, place: str) -> None:
    assert place_of(entry) == place


def test_what_was_asked_for_is_read_field_by_field_and_cut_where_it_is_long() -> None:
    entry = note("update", "topic", "x", '{"enabled":true,"description":"%s","headers":{"a":1}}' % ("y" * 1_000))

    found = dict(read_detail(entry))

    assert found["enabled"] == "true"
    assert found["headers"] == '{"a":1}'
    assert len(found["description"]) == 400
    assert read_detail(note("update", "topic", "x", "no json")) == [("", "no json")]
