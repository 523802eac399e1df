"""Units as the vendor counts them: KB, MB and GB are powers of 1024 bytes (Ascend/msprof number_constant)."""

from __future__ import annotations

KB, MB, GB = 2.0**10, 2.0**20, 2.0**30
US_PER_S = 1_000_000
