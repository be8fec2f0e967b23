"""Who one was, kept for tomorrow: secret, whole, and nobody twice at once."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from pregon.chat.people import People, Unsent
from pregon.errors import SettingsInvalid

HUB = "tcp://127.0.0.1:5570"


def people(data: Path, hub: str = HUB) -> People:
    return People(hub, data=data)


def test_a_person_is_found_again_by_its_name_however_it_is_written(tmp_path: Path) -> None:
    people(tmp_path).add("Ana", "ppt_1_x").release()

    found = people(tmp_path).find("ANA")

    assert found is not None
    assert (found.name, found.token) == ("Ana", "ppt_1_x")


def test_what_was_not_sent_is_kept(tmp_path: Path) -> None:
    unsent = [Unsent("plaza", 2, 7, "hola", "3:4"), Unsent("plaza", 2, 8, "¿y?")]
    ana = people(tmp_path).add("ana", "t")
    ana.keep("ana", unsent)
    ana.release()

    found = people(tmp_path).find()

    assert found is not None
    assert found.unsent == unsent


def test_what_was_seen_is_kept_of_rooms_that_are_not_open_too(tmp_path: Path) -> None:
    ana = people(tmp_path).add("ana", "t")
    ana.keep("ana", [], {"plaza": 7, "obras": 3})
    ana.keep("ana", [], {"plaza": 9})
    ana.release()

    found = people(tmp_path).find()

    assert found is not None
    assert found.seen == {"plaza": 9, "obras": 3}


def test_only_its_owner_may_read_what_is_kept(tmp_path: Path) -> None:
    person = people(tmp_path).add("ana", "secret")
    person.keep("ana", [])

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    (folder,) = {path.parent for path in files}

    assert files
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_nobody_is_the_same_person_twice_at_once(tmp_path: Path) -> None:
    ana = people(tmp_path).add("ana", "t")

    second = people(tmp_path).find("ana")
    is_busy = people(tmp_path).is_busy("ana")
    ana.release()

    assert second is None
    assert is_busy
    assert not people(tmp_path).is_busy("ana")
    assert people(tmp_path).find("ana") is not None, "asking whether it is busy keeps nobody out"


def test_without_a_name_it_is_who_was_used_last(tmp_path: Path) -> None:
    ana, luis = (people(tmp_path).add(name, name) for name in ("ana", "luis"))
    ana.keep("ana", [])
    for one in (ana, luis):
        one.release()

    found = people(tmp_path).find()

    assert found is not None
    assert found.name == "ana"


def test_people_of_another_hub_are_others(tmp_path: Path) -> None:
    people(tmp_path).add("ana", "t").release()

    assert people(tmp_path, "tcp://127.0.0.1:9").find("ana") is None


def test_who_is_forgotten_leaves_nothing(tmp_path: Path) -> None:
    ana = people(tmp_path).add("ana", "t")

    ana.forget()

    assert people(tmp_path).find("ana") is None
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("data", [b"", b"{", b"[1, 2]", b"\xff\xfe", b'{"name": "ana"}'])
def test_a_file_that_is_none_of_ours_is_passed_over(tmp_path: Path, data: bytes) -> None:
    people(tmp_path).add("ana", "t").release()
    (file,) = tmp_path.rglob("*.json")
    file.with_name("other.json").write_bytes(data)

    found = people(tmp_path).find()

    assert found is not None
    assert found.name == "ana"


def test_where_nothing_can_be_written_it_is_said_what_to_do(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")

    with pytest.raises(SettingsInvalid, match="XDG_DATA_HOME"):
        people(in_the_way).add("ana", "t")
