"""A server under test: the program, started on free ports of the loopback address."""

import atexit
import http.client
import json
import os
import re
import signal
import struct
import subprocess
import tempfile
import time
import urllib.parse

import numpy

started = []


@atexit.register
def end_all():
    """A test that fails may leave its server behind."""
    for process in started:
        if process.poll() is None:
            process.kill()


def busy_seconds(pid):
    """CPU time of a process."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


LINE = re.compile(r"(View .* at|The API is at|XProf at) (http://\S+)")
PATIENCE = 120  # for a busy machine


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        """The sentence of an error, which every failure has."""
        assert self.status >= 400, (self.status, self.body)
        assert self.headers["Content-Type"] == "application/json"
        assert set(self.json) - {"fields"} == {"error"} and self.json["error"]
        return self.json["error"]


class Server:
    def __init__(self, kymo, *arguments, command="view", ports=("--port", 0, "--api-server-port", 0)):
        self.errors = tempfile.TemporaryFile("w+")
        words = [kymo.path, command, *arguments, *ports]
        self.process = subprocess.Popen(
            list(map(str, words)), stdout=subprocess.PIPE, stderr=self.errors, text=True,
        )  # fmt: skip
        started.append(self.process)
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if line == "ctrl-c to exit\n" or line.endswith("(Press CTRL+C to quit)\n"):
                break
        else:
            self.process.wait()
            raise AssertionError(self.stderr())
        self.url = LINE.search(self.said)[2]
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port = parts.hostname, parts.port
        self.headers = {}

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read()

    def connect(self, port=None):
        return http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE)

    def ask(self, method, path, body=None, headers=None, port=None):
        """One request; paths are those of the API unless they begin with a slash."""
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        connection = self.connect(port)
        path = path if path.startswith("/") else f"/api/v1/{path}"
        try:
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **arguments):
        query = "?" + urllib.parse.urlencode(arguments) if arguments else ""
        answer = self.ask("GET", path + query)
        assert answer.status == 200, (path, answer.status, answer.body)
        return answer.json

    def post(self, path, body=None, status=200):
        answer = self.ask("POST", path, body)
        assert answer.status == status, (path, answer.status, answer.body)
        return answer.json

    def wait_for(self, name, *statuses):
        """The profile's entry as soon as it has one of the statuses."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            answer = self.ask("GET", f"profiles/{urllib.parse.quote(name)}")
            if answer.status == 200 and answer.json["status"] in statuses:
                return answer.json
            time.sleep(0.02)
        raise AssertionError((answer.status, answer.body))

    def upload(self, name, files, process=True, **options):
        """Uploads {path: bytes} and has it processed; the upload's id."""
        upload = self.post("uploads", {"name": name, **options}, 201)["id"]
        for path, content in files.items():
            answer = self.ask("PUT", f"uploads/{upload}/files/{urllib.parse.quote(path)}", content)
            assert answer.status == 200 and answer.json == {"bytes": len(content)}
        if process:
            self.post(f"uploads/{upload}/process", status=202)
        return upload

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) * 1024

    def stop(self, number=signal.SIGTERM):
        """Ends it; it must take it well, and leave no word of a sanitizer."""
        begun = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        messages = self.stderr()
        assert "Sanitizer" not in messages and "runtime error" not in messages, messages
        assert code == 0, (code, messages)
        return time.monotonic() - begun

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def picture(body):
    """An answer of /timeline, decoded as docs/api.md describes it."""
    magic, version, slice_rows, counter_rows, slices, samples, names, width = struct.unpack_from(
        "<4s7I", body
    )
    start, end, names_size = struct.unpack_from("<qqQ", body, 32)
    assert magic == b"KYTL" and version == 1
    at = 64

    def column(kind, count):
        nonlocal at
        values = numpy.frombuffer(body, kind, count, at)
        at += (values.nbytes + 7) // 8 * 8
        return values

    rows = column("<u4", 4 * (slice_rows + counter_rows)).reshape(-1, 4).tolist()
    slice_columns = {
        "start": column("<f8", slices), "end": column("<f8", slices), "id": column("<f8", slices),
        "count": column("<u4", slices), "busy": column("<f4", slices), "name": column("<u4", slices),
    }  # fmt: skip
    sample_columns = {
        "start": column("<f8", samples), "end": column("<f8", samples),
        "least": column("<f8", samples), "most": column("<f8", samples),
        "mean": column("<f8", samples), "last": column("<f8", samples),
        "count": column("<u4", samples),
    }  # fmt: skip
    assert len(body) == at + names_size
    ends = numpy.frombuffer(body, "<u4", names, at).tolist()
    text = body[at + 4 * names :]
    texts = [text[a:b].decode() for a, b in zip([0, *ends], ends)]
    return {
        "from": start, "to": end, "width": width, "names": texts,
        "slice_rows": rows[:slice_rows], "counter_rows": rows[slice_rows:],
        "slices": slice_columns, "samples": sample_columns,
    }  # fmt: skip
