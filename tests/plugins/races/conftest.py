"""One process with the device installed."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from drynpu_torch.install import install

install()
