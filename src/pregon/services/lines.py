"""All the lines of a broker, by the bytes with which requests name them."""

from __future__ import annotations

from pregon.errors import LimitReached
from pregon.limits import SERVICES_MAX
from pregon.model.names import check_name
from pregon.services.line import Line
from pregon.services.options import ServiceOptions

DEFAULT_TYPE = "default"
_LOOKS_AT_ONCE = 100


class Lines(dict[bytes, Line]):
    """Made on first use, forgotten when they are of no use and others need the room."""

    def __init__(self, options: ServiceOptions, default_type: str) -> None:
        super().__init__()
        self.options = options
        """Of a service that has none of its own."""
        self.own_options: dict[str, ServiceOptions] = {}
        """Of the services that are run in a way of their own, by job type."""
        self.changes = 0
        """How often options were set, for who plans by them."""
        self._to_look_at: list[Line] = []
        """Where the search for lines of no use goes on, the oldest last."""
        self.default = self.require(default_type)
        """Where requests go that name no type."""

    def require(self, name: str) -> Line:
        """The line of a job type, or of a version of it (`sqrt@2`); raises BadName or LimitReached."""
        key = name.encode()
        line = self.get(key)
        if line is None:
            job_type, at, version = name.partition("@")
            check_name("job type", job_type)
            if at:
                check_name("version", version)
            if len(self) >= SERVICES_MAX:
                self._forget_unused()
            line = self[key] = Line(name, self.options_of(job_type))
        return line

    def options_of(self, job_type: str) -> ServiceOptions:
        """How a service is run, or would be."""
        return self.own_options.get(job_type, self.options)

    def set_options(self, job_type: str, options: ServiceOptions | None) -> None:
        """Run a service in another way, from now on; None: as all the others."""
        check_name("job type", job_type)
        if options is None:
            self.own_options.pop(job_type, None)
        else:
            self.own_options[job_type] = options
        self.changes += 1
        for line in self.values():
            if line.type == job_type:
                line.set_options(self.options_of(job_type))

    def _forget_unused(self) -> None:
        # A few at a time: looking through all of them for each of a flood of types would keep the others waiting.
        for _ in range(_LOOKS_AT_ONCE):
            if not self._to_look_at:
                self._to_look_at = list(self.values())[::-1]
            line = self._to_look_at.pop()
            if line.is_unused and line is not self.default and self.get(line.key) is line:
                del self[line.key]
        if len(self) >= SERVICES_MAX:
            raise LimitReached(f"the broker knows {SERVICES_MAX} job types already: ask for one of those")
