"""What watches a hub speaks of metrics that it has, and every metric that it has is documented."""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from .documents import set_apart
from .tree import listed, read

DASHBOARD = "deploy/grafana/pregon.json"
RULES = "deploy/prometheus/pregon.rules.yml"
SCRAPE = "deploy/prometheus/prometheus.yml"
_METRIC = re.compile(r"(?<![\w/.-])pregon_[a-z_]+\b")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a hub where a bit of everything has happened."""
    return make_page(tmp_path_factory.mktemp("hub"))


def make_page(data: Path) -> str:
    """What a hub on this directory says of itself."""
    metrics = importlib.import_module("pregon.edges.http.metrics")
    figures = importlib.import_module("pregon.delivery.figures").Figures()
    backlogs = importlib.import_module("pregon.store.backlogs")
    store = importlib.import_module("pregon.store.database")
    hub = importlib.import_module("pregon.hub.hub").Hub(store.SqliteDatabase(data))
    try:
        figures.pushed("deaths", "bank", "delivered", 1.0, 1.0)
        waiting = backlogs.Backlog("deaths", "bank", 1, 1, 1, 1, True, "push")
        whole: bytes = metrics.render_metrics(hub, figures) + metrics.render_series([waiting], figures, 2)
        broker = importlib.import_module("pregon.services.broker").Broker()
        rows = importlib.import_module("pregon.services.view").list_services(broker)
        of_services = importlib.import_module("pregon.edges.http.metrics_services")
        whole += of_services.render_services(rows, broker.counts.all())
        gate = importlib.import_module("pregon.hub.gate").Gate(hub)
        groups = importlib.import_module("pregon.groups.desk").GroupsDesk(gate)
        anybody = importlib.import_module("pregon.security.callers").ANYBODY
        of_groups = importlib.import_module("pregon.edges.http.metrics_groups")
        whole += of_groups.render_groups(groups.counts(anybody))
    finally:
        hub.database.close()
    return whole.decode()


def lines_of(page: str) -> set[str]:
    """The names of the lines of a page; a histogram has three."""
    return set(re.findall(r"^(pregon_\w+)", page, re.MULTILINE)) | families_of(page)


def families_of(page: str) -> set[str]:
    """The names of its metrics."""
    return set(re.findall(r"^# TYPE (pregon_\w+) ", page, re.MULTILINE))


def unknown_metrics(text: str, known: set[str]) -> list[str]:
    """Metrics that a text names and a hub does not have."""
    return [f"{name} is not on the page" for name in sorted(set(_METRIC.findall(text)) - known)]


def undocumented_metrics(families: set[str], document: str) -> list[str]:
    """Metrics that a document does not set apart."""
    named = set(_METRIC.findall(set_apart(document)))
    return [f"`{name}` is not documented" for name in sorted(families - named)]


@pytest.mark.parametrize("name", [DASHBOARD, RULES])
def test_what_watches_a_hub_asks_for_metrics_that_it_has(page: str, name: str) -> None:
    text = read(name)

    found = unknown_metrics(text, lines_of(page))

    assert len(set(_METRIC.findall(text))) > 5
    assert not found, listed(found)


def test_every_metric_is_documented(page: str) -> None:
    families = families_of(page)

    found = undocumented_metrics(families, read("docs/reference/metrics.md"))

    assert len(families) > 20
    assert not found, listed(found)


def test_the_documents_name_only_metrics_that_there_are(page: str) -> None:
    pages = ["docs/reference/metrics.md", "docs/how-to/watch-the-hub.md", "deploy/README.md"]

    found = [f"{name}: {line}" for name in pages for line in unknown_metrics(set_apart(read(name)), lines_of(page))]

    assert not found, listed(found)


def test_a_metric_that_does_not_exist_is_reported() -> None:
    page = "# HELP pregon_push_total x\n# TYPE pregon_push_total counter\npregon_push_total 1\n"

    unknown = unknown_metrics("sum(pregon_push_total) / pregon_invented", lines_of(page))
    undocumented = undocumented_metrics({"pregon_push_total"}, "Of pregon_push_total only prose speaks.")

    assert unknown == ["pregon_invented is not on the page"]
    assert undocumented == ["`pregon_push_total` is not documented"]


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    dashboard: dict[str, Any] = json.loads(read(DASHBOARD))

    panels = dashboard["panels"]
    variables = [one["name"] for one in dashboard["templating"]["list"]]
    sources = {panel["datasource"]["uid"] for panel in panels} | {
        target["datasource"]["uid"] for panel in panels for target in panel["targets"]
    }

    assert dashboard["schemaVersion"] >= 39
    assert variables[0] == "datasource"
    assert sources == {"${datasource}"}
    assert len(panels) == len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels})
    used = set(re.findall(r"\$(\w+)", " ".join(target["expr"] for panel in panels for target in panel["targets"])))
    assert used - {"__rate_interval"} <= set(variables)


def test_panels_do_not_lie_on_each_other() -> None:
    places = [panel["gridPos"] for panel in json.loads(read(DASHBOARD))["panels"]]

    cells = [
        (x, y)
        for one in places
        for x in range(one["x"], one["x"] + one["w"])
        for y in range(one["y"], one["y"] + one["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23


def test_every_alert_is_explained_and_says_how_bad_it_is() -> None:
    (group,) = yaml.safe_load(read(RULES))["groups"]
    guide = set_apart(read("docs/how-to/watch-the-hub.md"))

    alerts = {rule["alert"]: rule for rule in group["rules"]}
    unexplained = [name for name in alerts if name not in guide]

    assert len(alerts) == len(group["rules"]) >= 6
    assert unexplained == []
    assert {rule["labels"]["severity"] for rule in alerts.values()} <= {"warning", "critical"}
    assert all(rule["annotations"]["summary"] and rule["annotations"]["description"] for rule in alerts.values())


def test_the_example_of_a_scrape_presents_a_token_from_a_file() -> None:
    example = yaml.safe_load(read(SCRAPE))

    (job,) = example["scrape_configs"]

    assert example["rule_files"] == [Path(RULES).name]
    assert (job["job_name"], job["metrics_path"]) == ("pregon", "/metrics")
    assert "credentials_file" in job["authorization"]
    assert "credentials" not in job["authorization"]
