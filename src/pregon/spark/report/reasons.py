"""Why a subscription cannot be checked, for readers of Spanish too: `reconciliation` says it in English.

Promises: a reason that is not known here stays as it was said.
"""

from __future__ import annotations

import re

from pregon.spark.pipelines.reconciliation import ACCEPTANCE, FORGOTTEN, NO_ACCEPTANCE, TOO_EARLY
from pregon.spark.report.words import Both


def _pattern(said: str) -> re.Pattern[str]:
    """What a text with places for words looks like when they are filled in."""
    return re.compile(re.escape(said).replace("%s", "(.+)"))


_SPANISH = (
    (
        _pattern(TOO_EARLY),
        "las trazas terminan en {} y las cifras del hub son de {}: lea las trazas después de las suscripciones",
    ),
    (
        _pattern(FORGOTTEN.replace("%s", f"{ACCEPTANCE}%s", 1)),
        "las trazas empiezan con la aceptación del mensaje {}, la suscripción con el mensaje {}: agregue las trazas "
        "archivadas, o conserve las trazas más tiempo",
    ),
    (
        _pattern(FORGOTTEN.replace("%s", NO_ACCEPTANCE, 1)),
        "las trazas no tienen ninguna aceptación de este tema, la suscripción empieza con el mensaje {}: agregue las "
        "trazas archivadas, o conserve las trazas más tiempo",
    ),
)


def spoken_reason(reason: str) -> Both:
    """A reason in both languages."""
    for pattern, spanish in _SPANISH:
        found = pattern.fullmatch(reason)
        if found is not None:
            return reason, spanish.format(*found.groups())
    return reason, reason
