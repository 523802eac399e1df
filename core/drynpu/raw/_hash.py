"""Ids of texts."""

from __future__ import annotations

from hashlib import blake2b


def hash_text(text: str) -> int:
    """
    Return the 64-bit id that stands for a text in the records; ``hash_dic`` leads back to the text.

    The same in every process and release, and never 0, which records use for "no text".
    """
    return int.from_bytes(blake2b(encode_text(text), digest_size=8).digest(), "little") or 1


def encode_text(text: str) -> bytes:
    """Return the UTF-8 of a text; half surrogate pairs, which UTF-8 cannot hold, become question marks."""
    return text.encode("utf-8", "replace")
