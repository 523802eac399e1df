"""The wire format read in columns says what protobuf's own reading says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from drynpu_tf.capture import _wire
from drynpu_tf.capture._planes import Kind, read_planes
from drynpu_tf.capture._wire import Wire

signed = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 300))
unsigned = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 300))
# Bytes that look like tags of what surrounds them.
octets = st.one_of(
    st.binary(max_size=12), st.lists(st.sampled_from([0x22, 0x1A, 0x0A, 0x80, 1]), max_size=300).map(bytes)
)


@st.composite
def stats(draw):
    stat = xplane_pb2.XStat(metadata_id=draw(signed))
    member, values = draw(
        st.sampled_from(
            [
                ("double_value", st.floats(allow_nan=False)),
                ("uint64_value", unsigned),
                ("int64_value", signed),
                ("str_value", st.text(max_size=200)),
                ("bytes_value", octets),
                ("ref_value", unsigned),
            ]
        )
    )
    setattr(stat, member, draw(values))
    return stat


@st.composite
def events(draw):
    event = xplane_pb2.XEvent(
        metadata_id=draw(signed), duration_ps=draw(signed), stats=draw(st.lists(stats(), max_size=4))
    )
    if draw(st.booleans()):
        event.offset_ps = draw(signed)
    return event


def bits(value):
    """Return the 64 bits of a number as a signed one."""
    return int(np.array([value], np.uint64 if value > 0 else np.int64).view(np.int64)[0])


def one(position):
    return np.array([position], np.int64)


@given(st.lists(events(), max_size=12), st.text(max_size=5))
@settings(max_examples=60, deadline=None)
def test_fields_are_those_that_protobuf_reads(made, name):
    line = xplane_pb2.XLine(id=7, name=name, timestamp_ns=5, duration_ps=9, display_name="shown", events=made)
    content = line.SerializeToString()
    wire = Wire.from_bytes(content)
    begin, end, rest = wire.split(0, len(content), 4)
    assert [content[low:high] for low, high in zip(begin, end, strict=True)] == [
        event.SerializeToString() for event in made
    ]
    line.ClearField("events")
    assert xplane_pb2.XLine.FromString(rest) == line
    fields = wire.fields(begin, end)
    assert fields.column(1, len(made)).tolist() == [event.metadata_id for event in made]
    assert fields.column(2, len(made)).tolist() == [event.offset_ps for event in made]
    assert fields.column(3, len(made)).tolist() == [event.duration_ps for event in made]
    message, begin, end = fields.numbered(4)
    assert sorted(message.tolist()) == [number for number, event in enumerate(made) for _ in event.stats]
    order = np.lexsort((begin, message))
    inner = wire.fields(begin[order], end[order])
    own = [stat for event in made for stat in event.stats]
    for number, member in ((3, "uint64_value"), (4, "int64_value"), (7, "ref_value")):
        rows, value, _ = inner.numbered(number)
        assert sorted(zip(rows.tolist(), value.tolist(), strict=True)) == [
            (row, bits(getattr(stat, member))) for row, stat in enumerate(own) if stat.WhichOneof("value") == member
        ]
    for number, member in ((5, "str_value"), (6, "bytes_value")):
        rows, value, stop = inner.numbered(number)
        found = {int(row): content[low:high] for row, low, high in zip(rows, value, stop, strict=True)}
        whole = [(row, getattr(stat, member)) for row, stat in enumerate(own) if stat.WhichOneof("value") == member]
        assert found == {row: text.encode() if isinstance(text, str) else text for row, text in whole}
    rows, value, _ = inner.numbered(2)
    doubles = {row: stat.double_value for row, stat in enumerate(own) if stat.WhichOneof("value") == "double_value"}
    assert dict(zip(rows.tolist(), value.view(np.float64).tolist(), strict=True)) == doubles


@given(st.lists(events(), max_size=8))
@settings(max_examples=30, deadline=None)
def test_the_first_field_is_read_by_itself(made):
    content = xplane_pb2.XLine(events=made).SerializeToString()
    wire = Wire.from_bytes(content)
    number, value = wire.first(*wire.split(0, len(content), 4)[:2])
    assert [(1, event.metadata_id) for event in made if event.metadata_id] == [
        pair for pair in zip(number.tolist(), value.tolist(), strict=True) if pair[0] == 1
    ]
    assert [not event.ByteSize() for event in made] == (number == -1).tolist()


def test_runs_longer_than_a_window_are_one(monkeypatch):
    monkeypatch.setattr(_wire, "_WINDOW", 64)
    made = [xplane_pb2.XEvent(metadata_id=number, offset_ps=0x22 << number % 40) for number in range(200)]
    content = xplane_pb2.XLine(id=1, events=made, duration_ps=3).SerializeToString()
    begin, end, rest = Wire.from_bytes(content).split(0, len(content), 4)
    assert [xplane_pb2.XEvent.FromString(content[low:high]) for low, high in zip(begin, end, strict=True)] == made
    assert xplane_pb2.XLine.FromString(rest) == xplane_pb2.XLine(id=1, duration_ps=3)


@pytest.mark.parametrize("content", [b"\x22\x7f\x01", b"\x0b", b"\x08", b"\x00\x01", b"\x22" + b"\xff" * 9 + b"\x01"])
def test_what_is_no_message_is_an_error(content):
    with pytest.raises(ValueError, match="begins no field"):
        Wire.from_bytes(content).fields(one(0), one(len(content)))


names = st.sampled_from(["FunctionRun", "EagerExecute", "ExecutorState::Process", "train", "drynpu.anchor", "other"])
nodes = st.tuples(st.sampled_from(["a/b", "c"]), st.sampled_from(["MatMul", "Relu"]))
STATS = ("id", "is_func", "step_num", "number", "shape", "eager_op", "other", "(float[2,3])", "")


@st.composite
def spaces(draw):
    """Traces as TensorFlow writes them: times, numbers, and texts as references."""
    space = xplane_pb2.XSpace()
    for plane_name in draw(st.lists(st.sampled_from(["/host:CPU", "/host:metadata"]), max_size=2)):
        plane = space.planes.add(id=1, name=plane_name)
        for number, name in enumerate(STATS):
            plane.stat_metadata[number].name = name
        for number, name in enumerate(draw(st.lists(st.one_of(names, nodes), max_size=5)), start=1):
            plane.event_metadata[number].name = name if isinstance(name, str) else ":".join(name)
            plane.event_metadata[number].display_name = "" if isinstance(name, str) else name[1]
        for thread in range(draw(st.integers(0, 3))):
            line = plane.lines.add(id=thread, name=draw(st.sampled_from(["python", "tf_data_x"])), timestamp_ns=thread)
            for _ in range(draw(st.integers(0, 6))):
                event = line.events.add(metadata_id=draw(st.integers(0, 6)), offset_ps=draw(st.integers(0, 2**40)))
                event.duration_ps = draw(st.integers(0, 2**40))
                for stat in draw(st.lists(st.integers(0, 6), max_size=3, unique=True)):
                    filled = event.stats.add(metadata_id=stat)
                    if stat < 4:
                        setattr(
                            filled, draw(st.sampled_from(["int64_value", "uint64_value"])), draw(st.integers(0, 2**62))
                        )
                    elif draw(st.booleans()):
                        filled.ref_value = 7
                    else:
                        filled.str_value = "MatMul"
    return space


@given(spaces())
@settings(max_examples=60, deadline=None)
def test_planes_are_those_that_protobuf_reads(space):
    planes = read_planes(space.SerializeToString())
    texts = (*planes.texts, None)
    columns = (planes.kind, planes.text, planes.op_type, planes.extra, planes.number, planes.thread)
    found = [
        (kind, texts[text], texts[op_type], texts[extra], number, thread, start, end)
        for kind, text, op_type, extra, number, thread, start, end in zip(
            *(column.tolist() for column in (*columns, planes.start_ns, planes.end_ns)), strict=True
        )
    ]
    assert sorted(map(str, found)) == sorted(map(str, expected(space)))
    assert found == sorted(found, key=lambda row: (row[6], -row[7]))


def expected(space):
    """Read a trace event by event."""
    kinds = {"FunctionRun": Kind.FUNCTION, "EagerExecute": Kind.EAGER, "ExecutorState::Process": Kind.EXECUTOR}
    kinds |= {"train": Kind.SPAN, "drynpu.anchor": Kind.ANCHOR}
    numbers = {Kind.FUNCTION: "id", Kind.EXECUTOR: "id", Kind.EAGER: "is_func", Kind.SPAN: "step_num"}
    numbers |= {Kind.ANCHOR: "number"}
    for plane in space.planes:
        for line in plane.lines if plane.name == "/host:CPU" else ():
            for event in line.events:
                meta = plane.event_metadata[event.metadata_id]
                values = {STATS[stat.metadata_id]: value_of(stat) for stat in event.stats}
                start = line.timestamp_ns + event.offset_ps // 1000
                times = (line.id, start, start + event.duration_ps // 1000)
                if meta.display_name and not line.name.startswith("tf_data"):
                    name, _, op_type = meta.name.partition(":")
                    yield (Kind.NODE, name, op_type, values.get("shape"), 0, *times)
                elif meta.name in kinds:
                    kind = kinds[meta.name]
                    text = values.get("eager_op", "") if kind == Kind.EAGER else meta.name
                    yield (kind, text, None, None, values.get(numbers[kind], 0), *times)


def value_of(stat):
    value = getattr(stat, stat.WhichOneof("value"))
    return STATS[value] if stat.WhichOneof("value") == "ref_value" else value
