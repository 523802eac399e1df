"""How profiles name communication groups."""

from __future__ import annotations

_PRIMES = (29, 131)


def group_id(name: str) -> int:
    """
    Return the 64-bit id under which profiles know a communication group.

    The vendor's own hash of the name (msprof-analyze 26.2, ``double_hash``), so that its tools find the group of
    ``parallel_group_info``; a name that is such a number already stands for itself.
    """
    if name.isdecimal() and int(name) < 2**64:
        return int(name)
    return name_hash(name)


def name_hash(name: str) -> int:
    """Return the vendor's 64-bit hash of a name: two hashes of 32 bits, one behind the other."""
    halves = [0, 0]
    for letter in name:
        halves = [(half * prime + ord(letter)) % 2**32 for half, prime in zip(halves, _PRIMES, strict=True)]
    return halves[0] << 32 | halves[1]
