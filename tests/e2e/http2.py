"""Just enough of HTTP/2 and gRPC to play a client or a server that behaves as a test wants it."""

import socket
import struct
import threading

import brute_force

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(text):
    data = text.encode()
    assert len(data) < 127
    return bytes([len(data)]) + data


def headers(*pairs):
    """Fields without an index and without Huffman codes."""
    return b"".join(b"\0" + literal(name) + literal(value) for name, value in pairs)


def varint(value):
    data = b""
    while value > 127:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + (value.encode() if isinstance(value, str) else value)


def message(data, flag=0):
    return bytes([flag]) + struct.pack(">I", len(data)) + data


def fields(data):
    """{number: [values]} of a message."""
    found = {}
    for number, value in brute_force.fields(data):
        found.setdefault(number, []).append(value)
    return found


def read_exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def read_frame(connection):
    head = read_exactly(connection, 9)
    return head[3], head[4], int.from_bytes(head[5:9], "big"), read_exactly(connection, int.from_bytes(head[:3], "big"))


class Client:
    """A connection that has said hello."""

    def __init__(self, port, window=2**31 - 1 - 65535):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.port = port
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.windows = {0: 65535}
        self.send(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535 + min(window, 2**31 - 65537))))
        if window:
            self.send(frame(WINDOW, 0, 0, struct.pack(">I", window)))

    def send(self, data):
        self.socket.sendall(data)

    def begin(self, method, stream=1, flags=END_HEADERS, kind="application/grpc"):
        self.send(frame(HEADERS, flags, stream, headers(
            (":method", "POST"), (":scheme", "http"), (":path", f"/tensorflow.ProfilerService/{method}"),
            (":authority", f"localhost:{self.port}"), ("content-type", kind), ("te", "trailers"))))  # fmt: skip

    def call(self, method, data, stream=1):
        self.begin(method, stream)
        self.send(frame(DATA, END_STREAM, stream, message(data)))

    def sync(self):
        """Returns once the server has read everything so far, with the streams that it has answered."""
        self.send(frame(PING, 0, 0, bytes(8)))
        answered = set()
        while True:
            kind, flags, stream, payload = read_frame(self.socket)
            if kind == PING and flags & 1:
                return answered
            self.note(kind, stream, payload)
            answered |= {stream} if kind in (HEADERS, RESET) else set()

    def note(self, kind, stream, payload):
        if kind == WINDOW:
            self.windows[stream] = self.windows.get(stream, 65535) + int.from_bytes(payload, "big")

    def send_part(self, size, stream):
        """That much of a body, without its end, as fast as the server takes it and until it answers."""
        self.windows[stream] = 65535
        while size > 0:
            part = min(size, 16384, self.windows[0], self.windows[stream])
            self.send(frame(DATA, 0, stream, bytes(part)) if part else b"")
            self.windows[0] -= part
            self.windows[stream] -= part
            size -= part
            if part == 0:
                kind, _, number, payload = read_frame(self.socket)
                self.note(kind, number, payload)
                if number == stream and kind in (HEADERS, RESET):
                    return
        self.sync()

    def answer(self, stream=1):
        """The message of an answer; None where there is a status alone, or the stream is reset."""
        body = b""
        while True:
            kind, flags, number, payload = read_frame(self.socket)
            if kind == GOAWAY:
                raise EOFError
            if number != stream:
                continue
            if kind == DATA:
                body += payload
            if kind == RESET or flags & END_STREAM and kind in (DATA, HEADERS):
                break
        if not body:
            return None
        assert body[0] == 0 and int.from_bytes(body[1:5], "big") == len(body) - 5
        return body[5:]

    def is_open(self):
        """Whether the server has not ended the connection so far."""
        self.socket.setblocking(False)
        try:
            while self.socket.recv(65536):
                pass
            return False
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        finally:
            self.socket.settimeout(30)

    def is_closed(self):
        """Whether the server ends the connection."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionError:
            pass
        except TimeoutError:
            return False
        return True

    def close(self):
        self.socket.close()


class Service:
    """A server that answers each call by a function of (connection, method number): see reply."""

    def __init__(self, answer):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.answer = answer
        self.requests = []
        self.lock = threading.Lock()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        try:
            read_exactly(connection, len(PREFACE))
            connection.sendall(frame(SETTINGS, 0, 0))
            body = b""
            self.window = {0: 65535, 1: 65535}
            while True:
                kind, flags, stream, payload = read_frame(connection)
                self.note(connection, kind, flags, stream, payload)
                body += payload if kind == DATA else b""
                if flags & END_STREAM and kind in (DATA, HEADERS):
                    break
            with self.lock:
                self.requests.append(fields(body[5:]))
                number = len(self.requests)
            self.answer(self, connection, number)
        except (EOFError, OSError):
            pass
        finally:
            connection.close()

    def note(self, connection, kind, flags, stream, payload):
        """Windows and settings."""
        if kind == WINDOW:
            self.window[stream] = self.window.get(stream, 65535) + int.from_bytes(payload, "big")
        if kind == SETTINGS and not flags & 1:
            for at in range(0, len(payload), 6):
                if payload[at : at + 2] == b"\0\4":
                    self.window[1] += int.from_bytes(payload[at + 2 : at + 6], "big") - 65535
            connection.sendall(frame(SETTINGS, 1, 0))

    def send_large(self, connection, chunk, count):
        """Many frames, as fast as the client takes them."""
        for _ in range(count):
            while min(self.window[0], self.window[1]) < len(chunk):
                self.note(connection, *read_frame(connection))
            connection.sendall(frame(DATA, 0, 1, chunk))
            self.window[0] -= len(chunk)
            self.window[1] -= len(chunk)

    def close(self):
        self.listener.close()


OK_HEADERS = frame(HEADERS, END_HEADERS, 1, headers((":status", "200"), ("content-type", "application/grpc")))


def trailers(status=0, text=""):
    return frame(HEADERS, END_HEADERS | END_STREAM, 1, headers(("grpc-status", str(status)), ("grpc-message", text)))


def failure(status, text):
    """An answer of a status alone."""
    return frame(HEADERS, END_HEADERS | END_STREAM, 1, headers(
        (":status", "200"), ("content-type", "application/grpc"), ("grpc-status", str(status)), ("grpc-message", text)))  # fmt: skip


def finish(connection):
    """Waits until the client has everything."""
    connection.settimeout(5)
    try:
        while connection.recv(65536):
            pass
    except OSError:
        pass


def reply(*parts):
    """Answers with these bytes, one after another."""

    def answer(service, connection, number):
        for part in parts:
            connection.sendall(part)
        finish(connection)

    return answer


def profile(data, **more):
    """The frames of a whole answer."""
    body = message(field(8, data), **more)
    return OK_HEADERS + b"".join(frame(DATA, 0, 1, body[at : at + 16384]) for at in range(0, len(body), 16384)) + trailers()
