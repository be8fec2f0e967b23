"""Where a push may go: to addresses of the public network, and to those that the operator allowed.

A subscriber names an endpoint, and the hub connects to it from inside: without a guard that would let anybody who may
register a subscriber reach what only the hub's machine can. The check is made on the address that is connected to,
not on the name: a name can answer one address when it is looked up and another one later.

Promises:
- Pure: nothing is looked up here. `check_address` is asked for each connection, `check_url` when one is registered.
- Only global unicast passes by itself. An IPv4 address is the same one inside IPv6 (mapped, or behind NAT64); tunnels
  that could lead anywhere (6to4, Teredo) do not pass.
- What `allow` says is understood or refused with SettingsInvalid: an entry is never skipped.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from urllib.parse import urlsplit

from pregon.errors import EndpointForbidden, SettingsInvalid

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_KINDS_4: tuple[tuple[ipaddress.IPv4Network, str], ...] = tuple(
    (ipaddress.IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "an unspecified"),
        ("10.0.0.0/8", "a private"),
        ("100.64.0.0/10", "a shared (carrier's)"),
        ("127.0.0.0/8", "a loopback"),
        ("169.254.0.0/16", "a link-local"),
        ("172.16.0.0/12", "a private"),
        ("192.0.0.0/24", "a reserved"),
        ("192.0.2.0/24", "a documentation"),
        ("192.88.99.0/24", "a reserved"),
        ("192.168.0.0/16", "a private"),
        ("198.18.0.0/15", "a benchmarking"),
        ("198.51.100.0/24", "a documentation"),
        ("203.0.113.0/24", "a documentation"),
        ("224.0.0.0/4", "a multicast"),
        ("240.0.0.0/4", "a reserved"),
    )
)
_KINDS_6: tuple[tuple[ipaddress.IPv6Network, str], ...] = tuple(
    (ipaddress.IPv6Network(network), kind)
    for network, kind in (
        ("::/128", "an unspecified"),
        ("::1/128", "a loopback"),
        ("2001::/32", "a Teredo"),
        ("2001::/23", "a reserved"),
        ("2001:db8::/32", "a documentation"),
        ("2002::/16", "a 6to4"),
        ("3fff::/20", "a documentation"),
        ("fc00::/7", "a private"),
        ("fe80::/10", "a link-local"),
        ("ff00::/8", "a multicast"),
    )
)
_GLOBAL_6 = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(\*\.)?({_LABEL}\.)*{_LABEL}", re.ASCII)
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.ASCII)
_ENTRIES_MAX = 1_000


class Guard:
    """Knows where a push may go."""

    def __init__(self, allow: str = "") -> None:
        """`allow`: networks, addresses and host names, with commas or blanks between; raises SettingsInvalid."""
        self._networks: list[_Network] = []
        self._hosts: set[str] = set()
        self._domains: list[str] = []
        entries = allow.replace(",", " ").split()
        if len(entries) > _ENTRIES_MAX:
            raise SettingsInvalid(f"push_allow has more than {_ENTRIES_MAX} entries: name networks instead")
        for entry in entries:
            self._add(entry)

    def _add(self, entry: str) -> None:
        try:
            self._networks.append(ipaddress.ip_network(entry))
            return
        except ValueError as error:
            why = str(error)
        name = entry.lower().removesuffix(".")
        # A name whose last part is a number would be taken for an address by whoever connects.
        if len(name) > 253 or not _HOST.fullmatch(name) or _NUMBER.fullmatch(name.rpartition(".")[2]):
            raise SettingsInvalid(
                f"push_allow has {entry[:100]!r}, which is neither a network such as 10.0.0.0/8 nor a host name "
                f"such as bps.example or *.bps.example ({why[:150]})"
            )
        if name.startswith("*."):
            self._domains.append(name[1:])
        else:
            self._hosts.add(name)

    def check_address(self, host: str, address: str) -> None:
        """Raise EndpointForbidden unless a push to this host may connect to this address."""
        if self._is_allowed_host(host):
            return
        try:
            written = ipaddress.ip_address(address)
        except ValueError as error:
            raise EndpointForbidden(f"{address[:100]} is no address") from error
        meant = _meant_by(written)
        kind = _kind_of(meant)
        if kind is not None and not self._is_allowed_address(written) and not self._is_allowed_address(meant):
            raise EndpointForbidden(f"{meant} is {kind} address, which push_allow does not allow")

    def check_url(self, url: str) -> None:
        """Raise EndpointForbidden for an endpoint that names an address where no push may go.

        A host name is not looked up: what it leads to is checked at each connection.
        """
        try:
            host = (urlsplit(url).hostname or "").removesuffix(".")
        except ValueError as error:
            raise EndpointForbidden("the endpoint cannot be read as a URL") from error
        if self._is_allowed_host(host):
            return
        if host == "localhost" or host.endswith(".localhost"):
            raise EndpointForbidden(f"{host[:100]} is this machine, which push_allow does not allow")
        if ":" in host:
            self.check_address(host, host.replace("%25", "%", 1))
        elif _NUMBER.fullmatch(host.rpartition(".")[2]):
            # What ends in a number is an address, in whichever of its spellings: 127.1, 0x7f.1, 2130706433.
            try:
                address = socket.inet_ntoa(socket.inet_aton(host))
            except OSError as error:
                raise EndpointForbidden(f"{host[:100]} is no address and no host name") from error
            self.check_address(host, address)
            if address != host:
                raise EndpointForbidden(f"{host[:100]} is an odd spelling of {address}: write it so")

    def _is_allowed_address(self, address: _Address) -> bool:
        return any(
            address.version == network.version and int(address) in _range_of(network) for network in self._networks
        )

    def _is_allowed_host(self, host: str) -> bool:
        if not self._hosts and not self._domains:
            return False
        name = host.lower().removesuffix(".")
        return name in self._hosts or any(name.endswith(domain) for domain in self._domains)


def _range_of(network: _Network) -> range:
    """The addresses of a network as numbers: an IPv6 address with a scope is not in a network, but its number is."""
    return range(int(network.network_address), int(network.broadcast_address) + 1)


def _meant_by(address: _Address) -> _Address:
    """The address that is really connected to: the IPv4 one inside an IPv6 one that only carries it."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if int(address) in _range_of(_NAT64):
            return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _kind_of(address: _Address) -> str | None:
    """What an address is that is not global unicast, with its article; None for one that is."""
    kinds = _KINDS_4 if address.version == 4 else _KINDS_6
    for network, kind in kinds:
        if int(address) in _range_of(network):
            return kind
    return None if address.version == 4 or int(address) in _range_of(_GLOBAL_6) else "a reserved"
