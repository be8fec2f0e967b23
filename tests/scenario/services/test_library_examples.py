"""The examples of services, run as their first lines say: a hub, a worker, and each client."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import MakeHub
from ..hub_process import HubProcess, clean_environment, wait_until
from .program import Program

EXAMPLES = Path(__file__).parents[3] / "examples"


class WorkerExample(Program):
    """`service_worker.py`, which finds its hub by the environment."""

    def __init__(self, place: Path, hub: HubProcess) -> None:
        command = ["env", f"PREGON_HUB={hub.url}", sys.executable, str(EXAMPLES / "service_worker.py")]
        super().__init__("example", command, place)


def run_example(name: str, hub: HubProcess) -> list[str]:
    """Run one to its end; the lines that it shows."""
    ended = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        env=clean_environment(PREGON_HUB=hub.url),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.fixture
def example_hub(make_hub: MakeHub) -> Iterator[HubProcess]:
    """A hub of the test's own."""
    return make_hub("examples").start()


def test_the_examples_show_what_they_say(example_hub: HubProcess, tmp_path: Path) -> None:
    worker = WorkerExample(tmp_path, example_hub)
    before = run_example("service_durable.py", example_hub)
    worker.start()
    try:
        wait_until(lambda: " serves sqrt, primes, greet@2" in worker.err.read_text(), "the example serves")
        after = run_example("service_durable.py", example_hub)
        asked = run_example("service_client.py", example_hub)
        many = run_example("service_with_asyncio.py", example_hub)
        status = worker.stop()
    finally:
        worker.end()

    assert before[0] == after[0] == "primes-to-50000 is on disk"
    assert before[1].startswith("no result yet")
    assert after[1] == "result: 5133"
    assert asked[:4] == [
        "sqrt of 100: 10.0",
        "primes up to 10,000: 1229",
        "greet: ('Hola, Ana', 3)",
        "the sum of 20,000 roots: 1885547.2",
    ]
    assert [line.split(": ")[0] for line in asked[4:]] == ["('sqrt', 'abc')", "('sqrt', 1)", "('greet', 'Eva', 60)"]
    assert many == ["100 greetings, the last of them: ('Hola, cliente 99', 10)", "the sum of 1,000 roots: 21065.8"]
    assert status == 0
