"""The chat on a terminal's whole screen: rooms, what is said, who is here, and where to write.

Only what to show and how; what happens is `talk`'s. The screen is drawn a few times a second at most, and only what
changed: a room with a long history does not hold up who writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from pregon.chat.conversation import Conversation
from pregon.chat.input_line import TEXT_CHARACTERS_MAX, Concurrent
from pregon.chat.room import Line, Placed, Room
from pregon.chat.screen_parts import Drawn, draw_line, draw_member, draw_room, look_of
from pregon.chat.talk import Talk
from pregon.errors import PregonError

_DRAWS_PER_S = 15
_NOTICES_SHOWN = 3
_CSS = """
Screen { layout: vertical; }
#top { height: 1; background: $primary-darken-2; color: $text; padding: 0 1; }
#top.away { background: $error-darken-1; }
#middle { height: 1fr; }
#rooms, #members { width: 22; height: 1fr; border: none; background: $surface; padding: 0 1; }
.side { width: 22; height: 100%; background: $surface; }
.title { width: 22; height: 1; padding: 0 1; text-style: bold; color: $text-muted; background: $surface; }
#said { width: 1fr; height: 100%; border: none; background: $background; padding: 0 1; }
#notices { height: auto; max-height: 6; padding: 0 1; color: $warning; background: $surface; }
#line { border: tall $primary; }
.narrow #members, .narrow .members, .narrow .rooms { display: none; }
"""
_NARROW_COLUMNS = 80


class Said(OptionList):
    """What is said; a message may be chosen, to answer it or to see what is concurrent with it."""


class ChatScreen(App[None], inherit_bindings=False):
    """The screen. `make_talk` makes the talk around the conversation that the screen shows."""

    CSS = _CSS
    ENABLE_COMMAND_PALETTE = False
    # Before the field where one writes, which would copy.
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "leave_chat", show=False, priority=True)]

    def __init__(self, language: str, make_talk: Callable[[Conversation], Talk]) -> None:
        super().__init__()
        self.conversation = Conversation(language, self)
        self.talk = make_talk(self.conversation)
        self.failure: PregonError | None = None
        self._notices: list[str] = []
        self._looks: list[tuple[object, ...]] = []
        """By what each line that is drawn would look otherwise."""
        self._placed: list[Placed] = []
        self._of_room: Room | None = None
        self._dirty: set[str] = set()
        self._chat: asyncio.Task[None] | None = None
        for keys, action, text in (
            ("ctrl+q", "leave_chat", "key_quit"),
            ("ctrl+n,ctrl+down", "step(1)", "key_next"),
            ("ctrl+p,ctrl+up", "step(-1)", "key_previous"),
            ("f2", "threads", "key_threads"),
            ("f3", "concurrent", "key_concurrent"),
            ("f1", "tell_help", "key_help"),
        ):
            self.bind(keys, action, description=self.conversation.say(text))

    def compose(self) -> ComposeResult:
        """The parts of the screen."""
        say = self.conversation.say
        yield Static(id="top")
        with Horizontal(id="middle"):
            with Vertical(classes="side rooms"):
                yield Static(say("rooms_title"), classes="title")
                yield OptionList(id="rooms")
            yield Said(id="said")
            with Vertical(classes="side members"):
                yield Static(say("members_title"), classes="title")
                yield OptionList(id="members")
        yield Static(id="notices")
        yield Input(id="line", placeholder=say("type_here"), max_length=TEXT_CHARACTERS_MAX)
        yield Footer()

    def on_mount(self) -> None:
        """Begin."""
        self.title = self.conversation.say("title")
        self.query_one("#members", OptionList).can_focus = False
        self.query_one("#line", Input).focus()
        self._dirty |= {"top", "rooms", "said", "members", "notices"}
        self.set_interval(1 / _DRAWS_PER_S, self._draw)
        self._chat = asyncio.create_task(self._run())

    async def _run(self) -> None:
        try:
            await self.talk.run()
        except PregonError as error:
            self.failure = error
        self.exit()

    async def on_unmount(self) -> None:
        """Whatever ended the screen, the talk is ended in order."""
        self.talk.quit()
        if self._chat is not None:
            await self._chat

    def on_resize(self, event: events.Resize) -> None:
        """A narrow terminal shows what is said."""
        self.screen.set_class(event.size.width < _NARROW_COLUMNS, "narrow")

    # What is typed and chosen.

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """A line."""
        line, event.input.value = event.value, ""
        await self.talk.put(line)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A room is shown; a message is answered."""
        if event.option_list.id == "rooms" and event.option_id is not None:
            room = self.conversation.rooms.get(event.option_id)
            if room is not None:
                self.conversation.show_room(room)
        elif event.option_list.id == "said":
            self._answer(self._placed[event.option_index].line)
        self.query_one("#line", Input).focus()

    def _answer(self, line: Line) -> None:
        if line.is_message and line.stamp is not None:
            entry = self.query_one("#line", Input)
            entry.value = f"/answer {line.stamp} {entry.value}"
            entry.cursor_position = len(entry.value)

    def action_step(self, places: int) -> None:
        """Another room."""
        self.conversation.step(places)

    def action_threads(self) -> None:
        """In threads, or in causal order."""
        self.conversation.turn_threads()

    def action_concurrent(self) -> None:
        """Mark what is concurrent with the message that is chosen, or with the newest."""
        said = self.query_one(Said)
        at = said.highlighted if said.has_focus else None
        stamp = self._placed[at].line.stamp if at is not None and at < len(self._placed) else None
        self.conversation.mark(Concurrent(stamp))

    def action_tell_help(self) -> None:
        """What can be typed."""
        self.conversation.notice("help")

    def action_leave_chat(self) -> None:
        """Quit."""
        self.talk.quit()

    # What changed.

    def show_line(self, room: Room, line: Line) -> None:
        """A room has one more line."""
        if room is self.conversation.shown:
            self._dirty.add("said")

    def show_stage(self, room: Room, line: Line) -> None:
        """An own line has come further, or was refused."""
        self.show_line(room, line)

    def show_rooms(self) -> None:
        """Rooms, unread counts, or which room is shown have changed."""
        self._dirty |= {"rooms", "said", "members", "top"}

    def show_members(self, room: Room) -> None:
        """Who is in a room, or here, has changed."""
        if room is self.conversation.shown:
            self._dirty.add("members")

    def show_marks(self, room: Room) -> None:
        """Other messages are marked, or lines stand otherwise."""
        self._dirty.add("said")

    def show_notice(self, text: str) -> None:
        """Something to know."""
        self._notices = [*self._notices, text][-_NOTICES_SHOWN:]
        self._dirty.add("notices")

    def show_status(self) -> None:
        """The connection, or the own name, has changed."""
        self._dirty |= {"top", "members"}

    # Drawing.

    def _draw(self) -> None:
        dirty, self._dirty = self._dirty, set()
        for part in dirty:
            getattr(self, f"_draw_{part}")()

    def _draw_top(self) -> None:
        conversation = self.conversation
        top, entry = self.query_one("#top", Static), self.query_one("#line", Input)
        where = conversation.shown.title if conversation.shown is not None else ""
        parts = [conversation.say("title"), conversation.name, where]
        if conversation.name and not conversation.is_connected:
            parts.append(conversation.say("reconnecting"))
        top.set_class(bool(conversation.name) and not conversation.is_connected, "away")
        top.update(Text("  ·  ".join(part for part in parts if part), no_wrap=True, overflow="ellipsis"))
        entry.placeholder = conversation.say("type_nick" if self.talk.is_asking_nick else "type_here")

    def _draw_rooms(self) -> None:
        rooms, shown = self.query_one("#rooms", OptionList), self.conversation.shown
        rooms.clear_options()
        rooms.add_options(
            Option(draw_room(room, is_shown=room is shown), id=room.name) for room in self.conversation.rooms.values()
        )
        names = list(self.conversation.rooms)
        rooms.highlighted = names.index(shown.name) if shown is not None else None

    def _draw_members(self) -> None:
        members, shown = self.query_one("#members", OptionList), self.conversation.shown
        members.clear_options()
        if shown is not None:
            you = self.conversation.say("you")
            ordered = sorted(shown.members, key=lambda one: (not one.is_here, one.name.casefold()))
            members.add_options(Option(draw_member(one, is_me=one.number == shown.me, you=you)) for one in ordered)

    def _draw_notices(self) -> None:
        self.query_one("#notices", Static).update(Text("\n".join(self._notices)))

    def _draw_said(self) -> None:
        """Draw what changed: mostly, lines at the end."""
        said, room = self.query_one(Said), self.conversation.shown
        placed = [] if room is None else room.placed(in_threads=self.conversation.in_threads)
        looks = [] if room is None else [look_of(room, one) for one in placed]
        is_at_end = said.scroll_offset.y >= said.max_scroll_y - 1 or room is not self._of_room
        if room is not self._of_room or len(looks) < len(self._looks):
            said.clear_options()
            self._looks = []
        for index, old in enumerate(self._looks):
            if old != looks[index]:
                said.replace_option_prompt_at_index(index, self._draw_one(placed[index]))
        said.add_options(Option(self._draw_one(one)) for one in placed[len(self._looks) :])
        self._looks, self._placed, self._of_room = looks, placed, room
        if is_at_end:
            said.scroll_end(animate=False)

    def _draw_one(self, placed: Placed) -> Drawn:
        assert self.conversation.shown is not None, "a line is of a room"
        return draw_line(self.conversation.language, self.conversation.shown, placed)
