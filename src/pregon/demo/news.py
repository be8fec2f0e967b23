"""The news of the demo: people who never lived, as the civil registry tells of them.

Promise: the same number is always the same person, so that who sends or checks one again needs to keep nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from pregon.schemas.xml import parse_xml
from pregon.soap.texts import escape

NOTICIAS = "http://noticias.agesic.gub.uy/"
MONTEVIDEO = "Montevideo"
FILTER = {"xpath": f"//not:departamento[. = '{MONTEVIDEO}']", "namespaces": {"not": NOTICIAS}}
"""What the body wants that only wants people of Montevideo."""

_NAMES = ("Pepe", "Ana", "Juan", "Marta", "Luis", "Elena", "Óscar", "Rosa", "Hugo", "Inés", "Raúl")
_SURNAMES = ("Gómez", "Pérez", "Díaz", "Silva", "Núñez", "Rodríguez", "Sosa")
_DEPARTMENTS = (MONTEVIDEO, "Canelones", "Salto", MONTEVIDEO, "Rocha", "Paysandú", "Rivera")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody of whom there is news."""

    acta: int
    nombre: str
    apellido: str
    ci: str
    departamento: str


def person(acta: int) -> Person:
    """Who the certificate with this number is of."""
    digits = f"{1_111_111 + acta * 7_919:07d}"
    ci = f"{digits[0]}.{digits[1:4]}.{digits[4:]}-{acta % 10}"
    name, surname = _NAMES[acta % len(_NAMES)], _SURNAMES[acta % len(_SURNAMES)]
    return Person(acta, name, surname, ci, _DEPARTMENTS[acta * 3 % len(_DEPARTMENTS)])


def write_noticia(of: Person) -> str:
    """The news of a person, in the vocabulary of the platform."""
    fields = {"nombre": of.nombre, "apellido": of.apellido, "departamento": of.departamento, "ci": of.ci}
    inside = "".join(f"<not:{name}>{escape(value)}</not:{name}>" for name, value in fields.items())
    persona = f"<not:personas><not:persona>{inside}</not:persona></not:personas>"
    return f'<not:noticia xmlns:not="{NOTICIAS}">{persona}</not:noticia>'


def read_ci(noticia: bytes) -> str:
    """The identity card of whom a noticia, or an envelope around it, tells; raises BadXml."""
    return parse_xml(noticia).findtext(f".//{{{NOTICIAS}}}ci") or ""
