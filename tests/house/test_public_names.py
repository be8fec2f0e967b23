"""The public line is drawn once: what `pregon` exports is exactly this list."""

import importlib
from collections.abc import Sequence

PUBLIC_NAMES = [
    "AsyncClient",
    "AsyncGroup",
    "AsyncServiceClient",
    "Client",
    "Corrupt",
    "Group",
    "GroupEvent",
    "GroupMember",
    "GroupMessage",
    "MemberGone",
    "MemberJoined",
    "MemberLeft",
    "MemberRenamed",
    "Message",
    "MessagesMissed",
    "Outgoing",
    "Participant",
    "PregonError",
    "ProducerOptions",
    "Receipt",
    "Rejected",
    "Relation",
    "ServiceClient",
    "Stamp",
    "Unavailable",
    "Worker",
    "__version__",
    "serve",
    "service",
]


def differences(exported: Sequence[str], promised: Sequence[str]) -> list[str]:
    """How what is exported departs from what is promised."""
    repeated = {name for name in exported if exported.count(name) > 1}
    return [
        *[f"{name} is promised and not exported" for name in promised if name not in exported],
        *[f"{name} is exported and not promised" for name in exported if name not in promised],
        *[f"{name} is exported twice" for name in sorted(repeated)],
    ]


def test_the_package_exports_exactly_what_it_promises() -> None:
    package = importlib.import_module("pregon")

    found = differences(package.__all__, PUBLIC_NAMES)

    assert not found, found


def test_every_exported_name_can_be_imported() -> None:
    package = importlib.import_module("pregon")

    missing = [name for name in PUBLIC_NAMES if not hasattr(package, name)]

    assert missing == []


def test_a_name_too_many_one_too_few_and_a_repeated_one_are_reported() -> None:
    exported = ["Client", "Client", "Secret"]

    found = differences(exported, ["Client", "Message"])

    assert found == [
        "Message is promised and not exported",
        "Secret is exported and not promised",
        "Client is exported twice",
    ]
