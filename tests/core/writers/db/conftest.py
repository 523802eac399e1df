"""The plain reader of databases."""

from __future__ import annotations

from tests.core.products.db.conftest import read

__all__ = ["read"]
