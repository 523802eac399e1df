"""
Types of calls into ACL: the family of a call stands in the high half.

The numbers come from Ascend/msprof ``analysis/profiling_bean/prof_enum/data_tag.py`` (``AclApiTag``). Its reader,
``analysis/msmodel/api/api_data_model.py``, refuses every call of a run if one has another family.
"""

from __future__ import annotations

import pytest

from drynpu.deliverables.dictionaries import TypeIds
from drynpu.raw import HostLevel


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("aclopExecuteV2", 65_537),
        ("aclmdlExecute", 131_073),
        ("aclrtMalloc", 196_609),
        ("acl_memcpy", 262_145),
        ("aclnnAdd", 327_681),
        ("HcclAllReduce", 458_753),
        ("hcom_allReduce_", 458_753),
        ("acldvppVpcResizeAsync", 589_825),
    ],
)
def test_the_family_follows_from_the_name(name: str, first: int) -> None:
    assert TypeIds().api(HostLevel.ACL, name) == first


def test_numbers_of_one_family_follow_each_other() -> None:
    types = TypeIds()
    names = ("aclnnAdd", "aclnnMm", "aclrtFree", "aclnnAdd")
    assert [types.api(HostLevel.ACL, name) for name in names] == [327_681, 327_682, 196_609, 327_681]
    assert types.types == {
        (20_000, 327_681): "aclnnAdd",
        (20_000, 327_682): "aclnnMm",
        (20_000, 196_609): "aclrtFree",
    }


def test_task_types_have_their_public_numbers_and_others_none_of_those() -> None:
    """
    Ascend/mspti ``TsTaskType``: 0, 1, 66 and 98.

    Ascend/msprof ``compact_info_parser.cpp`` drops launches whose type is 6, whatever the dictionary calls it.
    """
    types = TypeIds()
    names = ["MEMCPY_ASYNC", "REDUCE_ASYNC", "NOTIFY_RECORD", "NOTIFY_WAIT", "KERNEL_MIX_AIC", "KERNEL_MIX_AIV", "X"]
    known = {name: types.task(name) for name in ("KERNEL_AICORE", "KERNEL_AICPU", "KERNEL_AIVEC", "FLIP_TASK")}
    assert list(known.values()) == [0, 1, 66, 98]
    others = [types.task(name) for name in names]
    assert len({*others, *known.values()}) == 11
    assert min(others) > 98
    assert max(others) < 800
    assert types.task("MAINTENANCE") == 6


def test_other_levels_have_no_families() -> None:
    types = TypeIds()
    assert types.api(HostLevel.RUNTIME, "MemcpyAsync") == 1000
    assert types.api(HostLevel.MODEL, "ModelExecute") == 1
