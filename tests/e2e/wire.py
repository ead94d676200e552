"""Protobuf by hand, for what no library writes: odd orders, fields written twice, junk, lies."""

import struct

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MASK = (1 << 64) - 1


def varint(value, padding=0):
    """A number; padding adds that many bytes that say nothing."""
    value &= _MASK
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    for _ in range(min(padding, 10 - len(out))):
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


def number(field, value, padding=0):
    return varint(field << 3 | _VARINT) + varint(value, padding)


def real(field, value):
    return varint(field << 3 | _FIXED64) + struct.pack("<d", value)


def block(field, content, claimed=None):
    """Bytes, a text or a message; claimed is a length other than the true one."""
    size = len(content) if claimed is None else claimed
    return varint(field << 3 | _BYTES) + varint(size) + content


def packed(field, value):
    """A number, or bytes, a text or a message, by what value is."""
    if isinstance(value, int):
        return number(field, value)
    return block(field, value.encode() if isinstance(value, str) else value)


def unknown(rng):
    """A field no message of the format has."""
    field = rng.choice([12, 19, 100, 5000, (1 << 29) - 1])
    kind = rng.choice([_VARINT, _FIXED64, _BYTES, _FIXED32])
    tag = varint(field << 3 | kind)
    if kind == _VARINT:
        return tag + varint(rng.getrandbits(64))
    if kind == _BYTES:
        content = rng.randbytes(rng.choice([0, 3, 200]))
        return tag + varint(len(content)) + content
    return tag + rng.randbytes(8 if kind == _FIXED64 else 4)


def _scalar(descriptor, value, rng):
    if descriptor.type == descriptor.TYPE_DOUBLE:
        return real(descriptor.number, value)
    if descriptor.type == descriptor.TYPE_BYTES:
        return block(descriptor.number, value)
    return number(descriptor.number, value, rng.choice([0, 0, 0, 1, 2, 9]))


def _stale(descriptor, rng):
    """An earlier value of a singular field, which the later one replaces."""
    if descriptor.type == descriptor.TYPE_DOUBLE:
        return real(descriptor.number, rng.random())
    if descriptor.type == descriptor.TYPE_BYTES:
        return block(descriptor.number, b"stale")
    return number(descriptor.number, rng.getrandbits(64))


def scrambled(message, rng, keep=("metadata", "stats", "child_id")):
    """The message in bytes that no writer would choose but every reader has to understand.

    Fields come in any order (repeated ones keep theirs, those in `keep` theirs among each other),
    singular ones may come twice, numbers have needless bytes, and unknown fields lie in between.
    """
    kept = []
    queues = [kept]
    for descriptor in message.DESCRIPTOR.fields:
        parts = kept if descriptor.name in keep else []
        if parts is not kept:
            queues.append(parts)
        value = getattr(message, descriptor.name)
        if descriptor.is_repeated:
            if descriptor.type == descriptor.TYPE_MESSAGE:
                parts += [block(descriptor.number, scrambled(item, rng, keep)) for item in value]
            elif descriptor.type == descriptor.TYPE_BYTES:
                parts += [block(descriptor.number, item) for item in value]
            elif rng.random() < 0.5:
                parts += [number(descriptor.number, item) for item in value]
            elif value:
                parts.append(block(descriptor.number, b"".join(varint(item) for item in value)))
        elif descriptor.type == descriptor.TYPE_MESSAGE:
            parts.append(block(descriptor.number, scrambled(value, rng, keep)))
        elif descriptor.containing_oneof:
            if message.WhichOneof(descriptor.containing_oneof.name) == descriptor.name:
                rivals = descriptor.containing_oneof.fields
                if rng.random() < 0.3:
                    parts.append(_stale(rng.choice(rivals), rng))
                parts.append(_scalar(descriptor, value, rng))
        elif value or rng.random() < 0.2 and descriptor.name not in keep:
            if rng.random() < 0.3 and descriptor.name not in keep:
                parts.append(_stale(descriptor, rng))
            parts.append(_scalar(descriptor, value, rng))
    queues = [queue for queue in queues if queue]
    out = []
    while queues:
        queue = rng.choice(queues)
        out.append(queue.pop(0))
        if not queue:
            queues.remove(queue)
        if rng.random() < 0.1:
            out.append(unknown(rng))
    return b"".join(out)
