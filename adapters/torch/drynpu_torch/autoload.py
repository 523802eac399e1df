"""
What PyTorch runs at every ``import torch`` (the ``torch.backends`` entry point).

A genuine torch_npu brings ``torch.npu`` this way. drynpu does so only where it is asked to, with
``DRYNPU_AUTOLOAD=1`` (``drynpu run`` sets it): whoever has drynpu installed and imports plain PyTorch gets plain
PyTorch. ``drynpu msprof`` asks for recordings of the process in the same way, with ``DRYNPU_COLLECT``,
``PROFILING_MODE=dynamic`` lets it attach later, as in the vendor's documentation, ``drynpu run --profile`` asks for a
profile with ``DRYNPU_PROFILE``, and dynamic profiling by ``PROF_CONFIG_PATH`` begins here as well. It never raises,
since PyTorch would turn that into a failed ``import torch``.
"""

from __future__ import annotations

import logging
import os


def load() -> None:
    """Install the simulated npu if ``DRYNPU_AUTOLOAD=1`` and no genuine torch_npu is there to bring a real one."""
    if os.environ.get("DRYNPU_AUTOLOAD") != "1":
        return
    try:
        from drynpu import find_genuine
        from drynpu.recorder import COLLECT_VARIABLE, PROFILE_VARIABLE

        if find_genuine("torch_npu") is None:
            from drynpu_torch.device import install

            install()
            if os.environ.get(COLLECT_VARIABLE):
                from drynpu_torch.profiler import start_collection

                start_collection(os.environ[COLLECT_VARIABLE])
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
