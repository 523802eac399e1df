"""Offline inference beside pyACL: what ``aclruntime`` and ``ais_bench`` do, on the adapter's runtime."""

from __future__ import annotations
