"""Random callers before random rules, against the rules said again in the plainest way.

The model below was written from the table in the documentation of `security.callers`, not from its code: it names
the five kinds of caller and says for each what it may.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from pregon.errors import Forbidden, PregonError, Unauthorized
from pregon.security.callers import ANYBODY, Caller, Rules, caller_of_claims, scopes_of

NAMES = ("ana", "bruno", "carla")
KINDS = ("producer", "subscriber")
SCOPES = ("admin", "operate", "read")


@dataclass(frozen=True)
class Asker:
    """Somebody, as the documentation tells them apart."""

    kind: str
    """nobody, producer, subscriber, token or provider."""
    own: frozenset[tuple[str, str]] = frozenset()
    """Whose key it has, or in whose name its provider lets it speak."""
    scope: str = ""
    """Its largest scope."""

    def caller(self) -> Caller:
        """As the program has it."""
        if self.kind == "nobody":
            return ANYBODY
        if self.kind == "provider":
            scopes = [f"pregon:{kind}:{name}" for kind, name in self.own]
            return caller_of_claims("somebody", frozenset([*scopes, *([f"pregon:{self.scope}"] if self.scope else [])]))
        return Caller(
            name="somebody",
            producers=frozenset(name for kind, name in self.own if kind == "producer"),
            subscribers=frozenset(name for kind, name in self.own if kind == "subscriber"),
            scopes=scopes_of((self.scope,)) if self.scope else frozenset(),
        )


@dataclass(frozen=True)
class World:
    """A hub, as the documentation describes it."""

    has_administrator: bool
    keys_are_required: bool
    with_key: frozenset[tuple[str, str]]

    def rules(self) -> Rules:
        """As the program has it."""
        return Rules(not self.has_administrator, self.keys_are_required, lambda *owner: owner in self.with_key)

    def has_scope(self, asker: Asker, wanted: str) -> bool:
        """Whether it holds the scope, or a larger one that includes it."""
        return asker.scope != "" and SCOPES.index(asker.scope) <= SCOPES.index(wanted)

    def lets_use(self, asker: Asker, wanted: str) -> bool:
        """On an open hub anybody may do anything; from then on, what its scopes say."""
        if not self.has_administrator:
            return True
        return self.has_scope(asker, wanted)

    def lets_speak(self, asker: Asker, who: tuple[str, str]) -> bool:
        """One's own name always; one who has a key for nobody else; one who has none for all, unless keys must be."""
        if who in asker.own:
            return True
        if who in self.with_key:
            return False
        if not self.has_administrator:
            return True
        return not self.keys_are_required


owners = st.tuples(st.sampled_from(KINDS), st.sampled_from(NAMES))
worlds = st.builds(World, st.booleans(), st.booleans(), st.frozensets(owners))
askers = st.one_of(
    st.just(Asker("nobody")),
    owners.map(lambda own: Asker(own[0], frozenset([own]))),
    st.sampled_from(SCOPES).map(lambda scope: Asker("token", scope=scope)),
    st.builds(lambda own, scope: Asker("provider", own, scope), st.frozensets(owners), st.sampled_from(["", *SCOPES])),
)


def outcome(ask: Callable[[], None]) -> type[PregonError] | None:
    """The kind of refusal, or None."""
    try:
        ask()
    except (Unauthorized, Forbidden) as error:
        return type(error)
    return None


def refusal(asker: Asker, is_let: bool) -> type[PregonError] | None:
    """What the answer must be."""
    if is_let:
        return None
    return Unauthorized if asker.kind == "nobody" else Forbidden


@given(world=worlds, asker=askers, scope=st.sampled_from(SCOPES))
def test_a_scope_is_needed_exactly_when_there_is_an_administrator(world: World, asker: Asker, scope: str) -> None:
    rules, caller = world.rules(), asker.caller()

    told = outcome(lambda: rules.require(caller, scope))

    assert told == refusal(asker, world.lets_use(asker, scope))
    assert rules.may(caller, scope) == world.lets_use(asker, scope)
    assert rules.may_create(caller) == world.lets_use(asker, "admin")


@given(world=worlds, asker=askers, who=owners)
def test_nobody_speaks_in_a_name_that_is_not_theirs_to_use(world: World, asker: Asker, who: tuple[str, str]) -> None:
    rules, caller = world.rules(), asker.caller()

    is_let = rules.may_speak_for(caller, *who)

    assert is_let == world.lets_speak(asker, who)
    if who in world.with_key and who not in asker.own:
        assert not is_let, "whatever its scopes, and however open the hub"


@given(world=worlds, asker=askers, owner=owners)
def test_one_more_key_never_lets_anybody_else_in(world: World, asker: Asker, owner: tuple[str, str]) -> None:
    more = World(world.has_administrator, world.keys_are_required, world.with_key | {owner})

    before = {who: world.rules().may_speak_for(asker.caller(), *who) for who in [(k, n) for k in KINDS for n in NAMES]}
    after = {who: more.rules().may_speak_for(asker.caller(), *who) for who in before}

    assert all(before[who] or not after[who] for who in before)


@given(asker=askers, owners_with_key=st.frozensets(owners), is_strict=st.booleans())
def test_a_first_administrator_never_lets_anybody_do_more(
    asker: Asker, owners_with_key: frozenset[tuple[str, str]], is_strict: bool
) -> None:
    before, after = (World(has_one, is_strict, owners_with_key).rules() for has_one in (False, True))
    caller = asker.caller()

    allowed = [
        (rules.may(caller, scope), rules.may_speak_for(caller, kind, name))
        for rules in (before, after)
        for scope in SCOPES
        for kind in KINDS
        for name in NAMES
    ]
    half = len(allowed) // 2

    assert all(
        (old[0] or not new[0]) and (old[1] or not new[1])
        for old, new in zip(allowed[:half], allowed[half:], strict=True)
    )
