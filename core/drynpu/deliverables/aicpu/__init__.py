"""AI CPU: how its kernels spent their time, and the data queue it serves."""

from __future__ import annotations
