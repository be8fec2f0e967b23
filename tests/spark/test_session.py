"""The session: one is enough, what the user set stays as it is, and the wheel has what it needs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from pyspark.sql import SparkSession
from scenario.hub_process import clean_environment

from pregon.errors import SettingsInvalid
from pregon.spark import session
from pregon.spark.java import home_of, require_java

from .standalone import SPARK_HOME

ROOT = Path(__file__).parents[2]

SUBMITTED = """
import json
import re
from pregon.spark import session

spark = session("ours", master="local[7]")
names = ["spark.sql.session.timeZone", "spark.ui.enabled", "spark.sql.execution.arrow.pyspark.enabled"]
context = spark.sparkContext
print(json.dumps([context.master, context.appName, *(spark.conf.get(name) for name in names)]))
spark.stop()
"""


def test_a_session_that_runs_is_taken_as_it_is(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/Montevideo")

    try:
        found = session("another", master="local[7]", settings={"spark.sql.session.timeZone": "Asia/Tokyo"})
        zone = found.conf.get("spark.sql.session.timeZone")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")

    assert found.sparkContext is spark.sparkContext
    assert found.sparkContext.master == "local[2,3]"
    assert zone == "America/Montevideo"


def test_on_one_machine_nothing_listens_outside_of_it(spark: SparkSession) -> None:
    context = spark.sparkContext

    where = context.getConf().get("spark.driver.bindAddress")

    assert where == "127.0.0.1"
    assert context.uiWebUrl is None
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_a_setting_that_is_none_of_sparks_is_refused() -> None:
    wrong = {"driver.memory": "1g"}

    with pytest.raises(SettingsInvalid, match=r"driver\.memory is no setting of Spark: write its whole name"):
        session(settings=wrong)


def test_a_key_is_not_shown_in_a_plan(spark: SparkSession) -> None:
    options = "hub 'http://127.0.0.1:1', subscribe 'fallecidos', key 'abracadabra'"

    plan = spark.sql(f"EXPLAIN EXTENDED CREATE TEMPORARY VIEW v USING pregon OPTIONS ({options})").collect()[0][0]
    variables = spark.sparkContext.getConf().get("spark.redaction.regex")

    assert "subscribe" in plan
    assert "abracadabra" not in plan
    assert all(re.search(variables, name) for name in ("spark.executorEnv.PREGON_KEY", "fs.credential.provider"))


def run_submitted(folder: Path) -> subprocess.CompletedProcess[str]:
    """The program, by `spark-submit` with settings and a file with more."""
    program = folder / "program.py"
    program.write_text(SUBMITTED)
    (folder / "spark-defaults.conf").write_text("spark.sql.session.timeZone America/Montevideo\n")
    environment = clean_environment(
        JAVA_HOME=str(home_of(require_java())), PYSPARK_PYTHON=sys.executable, SPARK_CONF_DIR=str(folder)
    )
    options = ["--master", "local[1]", "--name", "theirs", "--driver-memory", "512m"]
    ours = ["--conf", "spark.ui.enabled=false", "--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"]
    command = [SPARK_HOME / "bin" / "spark-submit", *options, *ours, program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)


@pytest.mark.beside(program=run_submitted)
def test_what_spark_submit_and_its_files_say_is_kept(java: None, ended: subprocess.CompletedProcess[str]) -> None:
    assert ended.returncode == 0, ended.stderr[-4_000:]
    assert json.loads(ended.stdout) == ["local[1]", "theirs", "America/Montevideo", "false", "true"]


def test_the_wheel_has_the_format_that_spark_finds_and_the_quiet_log(tmp_path: Path) -> None:
    builder = WheelBuilder(str(ROOT))

    (wheel,) = builder.build(directory=str(tmp_path), versions=["standard"])

    inside = set(zipfile.ZipFile(wheel).namelist())
    assert {"pyspark_pregon/__init__.py", "pregon/spark/log4j2.properties"} <= inside
