"""The web service of the how-to is a member: it is run as it stands there, and asked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from ..hub_process import find_port, wait_until
from ..rest import rest_hub
from ..rest_push import make
from .rest_people import Person, texts

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "groups-from-a-web-service.md"


def test_the_web_service_of_the_page_answers_a_question_after_it(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    script, port = tmp_path / "turbina.py", find_port()
    script.write_text(program)
    with rest_hub(push_allow="127.0.0.1") as (hub, http):
        ana, turbina = Person(http, "ana"), Person(http, "turbina")
        turbina.create("design")
        ana.join("design")
        make(http, "cad-turbina", mode="push", endpoint=f"http://127.0.0.1:{port}/", push={"delay_ms_first": 20})
        turbina.join("design", subscriber="cad-turbina")
        question = ana.say("design", "¿cuántas palas?")
        environment = {**os.environ, "HUB": hub.http, "TOKEN": turbina.token}
        service = subprocess.Popen([sys.executable, str(script), str(port)], env=environment, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: "doce" in texts(ana.read("design")), "it answers")
        finally:
            service.kill()
            service.wait()
        answer = ana.read("design")[-1]

        assert (answer["name"], answer["answers"]) == ("turbina", question["stamp"])
        assert ana.relation("design", question["stamp"], answer["stamp"]) == "before"
        assert texts(ana.read("design")) == ["¿cuántas palas?", "doce"]
