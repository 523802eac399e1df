"""The facade of ``torch_npu.utils.collect_env``: ``python -m torch_npu.utils.collect_env``."""

from __future__ import annotations

from drynpu import cann_release as get_cann_version
from drynpu_torch.services import describe_environment as get_pretty_env_info

__all__ = ["get_cann_version", "get_pretty_env_info", "main"]


def main() -> None:
    print("Collecting environment information...")  # noqa: T201 - a command
    print(get_pretty_env_info())  # noqa: T201


if __name__ == "__main__":
    main()
