"""What programs of the tests begin with."""

from __future__ import annotations

PREAMBLE = """
import json
import acl

def check(ret):
    ret = ret if isinstance(ret, int) else ret[-1]
    assert ret == 0, (ret, acl.get_recent_err_msg())

def new(answer):
    check(answer)
    return answer[0]

def show(name, value):
    print(name + "=" + json.dumps(value))

"""
"""``acl``, a check of the codes that calls return, the handle in front of such a code, and a way to show a value."""
