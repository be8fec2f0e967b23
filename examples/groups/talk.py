"""Three people talk in a group: each message says what it comes after, and what it is concurrent with.

With a hub running (`make run`):

    .venv/bin/python examples/groups/talk.py
"""

from pregon import Client, Group, GroupMessage


def hear(group: Group) -> GroupMessage:
    """The next message; that somebody came is only told."""
    for event in group:
        if isinstance(event, GroupMessage):
            return event
        print(f"    {group.name} is shown that {event.name} is in")
    raise SystemExit("the group was closed")


with Client() as hub:
    ana, luis, eva = (hub.join("kitchen", name=name) for name in ("ana", "luis", "eva"))

    ana.send("shall we cook?")
    question = hear(luis)
    print(f"luis hears {question.sender}: {question.text}")

    # Luis has heard the question, eva has not: his message comes after it, hers is concurrent.
    luis.send("yes, soup", answers=question)
    eva.send("I bring bread")

    answers = sorted((hear(ana), hear(ana)), key=lambda message: message.text)
    for message in answers:
        after = "after" if message.is_after(question) else "concurrent with"
        print(f"ana hears {message.sender}: {message.text} ({after} her question)")
    bread, soup = answers
    print("bread and soup are concurrent:", bread.concurrent_with(soup))

    for group in (ana, luis, eva):
        group.leave()
        hub.retire(group.token)
