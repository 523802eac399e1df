"""
The function that PyTorch calls at every ``import torch`` (the entry point ``torch.backends``).

A genuine torch_npu brings ``torch.npu`` this way. drynpu does so only with ``DRYNPU_AUTOLOAD=1``, which ``drynpu run``
sets: where drynpu is merely installed, ``import torch`` gives plain PyTorch. Other variables start recordings here:
``DRYNPU_COLLECT`` (set by ``drynpu msprof``), ``DRYNPU_CHECK`` (set by ``drynpu check``), ``DRYNPU_PROFILE`` (set by
``drynpu run --profile``),
``PROFILING_MODE=dynamic``, with which ``drynpu msprof`` attaches later, and ``PROF_CONFIG_PATH`` for dynamic profiling.
The function never raises, because PyTorch would turn an error into a failed ``import torch``.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from importlib import import_module


def load() -> None:
    """Install the simulated npu if ``DRYNPU_AUTOLOAD=1`` and no genuine torch_npu is there to bring a real one."""
    if os.environ.get("DRYNPU_AUTOLOAD") != "1":
        return
    try:
        from drynpu import find_genuine
        from drynpu.recorder import CHECK_VARIABLE, COLLECT_VARIABLE, PROFILE_VARIABLE

        if find_genuine("torch_npu") is None:
            from drynpu_torch.install import install

            install()
            if os.environ.get("TORCH_TRANSFER_TO_NPU") == "1":
                with suppress(ModuleNotFoundError):  # without the plugin that has it, the finder of the facades says so
                    import_module("torch_npu.contrib.transfer_to_npu")
            if os.environ.get(COLLECT_VARIABLE):
                from drynpu_torch.profiler import start_collection

                start_collection(os.environ[COLLECT_VARIABLE])
            elif os.environ.get(CHECK_VARIABLE):
                from drynpu_torch.profiler import start_check

                start_check(os.environ[CHECK_VARIABLE])
            elif os.environ.get(PROFILE_VARIABLE):
                from drynpu_torch.profiler import start_unattended

                start_unattended(os.environ[PROFILE_VARIABLE])
            elif os.environ.get("PROFILING_MODE") == "dynamic":
                from drynpu_torch.profiler import listen

                listen()
            if os.environ.get("PROF_CONFIG_PATH"):
                from drynpu_torch.profiler.dynamic import NonIntrusiveProfile

                NonIntrusiveProfile.init()
    except Exception as error:  # noqa: BLE001 - see above
        logging.getLogger("drynpu").warning("the simulated npu could not be loaded with PyTorch: %s", error)
