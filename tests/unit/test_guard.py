"""Where a push may go: addresses in all their disguises, what the operator allows, and settings that are wrong."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pregon.errors import EndpointForbidden, SettingsInvalid
from pregon.security.guard import Guard

FORBIDDEN = [
    ("127.0.0.1", "a loopback"),
    ("127.255.255.254", "a loopback"),
    ("0.0.0.0", "an unspecified"),
    ("0.1.2.3", "an unspecified"),
    ("10.0.0.1", "a private"),
    ("172.16.0.1", "a private"),
    ("172.31.255.255", "a private"),
    ("192.168.1.1", "a private"),
    ("100.64.0.1", "a shared"),
    ("100.127.255.255", "a shared"),
    ("169.254.169.254", "a link-local"),
    ("192.0.0.1", "a reserved"),
    ("192.0.2.1", "a documentation"),
    ("198.18.0.1", "a benchmarking"),
    ("198.51.100.7", "a documentation"),
    ("203.0.113.7", "a documentation"),
    ("224.0.0.1", "a multicast"),
    ("239.255.255.255", "a multicast"),
    ("240.0.0.1", "a reserved"),
    ("255.255.255.255", "a reserved"),
    ("::", "an unspecified"),
    ("::1", "a loopback"),
    ("::1%lo", "a loopback"),
    ("0:0:0:0:0:0:0:1", "a loopback"),
    ("::127.0.0.1", "a reserved"),
    ("::ffff:127.0.0.1", "a loopback"),
    ("::ffff:7f00:1", "a loopback"),
    ("::ffff:10.0.0.1%eth0", "a private"),
    ("64:ff9b::127.0.0.1", "a loopback"),
    ("64:ff9b::a9fe:a9fe", "a link-local"),
    ("64:ff9b:1::8.8.8.8", "a reserved"),
    ("2002:7f00:1::1", "a 6to4"),
    ("2002:808:808::1", "a 6to4"),
    ("2001:0:7f00:1::", "a Teredo"),
    ("2001:10::1", "a reserved"),
    ("2001:db8::1", "a documentation"),
    ("3fff::1", "a documentation"),
    ("fc00::1", "a private"),
    ("fd00:ec2::254", "a private"),
    ("fe80::1", "a link-local"),
    ("fe80::1%eth0", "a link-local"),
    ("fec0::1", "a reserved"),
    ("ff02::1", "a multicast"),
    ("5f00::1", "a reserved"),
    ("100::1", "a reserved"),
]
GLOBAL = ["1.1.1.1", "8.8.8.8", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0", "223.255.255.255"]
GLOBAL_6 = ["2606:4700::1111", "2a00:1450::1", "2001:200::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"]


@pytest.mark.parametrize(("address", "kind"), FORBIDDEN)
def test_an_address_that_is_not_of_the_public_network_is_forbidden_and_called_by_its_kind(
    address: str, kind: str
) -> None:
    guard = Guard("")

    with pytest.raises(EndpointForbidden) as caught:
        guard.check_address("bps.example", address)

    assert f"is {kind}" in str(caught.value)
    assert "push_allow" in str(caught.value)


@pytest.mark.parametrize("address", GLOBAL + GLOBAL_6)
def test_a_public_address_is_allowed(address: str) -> None:
    Guard("").check_address("bps.example", address)


@pytest.mark.parametrize("address", ["", "bps.example", "127.1", "1.2.3.4.5", "0x7f000001", "[::1]", "8.8.8.8 "])
def test_what_is_no_address_is_forbidden(address: str) -> None:
    with pytest.raises(EndpointForbidden, match="is no address"):
        Guard("0.0.0.0/0").check_address("bps.example", address)


@given(st.ip_addresses())
@example(ipaddress.ip_address("192.88.99.1"))
def test_nothing_passes_that_the_standard_library_calls_private_loopback_multicast_or_reserved(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    guard = Guard("")

    try:
        guard.check_address("bps.example", str(address))
    except EndpointForbidden:
        return

    meant = getattr(address, "ipv4_mapped", None) or address
    if meant not in ipaddress.ip_network("64:ff9b::/96"):
        assert meant.is_global
        assert not (meant.is_multicast or meant.is_reserved or meant.is_loopback or meant.is_link_local)


@pytest.mark.parametrize(
    ("allow", "address"),
    [
        ("10.0.0.0/8", "10.1.2.3"),
        ("10.0.0.0/8", "::ffff:10.1.2.3"),
        ("10.0.0.0/8", "64:ff9b::10.1.2.3"),
        ("::ffff:10.0.0.0/104", "::ffff:10.1.2.3"),
        ("127.0.0.1", "127.0.0.1"),
        ("192.168.0.0/16, 10.0.0.0/8", "10.1.2.3"),
        ("192.168.0.0/16 ::1", "::1"),
        ("::1\n", "::1%lo"),
        ("fe80::/10", "fe80::1%eth0"),
        ("fd00::/8", "fd00:ec2::254"),
        ("2002::/16", "2002:7f00:1::1"),
        ("0.0.0.0/0,::/0", "255.255.255.255"),
    ],
)
def test_the_operator_allows_networks_and_addresses(allow: str, address: str) -> None:
    Guard(allow).check_address("bps.example", address)


@pytest.mark.parametrize(
    ("allow", "address"),
    [("10.0.0.0/9", "10.128.0.1"), ("127.0.0.1", "127.0.0.2"), ("::/0", "10.0.0.1")],
)
def test_what_is_beside_an_allowed_network_stays_forbidden(allow: str, address: str) -> None:
    with pytest.raises(EndpointForbidden):
        Guard(allow).check_address("bps.example", address)


def test_a_host_that_is_allowed_by_name_may_be_anywhere() -> None:
    guard = Guard("BPS.interno, *.example.org")

    for host in ("bps.interno", "Bps.Interno", "bps.interno.", "a.example.org", "b.a.EXAMPLE.org"):
        guard.check_address(host, "10.0.0.1")
        guard.check_url(f"http://{host}/novedades")


@pytest.mark.parametrize("host", ["interno", "x.bps.interno", "example.org", "aexample.org", "bps.interno.evil", ""])
def test_a_host_that_only_looks_like_an_allowed_one_is_not(host: str) -> None:
    guard = Guard("bps.interno *.example.org")

    with pytest.raises(EndpointForbidden):
        guard.check_address(host, "10.0.0.1")


@pytest.mark.parametrize(
    "entry",
    [
        "10.0.0.0/33",
        "10.0.0.1/8",
        "10.0.0",
        "127.1",
        "0x7f.1",
        "*",
        "*.",
        "a.*.example",
        "http://bps.example",
        "bps.example:80",
        "bps.example/x",
        "-a.example",
        "a..example",
        "ñandú.example",
        "[::1]",
        "x" * 300,
    ],
)
def test_an_entry_that_cannot_be_understood_is_refused_by_name(entry: str) -> None:
    with pytest.raises(SettingsInvalid, match="push_allow") as caught:
        Guard(f"10.0.0.0/8, {entry}")

    assert repr(entry[:100]) in str(caught.value)


def test_a_list_without_end_is_refused() -> None:
    with pytest.raises(SettingsInvalid, match="entries"):
        Guard(" ".join(["10.0.0.1"] * 1_001))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.0.0.1:8080/x?y",
        "http://127.0.0.1./",
        "https://127.1/",
        "http://0x7f.1/",
        "http://0x7F000001/",
        "http://2130706433/",
        "http://017700000001/",
        "http://0/",
        "http://10.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::1%25lo]/",
        "http://[fe80::1%25eth0]:80/",
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost/",
        "http://LOCALHOST:5580/",
        "http://a.localhost./",
        "http://999.1.1.1/",
        "http://0x/",
        "http://[::1",
    ],
)
def test_an_endpoint_that_names_a_forbidden_address_is_refused_when_it_is_registered(url: str) -> None:
    with pytest.raises(EndpointForbidden):
        Guard("").check_url(url)


@pytest.mark.parametrize(
    "url", ["https://bps.example/x", "http://8.8.8.8/", "http://[2606:4700::1111]/", "http://3com/"]
)
def test_an_endpoint_elsewhere_may_be_registered(url: str) -> None:
    Guard("").check_url(url)


def test_a_public_address_is_to_be_written_plainly() -> None:
    with pytest.raises(EndpointForbidden, match=r"odd spelling of 8\.8\.8\.8"):
        Guard("").check_url("http://134744072/")


def test_an_allowed_address_may_be_registered() -> None:
    guard = Guard("127.0.0.0/8 ::1 localhost")

    for host in ("127.0.0.1", "[::1]", "localhost"):
        guard.check_url(f"http://{host}:8080/")
