"""Imports only point down, as the map in `layers.py` draws it."""

import pytest

from . import layers
from .tree import PACKAGE, ROOT, Source, listed, violations


def test_imports_only_point_down() -> None:
    folder = PACKAGE

    found = violations(layers.upward_imports, folder)

    assert not found, listed(found)


def test_doors_do_not_import_each_other() -> None:
    folder = PACKAGE

    found = violations(layers.meeting_doors, folder)

    assert not found, listed(found)


def test_every_part_of_the_package_is_on_the_map() -> None:
    entries = [path for path in (ROOT / PACKAGE).iterdir() if path.suffix == ".py" or any(path.rglob("*.py"))]

    found = layers.undeclared_parts({path.stem for path in entries})

    assert not found, listed(found)


def test_the_map_has_no_circle() -> None:
    drawn = layers.MAY_IMPORT

    found = layers.circles(drawn)

    assert not found, listed(found)


@pytest.mark.parametrize(
    ("name", "text", "target"),
    [
        ("store/log.py", "from pregon.hub import publish", "pregon.hub.publish"),
        ("store/log.py", "from pregon import hub", "pregon.hub"),
        ("store/log.py", "import pregon.hub.publish as p", "pregon.hub.publish"),
        ("store/log.py", "from ..hub.publish import Publish", "pregon.hub.publish.Publish"),
        ("store/migrations/one.py", "from ... import hub", "pregon.hub"),
        ("store/__init__.py", "from ..hub import publish", "pregon.hub.publish"),
        ("model/batch.py", "if TYPE_CHECKING:\n    from pregon.store import log", "pregon.store.log"),
        ("client/sync.py", "def f():\n    from pregon.hub import publish", "pregon.hub.publish"),
        ("client/sync.py", "import_module('pregon.server')", "pregon.server"),
        ("spark/reader.py", "from pregon.store import log", "pregon.store.log"),
        ("delivery/push.py", "from pregon.groups import rooms", "pregon.groups.rooms"),
        ("bench/run.py", "from pregon.edges import http", "pregon.edges.http"),
        ("settings.py", "from pregon.clock import Clock", "pregon.clock.Clock"),
        ("errors.py", "from .limits import BODY_BYTES_MAX", "pregon.limits.BODY_BYTES_MAX"),
        ("hub/publish.py", "from pregon import Client", "pregon.Client"),
        ("hub/publish.py", "import pregon", "pregon"),
        ("hub/publish.py", "from pregon import __version__", "pregon.__version__"),
        ("__init__.py", "from .server import serve", "pregon.server.serve"),
        ("__init__.py", "importlib.import_module('.server', __name__)", "pregon.server"),
    ],
)
def test_an_import_that_points_up_is_reported(name: str, text: str, target: str) -> None:
    source = Source(f"src/pregon/{name}", text)

    found = layers.upward_imports(source)

    assert len(found) == 1
    assert found[0].endswith(f"may not import {target}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("store/log.py", "from . import cursors\nfrom ..model.batch import Batch\nimport sqlalchemy"),
        ("edges/http/app.py", "from pregon.version import __version__\nfrom pregon.hub import publish"),
        ("server.py", "from pregon.edges import zmq\nfrom .store import log"),
        ("client/sync.py", "from ..wire import frames\nfrom pregon.causal import member"),
        ("__init__.py", "from .client import Client\nfrom pregon.errors import PregonError"),
        ("cli/topic.py", "from pregon import Client\nfrom pregon.bench import run\nimport pregonero.hub"),
    ],
)
def test_an_import_that_points_down_is_not_reported(name: str, text: str) -> None:
    source = Source(f"src/pregon/{name}", text)

    found = layers.upward_imports(source)

    assert found == []


def test_a_new_folder_must_say_where_it_may_import_from() -> None:
    source = Source("src/pregon/gossip/talk.py", "import os")

    found = layers.upward_imports(source) + layers.undeclared_parts({"gossip", "hub", "__init__"})

    assert len(found) == 2
    assert all(line.endswith("say in tests/house/layers.py where gossip may import from") for line in found)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (
            "zmq/lane.py",
            "from pregon.edges.http import app",
            "edges/zmq may not import pregon.edges.http.app",
        ),
        ("zmq/lane.py", "from ..http import app", "edges/zmq may not import pregon.edges.http.app"),
        ("zmq/lane.py", "from pregon.edges import http", "edges/zmq may not import pregon.edges.http"),
        ("gopher/menu.py", "import os", "say in tests/house/layers.py that edges/gopher is a door"),
    ],
)
def test_a_door_that_opens_another_is_reported(name: str, text: str, reason: str) -> None:
    source = Source(f"src/pregon/edges/{name}", text)

    found = layers.meeting_doors(source)

    assert len(found) == 1
    assert found[0].endswith(reason)


def test_doors_may_share_a_file_between_them() -> None:
    source = Source("src/pregon/edges/http/app.py", "from ..problems import status_of\nfrom . import routes")

    found = layers.meeting_doors(source)

    assert found == []


def test_a_circle_in_a_map_is_reported() -> None:
    drawn = {"hub": frozenset({"store"}), "store": frozenset({"hub", "cellar"})}

    found = layers.circles(drawn)

    assert len(found) == 2
    assert "cellar" in found[0]
    assert "cycle" in found[1]
