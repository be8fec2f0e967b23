"""A Spark session for the hub's tables: right on a laptop with nothing set up, and out of the way on a cluster.

Which Java runs it is left to `java`, and getting the package to executors to `shipping`.

Promises:
- A session that runs already is taken as it is.
- What `spark-submit`, `spark-defaults.conf` or the caller has set is never set otherwise; a master given to
  `spark-submit` goes over the one asked for here.
- A key of the hub is not shown in Spark's plans, pages and event logs.
- On one machine nothing listens outside of it, and the terminal stays quiet: errors only, one line each.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from pregon.errors import SettingsInvalid
from pregon.spark.java import home_of, require_java

EVERYWHERE = {
    # The hub's times are in UTC; with another zone, dates in SQL would be those of wherever the driver is.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Spark shows options of views in SQL and variables of executors in its pages and event logs. These are its own
    # defaults, and the hub's key.
    "spark.sql.redaction.options.regex": "(?i)url|^key$",
    "spark.redaction.regex": "(?i)secret|password|token|access[.]?key|credential|pregon_key",
}
ON_ONE_MACHINE = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
_PROGRESS_BAR = "spark.ui.showConsoleProgress"
_QUIET_LOG = Path(__file__).with_name("log4j2.properties")


def session(
    app: str = "pregon", *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The session that runs, or a new one, on all cores of this machine unless something says where.

    `settings` are Spark's own, by their whole names, and go over ours. Raises SettingsInvalid for a setting that
    is none of Spark's, or when there is no Java.
    """
    wanted = _checked(settings or {})
    if master is not None:
        wanted["spark.master"] = master
    if SparkContext._active_spark_context is not None:
        return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    if _is_remote():
        return SparkSession.builder.appName(app).config(map=dict(wanted)).getOrCreate()
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if is_submitted:
        wanted.pop("spark.master", None)
    else:
        wanted.setdefault("spark.app.name", app)
        _launch(wanted)
    return SparkSession.builder.config(conf=_configuration(wanted, is_submitted=is_submitted)).getOrCreate()


def _checked(settings: Mapping[str, str]) -> dict[str, str]:
    for name in settings:
        if not name.startswith("spark."):
            raise SettingsInvalid(
                f"{name[:80]} is no setting of Spark: write its whole name, as in spark.driver.memory"
            )
    return dict(settings)


def _is_remote() -> bool:
    """Whether a server of Spark Connect is asked for, which has its own Java and settings."""
    return "SPARK_REMOTE" in os.environ or "SPARK_CONNECT_MODE_ENABLED" in os.environ


def _configuration(wanted: Mapping[str, str], *, is_submitted: bool) -> SparkConf:
    """What `spark-submit` and its files say, then what is wanted, then what is ours."""
    # A gateway that `spark-submit` opened is joined here; its settings can then be read.
    SparkContext._ensure_initialized()
    configuration = SparkConf()
    for name, value in wanted.items():
        configuration.set(name, value)
    is_on_one_machine = configuration.get("spark.master", "").split("[")[0] == "local"
    for name, value in {**EVERYWHERE, **(ON_ONE_MACHINE if is_on_one_machine else {})}.items():
        configuration.setIfMissing(name, value)
    if not is_submitted and _PROGRESS_BAR not in wanted:
        # Spark turns its progress bar on by itself in what it takes for a shell, so it is never missing.
        configuration.set(_PROGRESS_BAR, "false")
    return configuration


def _launch(wanted: Mapping[str, str]) -> None:
    """Start the Java process of this program, unless it has one from an earlier session."""
    if SparkContext._gateway is not None:
        return
    # Spark runs `python3` otherwise, which need not be the one with this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    variables = {"JAVA_HOME": str(home_of(require_java()))}
    if not _has_log_settings(wanted):
        variables["LOG4J_CONFIGURATION_FILE"] = str(_QUIET_LOG)
    configuration = SparkConf(loadDefaults=False)
    for name, value in wanted.items():
        configuration.set(name, value)
    with _environment(variables):
        SparkContext._ensure_initialized(conf=configuration)


def _has_log_settings(wanted: Mapping[str, str]) -> bool:
    """Whether the user has said what to log, in any of the places that Spark and Log4j look at."""
    spoken = (wanted.get("spark.driver.extraJavaOptions", ""), os.environ.get("SPARK_SUBMIT_OPTS", ""))
    if "LOG4J_CONFIGURATION_FILE" in os.environ or any("log4j" in options for options in spoken):
        return True
    home = os.environ.get("SPARK_CONF_DIR") or Path(os.environ.get("SPARK_HOME", "")) / "conf"
    has_own = any(file.suffix != ".template" for file in Path(home).glob("log4j2*.*"))
    return has_own or not _QUIET_LOG.is_file()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Variables for the process that is started inside, and for no other."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
