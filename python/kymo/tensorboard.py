"""Kymo inside TensorBoard, which finds the plug-in by its entry point: a tab with Kymo's pages for the log directory.

The pages are those of `kymo serve LOGDIR`, a server on loopback that starts when the tab is first opened; TensorBoard forwards
requests to it, so that they work wherever TensorBoard does. Profiles of the log directory are shown and queried; uploads, deletions
and captures are not forwarded. XProf's plug-in, which is named "profile", may be there as well.
"""

from __future__ import annotations

import http.client
import os
import threading
import urllib.parse
from typing import Any, Callable, Iterable, Iterator

from tensorboard.plugins import base_plugin

from kymo.profile import Page

_Start = Callable[..., Any]

_MODULE = b"export function render() { document.location.replace('index.html') }\n"
_BASE = b'<base href="/"'  # what the UI's addresses are relative to
_PIECE = 1 << 16

# Of a connection, not of what is sent over it; or the server's and the client's own.
_NOT_FORWARDED = {
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade",
    "date", "server", "host", "origin", "cookie", "authorization", "set-cookie", "x-frame-options",
}


class KymoPlugin(base_plugin.TBPlugin):
    """The tab. TensorBoard makes one and asks for its functions."""

    plugin_name = "kymo"

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._folder: str | None = context.logdir
        self._lock = threading.Lock()
        self._page: Page | None = None
        self._has_profiles = False

    def is_active(self) -> bool:
        """Whether the log directory has profiles; once it has, the tab stays."""
        if not self._has_profiles and self._folder:
            self._has_profiles = _has_profiles(self._folder)
        return self._has_profiles

    def frontend_metadata(self) -> Any:
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name="Kymo", disable_reload=True)

    def get_plugin_apps(self) -> dict[str, Any]:
        return {"/index.js": self._module, "/*": self._forward}

    def _module(self, environ: dict[str, Any], start_response: _Start) -> Iterable[bytes]:
        return _answer(start_response, "200 OK", _MODULE, "text/javascript")

    def _address(self) -> urllib.parse.SplitResult:
        """The address of the server, which is started when first needed, and restarted if it has ended."""
        assert self._folder is not None
        with self._lock:
            if self._page is None or not self._page.is_running():
                self._page = Page("serve", self._folder)
            return urllib.parse.urlsplit(self._page.url)

    def _forward(self, environ: dict[str, Any], start_response: _Start) -> Iterable[bytes]:
        refused = _refuse(environ)
        if refused:
            return _answer(start_response, "403 Forbidden", refused.encode(), "text/plain")
        if not self._folder:
            return _answer(start_response, "404 Not Found", b"TensorBoard has no log directory", "text/plain")
        try:
            response = self._request(environ)
        except (OSError, RuntimeError, http.client.HTTPException) as problem:
            return _answer(start_response, "502 Bad Gateway", f"kymo serve: {problem}".encode(), "text/plain")
        headers = [(name, value) for name, value in response.getheaders() if name.lower() not in _NOT_FORWARDED]
        headers = [(name, value.replace("frame-ancestors 'none'", "frame-ancestors 'self'")
                    if name.lower() == "content-security-policy" else value) for name, value in headers]
        if response.headers.get_content_type() == "text/html" and response.status == 200:
            page = response.read().replace(_BASE, f'<base href="{_root(environ)}/"'.encode(), 1)
            headers = [(name, value) for name, value in headers if name.lower() not in ("content-length", "etag")]
            start_response(f"{response.status} {response.reason}", [*headers, ("Content-Length", str(len(page)))])
            return [page]
        start_response(f"{response.status} {response.reason}", headers)
        return _pieces(response)

    def _request(self, environ: dict[str, Any]) -> http.client.HTTPResponse:
        address = self._address()
        token = urllib.parse.parse_qs(address.query).get("token", [""])[0]
        path = _path(environ)
        target = urllib.parse.quote("/" if path == "/index.html" else path)
        if environ.get("QUERY_STRING"):
            target += "?" + environ["QUERY_STRING"]
        headers = {name[5:].replace("_", "-").title(): value for name, value in environ.items() if name.startswith("HTTP_")}
        headers = {name: value for name, value in headers.items() if name.lower() not in _NOT_FORWARDED}
        headers["Authorization"] = f"Bearer {token}"
        if path in ("/", "/index.html") or path.startswith("/profile/"):
            headers.pop("Accept-Encoding", None)  # the page is changed on its way
            headers.pop("If-None-Match", None)
        body = None
        if environ.get("CONTENT_LENGTH"):
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            headers["Content-Type"] = environ.get("CONTENT_TYPE", "application/octet-stream")
        connection = http.client.HTTPConnection(address.hostname or "localhost", address.port)
        connection.request(environ["REQUEST_METHOD"], target, body=body, headers=headers)
        return connection.getresponse()


def _has_profiles(folder: str) -> bool:
    """Whether there is a folder plugins/profile, or a capture of Kymo or the Neuron runtime, not far below."""
    depth = folder.rstrip(os.sep).count(os.sep)
    for path, folders, files in os.walk(folder):
        if path.endswith(os.path.join("plugins", "profile")) and folders:
            return True
        if any(name.endswith((".xplane.pb", ".pt.trace.json", ".pt.trace.json.gz")) or name == "ntrace.pb" for name in files):
            return True
        if path.count(os.sep) - depth >= 5:
            folders.clear()
    return False


def _root(environ: dict[str, Any]) -> str:
    """The path of the plug-in, as browsers see it."""
    return urllib.parse.quote(environ.get("SCRIPT_NAME", "")) + f"/data/plugin/{KymoPlugin.plugin_name}"


def _path(environ: dict[str, Any]) -> str:
    """The path of a request below the plug-in's."""
    path = environ["PATH_INFO"].encode("latin-1").decode(errors="replace")
    prefix = f"/data/plugin/{KymoPlugin.plugin_name}"
    return path[len(prefix):] if path.startswith(prefix + "/") else "/"


def _refuse(environ: dict[str, Any]) -> str | None:
    """Why a request is not forwarded. Pages of other sites must not make requests on behalf of TensorBoard's user."""
    method = environ["REQUEST_METHOD"]
    if method not in ("GET", "HEAD", "POST"):
        return "profiles are changed with kymo itself, not in TensorBoard"
    words = _path(environ).split("/")
    if "capture_profile" in words or (method == "POST" and any(word in ("uploads", "captures") for word in words[:4])):
        return "uploads and captures are not part of TensorBoard's tab; use kymo serve"
    if method != "POST":
        return None
    origin = environ.get("HTTP_ORIGIN")
    if (environ.get("HTTP_SEC_FETCH_SITE") == "cross-site" or
            (origin and urllib.parse.urlsplit(origin).netloc != environ.get("HTTP_HOST"))):
        return "cross-origin request rejected"
    return None


def _answer(start_response: _Start, status: str, body: bytes, kind: str) -> Iterable[bytes]:
    start_response(status, [("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body))),
                            ("X-Content-Type-Options", "nosniff")])
    return [body]


def _pieces(response: http.client.HTTPResponse) -> Iterator[bytes]:
    with response:
        while piece := response.read(_PIECE):
            yield piece
