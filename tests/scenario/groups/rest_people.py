"""People who take part in groups over REST, as a program with nothing but an HTTP client would write it."""

from __future__ import annotations

from typing import Any

import httpx


class Person:
    """A participant, and what it asks."""

    def __init__(self, http: httpx.Client, name: str, **headers: str) -> None:
        self.http = http
        self._headers = headers
        answer = http.post("/v1/participants", json={"name": name}, headers=headers)
        assert answer.status_code == 201, answer.text
        self.name: str = answer.json()["name"]
        self.token: str = answer.json()["token"]

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Any request in its name."""
        headers = {"Pregon-Participant": self.token, **self._headers, **more.pop("headers", {})}
        return self.http.request(method, path, headers=headers, **more)

    def create(self, group: str, **values: Any) -> None:
        """Make a group."""
        answer = self.ask("POST", "/v1/groups", json={"name": group, **values})
        assert answer.status_code == 201, answer.text

    def join(self, group: str, **values: Any) -> dict[str, Any]:
        """Be a member."""
        answer = self.ask("POST", f"/v1/groups/{group}/members", json=values)
        assert answer.status_code in (200, 201), answer.text
        joined: dict[str, Any] = answer.json()
        return joined

    def try_to_say(self, group: str, text: str | bytes = "hola", **query: Any) -> httpx.Response:
        """Say something, whatever the answer."""
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        return self.ask("POST", f"/v1/groups/{group}/messages", content=text, params=query, headers=headers)

    def say(self, group: str, text: str | bytes = "hola", **query: Any) -> dict[str, Any]:
        """Say something: what is known of it then."""
        answer = self.try_to_say(group, text, **query)
        assert answer.status_code in (200, 201), answer.text
        sent: dict[str, Any] = answer.json()
        return sent

    def read(self, group: str, **query: Any) -> list[dict[str, Any]]:
        """What was said."""
        answer = self.ask("GET", f"/v1/groups/{group}/messages", params=query)
        assert answer.status_code == 200, answer.text
        messages: list[dict[str, Any]] = answer.json()["messages"]
        return messages

    def relation(self, group: str, one: str, other: str) -> str:
        """How one message stands to another."""
        answer = self.ask("GET", f"/v1/groups/{group}/messages/{one}/relation", params={"to": other})
        assert answer.status_code == 200, answer.text
        relation: str = answer.json()["relation"]
        return relation

    def groups(self, **query: Any) -> dict[str, Any]:
        """Of which groups it is a member."""
        answer = self.ask("GET", "/v1/participants/me/groups", params=query)
        assert answer.status_code == 200, answer.text
        mine: dict[str, Any] = answer.json()
        return mine


def texts(messages: list[dict[str, Any]]) -> list[str]:
    """What people said, without who came and went."""
    return [one["text"] for one in messages if one["kind"] == "message"]
