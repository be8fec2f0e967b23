"""How hard Hypothesis tries: the same everywhere, and the same examples every time in CI."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "pregon",
    deadline=None,
    derandomize=os.environ.get("CI") == "true",
    max_examples=100,
    # Starting a hub or packing Arrow is slow beside drawing a number, and both are what is tested here.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("pregon")
