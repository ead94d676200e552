"""Repeats the instructions of a capture's largest HLO module until it has a size: gen_module.py CAPTURE BYTES OUTPUT.

Only the entry computation grows; the copies of an instruction have names and ids of their own, and share parameters and the
computations that they call. The module's schedule and buffers are left out.
"""

import pathlib
import sys

BYTES = 2  # the wire type of texts and messages
# Fields of XSpace, XPlane, XEventMetadata and XStat on the way to a module, and of HLO's messages.
PLANES, PLANE_NAME, EVENT_TYPES, ENTRY_VALUE, TYPE_STATS, STAT_BYTES = 1, 2, 4, 2, 5, 6
MODULE, COMPUTATIONS, ENTRY_ID, SCHEDULE = 1, 3, 6, 7
INSTRUCTIONS, COMPUTATION_ID = 2, 5
NAME, OPCODE, ID, OPERANDS, PREDECESSORS = 1, 2, 35, 36, 37
FIRST_COPY = 1 << 33  # beyond the ids of the module


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def write_varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(data):
    """(field, wire type, value) of a message."""
    at, fields = 0, []
    while at < len(data):
        tag, at = read_varint(data, at)
        field, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = read_varint(data, at)
        else:
            size, at = read_varint(data, at) if kind == BYTES else ({1: 8, 5: 4}[kind], at)
            value, at = data[at:at + size], at + size
        fields.append((field, kind, value))
    return fields


def encode(fields):
    out = bytearray()
    for field, kind, value in fields:
        out += write_varint(field << 3 | kind)
        if kind == 0:
            out += write_varint(value)
        else:
            out += (write_varint(len(value)) if kind == BYTES else b"") + value
    return bytes(out)


def value_of(fields, wanted, default=None):
    return next((value for field, _, value in fields if field == wanted), default)


def numbers(data):
    at = 0
    while at < len(data):
        value, at = read_varint(data, at)
        yield value


def copy_of(instruction, suffix, ids):
    """With another name, and with ids by the map; an id that is not in it stays."""
    out = []
    for field, kind, value in instruction:
        if field == NAME:
            value = value + suffix
        elif field == ID:
            value = ids[value]
        elif field == OPERANDS:
            value = b"".join(write_varint(ids.get(id, id)) for id in numbers(value)) if kind == BYTES else ids.get(value, value)
        if field != PREDECESSORS:
            out.append((field, kind, value))
    return out


def repeat(computation, size):
    instructions = [decode(value) for field, _, value in computation if field == INSTRUCTIONS]
    copied = [one for one in instructions if value_of(one, OPCODE) != b"parameter"]
    grown = [(INSTRUCTIONS, BYTES, encode(one)) for one in instructions]
    total, number = sum(len(value) for _, _, value in grown), 0
    while total < size:
        first = FIRST_COPY + number * len(copied)
        ids = {value_of(one, ID): first + at for at, one in enumerate(copied)}
        number += 1
        more = [(INSTRUCTIONS, BYTES, encode(copy_of(one, b".copy%d" % number, ids))) for one in copied]
        total += sum(len(value) for _, _, value in more)
        grown += more
    return encode([*(one for one in computation if one[0] != INSTRUCTIONS), *grown])


def grow(proto, size):
    module = decode(value_of(decode(proto), MODULE))
    entry, out = value_of(module, ENTRY_ID), []
    for field, kind, value in module:
        if field == COMPUTATIONS and value_of(decode(value), COMPUTATION_ID) == entry:
            value = repeat(decode(value), size - sum(len(value) for _, kind, value in module if kind == BYTES))
        if field != SCHEDULE:
            out.append((field, kind, value))
    return encode([(MODULE, BYTES, encode(out))])


def replaced(message, path, change):
    """The message with the value at the end of a path of fields changed."""
    field, *rest = path
    return encode([(f, kind, (replaced(value, rest, change) if rest else change(value)) if f == field and kind == BYTES else value)
                   for f, kind, value in decode(message)])


def main(capture, size, output):
    planes = decode(pathlib.Path(capture).read_bytes())
    found = []
    path = [EVENT_TYPES, ENTRY_VALUE, TYPE_STATS, STAT_BYTES]
    metadata = [(field, kind, value) for field, kind, value in planes
                if field == PLANES and value_of(decode(value), PLANE_NAME) == b"/host:metadata"]
    for _, _, plane in metadata:
        replaced(plane, path, lambda value: found.append(value) or value)
    largest = max(found, key=len)
    grown = grow(largest, int(size))
    pathlib.Path(output).write_bytes(encode([
        (field, kind, replaced(value, path, lambda one: grown if one == largest else one)) if (field, kind, value) in metadata
        else (field, kind, value) for field, kind, value in planes]))


if __name__ == "__main__":
    main(*sys.argv[1:])
