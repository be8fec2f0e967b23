"""Publish two deaths, and receive them as BPS.

With a hub running (`make run`):

    .venv/bin/python examples/publish_and_pull.py

Run it twice: the second time nothing is stored, because the ids are the same, and nothing is pending, because
BPS has acknowledged what it received.
"""

from pregon import Client

TOPIC = "fallecidos"

with Client(producer="DGREC") as hub:
    for act, name in (("acta-1861", "Pepe Gómez"), ("acta-1862", "Ana Pérez")):
        published = hub.publish(TOPIC, name, id=act)
        print(f"{act} is message {published.seq}" + (", published before" if published.duplicate else ""))

    pulled = hub.pull(TOPIC, "BPS")
    for message in pulled:
        print(f"BPS got {message.seq}: {message.text} ({message.id}, from {message.producer})")
    if pulled.last_seq is not None:
        hub.ack(TOPIC, "BPS", pulled.last_seq, pulled.epoch)

    account = hub.account(TOPIC, "BPS")
    print(f"BPS: {account.accepted} accepted = {account.acknowledged} acknowledged + {account.pending} pending")
