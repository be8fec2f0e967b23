"""What the chat says to people, in their language: every text of it, in one table.

Promises: both languages have every text, with the same places to fill in (a test keeps it).
"""

from __future__ import annotations

from typing import Any

ENGLISH, SPANISH = "en", "es"
LANGUAGES = (ENGLISH, SPANISH)

TEXTS: dict[str, tuple[str, str]] = {
    # What happens to members: only ever said of an event of that kind.
    "joined": ("{name} is in", "{name} entró"),
    "left": ("{name} left", "{name} se fue"),
    "gone": ("{name} is out", "{name} quedó fuera"),
    "renamed": ("{old} is {name} now", "{old} ahora es {name}"),
    "missed": ("messages {first} to {last} are no longer kept", "los mensajes {first} a {last} ya no se guardan"),
    # The hub.
    "connecting": ("connecting to {hub} …", "conectando con {hub} …"),
    "reconnecting": (
        "the hub does not answer: reconnecting; what you write is sent when it is back",
        "el pregón no responde: reconectando; lo que escriba se enviará cuando vuelva",
    ),
    "connected": ("connected as {name}", "conectado como {name}"),
    "back": ("connected again", "conectado otra vez"),
    "unknown_here": (
        "the hub does not know you any more, so you begin anew",
        "el pregón ya no le conoce, así que empieza de nuevo",
    ),
    "unsent": (
        "lines that were not sent: {count}; they are kept, and sent when you come back",
        "líneas sin enviar: {count}; se guardan, y se enviarán cuando vuelva",
    ),
    "unsaid": (
        "the hub {hub} did not answer, so these lines were not said: {count}; try again when it is there",
        "el pregón {hub} no respondió, así que estas líneas no se dijeron: {count}; inténtelo cuando esté",
    ),
    "sent_now": ("lines of the last time, sent now: {count}", "líneas de la última vez, enviadas ahora: {count}"),
    "not_sent": ("not sent: {reason}", "no se envió: {reason}"),
    "refused": ("{reason}", "{reason}"),
    # Names.
    "ask_nick": ("What should the others call you?", "¿Cómo quiere que le llamen?"),
    "nick_taken": (
        "somebody is called {nick} already: choose another name",
        "alguien se llama {nick} ya: elija otro nombre",
    ),
    "nick_bad": (
        "{nick} cannot be a name: use 1 to {most} letters, digits, _ . - or spaces between them, and not one of the "
        "hub's own",
        "{nick} no puede ser un nombre: use de 1 a {most} letras, cifras, _ . - o espacios entre ellas, y no uno de "
        "los del pregón",
    ),
    "busy_person": (
        "{name} is chatting from here already: close that chat, or choose another name",
        "{name} ya está conversando desde aquí: cierre ese chat, o elija otro nombre",
    ),
    # Rooms.
    "no_room": (
        "you are in no room: write /join and its name, or /rooms to see what there is",
        "no está en ninguna sala: escriba /join y su nombre, o /rooms para ver las que hay",
    ),
    "room_unknown": ("you are not in {room}", "no está en {room}"),
    "room_bad": (
        "{room} cannot be a room: use 1 to {most} of A-Z a-z 0-9 . _ - and begin with a letter or a digit",
        "{room} no puede ser una sala: use de 1 a {most} de A-Z a-z 0-9 . _ - y empiece con una letra o una cifra",
    ),
    "room_open": ("you are in {room}", "está en {room}"),
    "room_left": ("you have left {room}", "ha salido de {room}"),
    "room_over": ("you are no longer in {room}: {reason}", "ya no está en {room}: {reason}"),
    "private_open": ("private conversation with {name}", "conversación privada con {name}"),
    "nobody_called": ("nobody is called {nick}", "nadie se llama {nick}"),
    "rooms_are": ("rooms: {rooms}", "salas: {rooms}"),
    "rooms_none": ("there are no rooms yet: /join makes one", "todavía no hay salas: /join crea una"),
    "members_are": ("in {room}: {members}", "en {room}: {members}"),
    "is_away": ("away", "ausente"),
    "you": ("you", "usted"),
    # Messages.
    "answers": ("answers {name} {stamp}", "responde a {name} {stamp}"),
    "message_unknown": (
        "there is no message {stamp} on this screen: its number is before each message",
        "no hay un mensaje {stamp} en esta pantalla: su número está delante de cada mensaje",
    ),
    "concurrent_are": (
        "concurrent with {stamp} (neither knew of the other): {stamps}",
        "concurrentes con {stamp} (ninguno sabía del otro): {stamps}",
    ),
    "concurrent_none": (
        "nothing on this screen is concurrent with {stamp}",
        "nada en esta pantalla es concurrente con {stamp}",
    ),
    "concurrent_off": ("concurrent messages are no longer marked", "los concurrentes ya no se marcan"),
    "threads_on": ("answers are gathered under what they answer", "las respuestas van bajo lo que responden"),
    "threads_off": ("messages are in causal order", "los mensajes van en orden causal"),
    # Input.
    "too_long": (
        "a line has at most {most} characters, and this one has {count}",
        "una línea tiene a lo sumo {most} caracteres, y esta tiene {count}",
    ),
    "command_unknown": (
        "/{command} is not a command: /help shows what there is; to say it, begin with a second /",
        "/{command} no es un comando: /help muestra los que hay; para decirlo, empiece con otra /",
    ),
    "command_use": ("write {use}", "escriba {use}"),
    "stamp_bad": (
        "{stamp} is not the number of a message: write MEMBER:NUMBER, such as 3:17",
        "{stamp} no es el número de un mensaje: escriba MIEMBRO:NÚMERO, como 3:17",
    ),
    "help": (
        "/join ROOM · /leave [ROOM] · /msg NICK TEXT · /nick NEW · /who · /rooms · /room ROOM · "
        "/answer 3:4 TEXT · /concurrent [3:4] · /threads · /help · /quit",
        "/join SALA · /leave [SALA] · /msg NOMBRE TEXTO · /nick NUEVO · /who · /rooms · /room SALA · "
        "/answer 3:4 TEXTO · /concurrent [3:4] · /threads · /help · /quit",
    ),
    # The screen.
    "title": ("Pregón chat", "Chat de Pregón"),
    "rooms_title": ("Rooms", "Salas"),
    "members_title": ("Who is here", "Quién está"),
    "type_here": ("Write, or /help", "Escriba, o /help"),
    "type_nick": ("Your name", "Su nombre"),
    "key_quit": ("Quit", "Salir"),
    "key_next": ("Next room", "Sala siguiente"),
    "key_previous": ("Room before", "Sala anterior"),
    "key_threads": ("Threads", "Hilos"),
    "key_answer": ("Answer", "Responder"),
    "key_concurrent": ("Concurrent", "Concurrentes"),
    "key_help": ("Help", "Ayuda"),
    "waiting": ("not sent yet", "sin enviar"),
}  # fmt: skip


def say(language: str, text: str, /, **values: Any) -> str:
    """A text of the table, filled in."""
    return TEXTS[text][LANGUAGES.index(language)].format(**values)
