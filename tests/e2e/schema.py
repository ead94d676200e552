"""Messages for Python's own protobuf library, made from the schemas that are published in schema/.

It understands what those files use of the language, and refuses the rest.
"""

import re

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from conftest import ROOT

_TYPES = {"double": 1, "float": 2, "int64": 3, "uint64": 4, "int32": 5, "fixed64": 6, "bool": 8,
          "string": 9, "bytes": 12, "uint32": 13, "sint64": 18}


class _Parser:
    def __init__(self, text, package):
        text = re.sub(r"//[^\n]*", "", text)
        self.tokens = re.findall(r'"[^"]*"|[A-Za-z_][\w.]*|\d+|[{}=;]', text)
        self.package = package
        self.enums = set(re.findall(r"\benum (\w+)", text))
        self.nested = {}

    def take(self, expected=None):
        token = self.tokens.pop(0)
        assert expected is None or token == expected, (token, expected)
        return token

    def enum(self, enum):
        enum.name = self.take()
        self.take("{")
        while self.tokens[0] != "}":
            name = self.take()
            self.take("=")
            enum.value.add(name=name, number=int(self.take()))
            self.take(";")
        self.take("}")

    def message(self, message, scope):
        message.name = self.take()
        scope = f"{scope}.{message.name}"
        self.take("{")
        while self.tokens[0] != "}":
            word = self.take()
            if word == "enum":
                self.enum(message.enum_type.add())
            elif word == "message":
                self.message(message.nested_type.add(), scope)
            else:
                self.field(message, word)
        self.take("}")

    def field(self, message, word):
        label = {"repeated": 3, "optional": 1}.get(word)
        kind = self.take() if label else word
        field = message.field.add(name=self.take(), label=label or 1)
        self.take("=")
        field.number = int(self.take())
        self.take(";")
        if kind in _TYPES:
            field.type = _TYPES[kind]
        else:
            field.type = 14 if kind in self.enums else 11
            field.type_name = kind  # found by protobuf's own rules of scope
        if word == "optional":
            field.proto3_optional = True
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")

    def file(self, name):
        file = descriptor_pb2.FileDescriptorProto(name=name, syntax="proto3", package=self.package)
        while self.tokens:
            word = self.take()
            if word == "message":
                self.message(file.message_type.add(), self.package)
            elif word == "enum":
                self.enum(file.enum_type.add())
            else:
                assert word in ("syntax", "package"), word
                while self.take() != ";":
                    pass
        return file


def messages(name):
    """The message classes of schema/<name>.proto, by name."""
    pool = descriptor_pool.DescriptorPool()
    file = _Parser((ROOT / "schema" / f"{name}.proto").read_text(), "kymo.session").file(name)
    pool.Add(file)
    return {message.name: message_factory.GetMessageClass(
        pool.FindMessageTypeByName(f"kymo.session.{message.name}")) for message in file.message_type}


def load(directory, name, message):
    parsed = messages(name)[message]()
    parsed.ParseFromString((directory / f"{name}.pb").read_bytes())
    known = parsed.ByteSize()
    parsed.DiscardUnknownFields()
    assert parsed.ByteSize() == known  # the schema describes all there is
    assert parsed.version == 1
    return parsed


def events(trace):
    """Every event of an Ntrace, lane by lane, as plain dictionaries."""
    def name(number):
        return trace.names[number - 1].text if number else ""

    def sums(values, start):
        for value in values:
            start += value
            yield start

    lanes = [[] for _ in trace.lanes]
    for block in trace.blocks:
        n = block.count
        times = list(sums(block.time_ns, block.base_ns))
        assert len(times) == len(block.name) == len(block.phase) == n
        cores = block.nc_idx or [0] * n
        ids = [v % 2**64 for v in sums(block.tracking_id, 0)] or [0] * n
        counts = block.arg_count or [0] * n
        assert len(cores) == len(ids) == len(counts) == n
        assert sum(counts) == len(block.arg_key) == len(block.arg_type)
        values = {1: iter(block.int_value), 2: iter(block.uint_value), 3: iter(block.double_value),
                  4: (name(text) for text in block.text_value)}
        args = iter(zip(block.arg_key, block.arg_type))
        for i in range(n):
            found = []
            for _ in range(counts[i]):
                key, kind = next(args)
                found.append([name(key), kind, next(values[kind])])
            lanes[block.lane].append({"time_ns": times[i], "name": name(block.name[i]),
                                      "phase": block.phase[i], "core": cores[i], "id": ids[i],
                                      "args": found})
        for rest in values.values():
            assert next(rest, None) is None
    return lanes
