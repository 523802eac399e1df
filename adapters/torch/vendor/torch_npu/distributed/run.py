"""
The facade of ``torch_npu.distributed.run``: ``python -m torch_npu.distributed.run``, with torchrun's options.

The vendor's keeps its store in several threads (``parallel``); one store serves the processes of this machine.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from torch.distributed import run
from torch.distributed.argparse_util import env
from torch.distributed.elastic.multiprocessing.errors import record

__all__ = ["parse_args"]


def parse_args(args: Sequence[str] | None) -> Namespace:
    """Return torchrun's options and the vendor's own."""
    parser = run.get_args_parser()
    parser.add_argument("--enable_tiered_parallel_tcpstore", action=env, type=str, default="false")
    return parser.parse_args(args)


@record
def _main(args: Sequence[str] | None = None) -> None:
    run.run(parse_args(args))


if __name__ == "__main__":
    _main()
