"""What programs are checked with: the models of pyACL's tests."""

from __future__ import annotations

from tests.acl.conftest import models

__all__ = ["models"]
