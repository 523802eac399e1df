"""``acl.prof``: profiling."""

from __future__ import annotations

from drynpu_acl.prof import functions as _functions_of
from drynpu_acl.prof.process import PROFILING as _profiling

_functions = _functions_of(_profiling)

create_config = _functions["create_config"]
destroy_config = _functions["destroy_config"]
init = _functions["init"]
finalize = _functions["finalize"]
start = _functions["start"]
stop = _functions["stop"]
set_config = _functions["set_config"]
model_subscribe = _functions["model_subscribe"]
model_unsubscribe = _functions["model_unsubscribe"]
model_un_subscribe = _functions["model_un_subscribe"]
create_subscribe_config = _functions["create_subscribe_config"]
destroy_subscribe_config = _functions["destroy_subscribe_config"]
get_op_desc_size = _functions["get_op_desc_size"]
get_op_num = _functions["get_op_num"]
get_op_type = _functions["get_op_type"]
get_op_name = _functions["get_op_name"]
get_op_type_v2 = _functions["get_op_type_v2"]
get_op_name_v2 = _functions["get_op_name_v2"]
get_op_type_len = _functions["get_op_type_len"]
get_op_name_len = _functions["get_op_name_len"]
get_op_start = _functions["get_op_start"]
get_op_end = _functions["get_op_end"]
get_op_duration = _functions["get_op_duration"]
get_model_id = _functions["get_model_id"]
create_step_info = _functions["create_step_info"]
destroy_step_info = _functions["destroy_step_info"]
get_step_timestamp = _functions["get_step_timestamp"]
create_stamp = _functions["create_stamp"]
destroy_stamp = _functions["destroy_stamp"]
set_stamp_trace_message = _functions["set_stamp_trace_message"]
mark = _functions["mark"]
mark_ex = _functions["mark_ex"]
push = _functions["push"]
pop = _functions["pop"]
range_start = _functions["range_start"]
range_stop = _functions["range_stop"]
