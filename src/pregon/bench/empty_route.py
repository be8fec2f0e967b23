"""What an HTTP publication is measured beside: a Starlette route that reads the same body and does nothing with it.

Run as `python -m pregon.bench.empty_route PORT`, on the same server, loop and parser as the hub.
"""

from __future__ import annotations

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_ANSWER = b'{"topic":"t","seq":1,"id":"01a1e1c77c1375d7ac43ad17","duplicate":false}'


async def _read(request: Request) -> Response:
    await request.body()
    return Response(_ANSWER, 201, media_type="application/json")


def main(port: int) -> None:
    """Serve until it is ended."""
    app = Starlette(routes=[Route("/v1/topics/{topic}/messages", _read, methods=["POST"])])
    uvicorn.run(app, host="127.0.0.1", port=port, access_log=False, loop="uvloop", http="httptools", log_level="error")


if __name__ == "__main__":
    main(int(sys.argv[1]))
