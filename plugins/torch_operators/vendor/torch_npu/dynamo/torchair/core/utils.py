"""The logger of ``torchair``, which scripts take from here to set its level."""

from __future__ import annotations

import logging

logger = logging.getLogger("torchair")

__all__ = ["logger"]
