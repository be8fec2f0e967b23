"""What the tests' own hubs promise to the tests."""

from .hub_process import Addresses, find_port


def test_a_port_is_given_only_once() -> None:
    given = [find_port() for _ in range(400)]

    assert len(set(given)) == len(given)


def test_the_doors_of_a_hub_are_all_different() -> None:
    addresses = Addresses()

    doors = (addresses.zmq, addresses.feed, addresses.ingest, addresses.services_front, addresses.services_back)
    assert len({door.rsplit(":", 1)[1] for door in (*doors, addresses.http)}) == 6
