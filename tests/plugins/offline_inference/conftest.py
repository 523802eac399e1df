"""What programs of the plugin are run with: the same as pyACL's."""

from __future__ import annotations

from tests.acl.conftest import models, programs, warm

__all__ = ["models", "programs", "warm"]
