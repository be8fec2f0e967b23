"""A hub in which something of everything has happened, and a run of the pipeline over it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from scenario.groups.library import next_message
from scenario.hub_process import HubProcess, wait_until

from pregon import Client
from pregon.model.group import DELIVERIES_TOPIC
from pregon.spark.pipelines.inputs import Place
from pregon.spark.pipelines.results import Results
from pregon.spark.pipelines.running import Ended, run_steps

from .tables import address, publish

DEATHS, BIRTHS = 30, 10
ACKNOWLEDGED, PARKED = 20, 1
SAID = 4


def seed(client: Client) -> None:
    """Two topics with two subscribers, one of whom has not dealt with everything; and a conversation."""
    publish(client, "fallecidos", DEATHS)
    publish(client, "nacidos", BIRTHS)
    client.pull("fallecidos", "BPS", max=DEATHS)
    client.ack("fallecidos", "BPS", ACKNOWLEDGED)
    client.park("fallecidos", "BPS", [ACKNOWLEDGED + 5], "illegible")
    client.pull("nacidos", "IMM", max=BIRTHS)
    client.ack("nacidos", "IMM", BIRTHS)
    with client.join("barrio", name="ana") as ana, client.join("barrio", name="beto") as beto:
        for number in range(SAID // 2):
            ana.say(f"question {number}")
            next_message(beto)
            beto.say(f"answer {number}")
            next_message(ana)
    # Members report what they were shown in their own time.
    wait_until(lambda: _deliveries(client) > 0, "members have reported")


def _deliveries(client: Client) -> int:
    return int(client.show("topic", DELIVERIES_TOPIC)["head_seq"])


def place_of(hub: HubProcess, archive: Path | str = "") -> Place:
    """Where the tables of a hub are."""
    return Place(source={"hub": address(hub)}, archive=str(archive))


def run(spark: SparkSession, place: Place, output: Path, *names: str) -> dict[str, Ended]:
    """Run steps; what each found, by its name."""
    return {ended.made.step: ended for ended in run_steps(spark, place, Results(output), names)}
