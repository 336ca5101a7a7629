"""A Hub on this machine: the HTTP API of huggingface.co as far as pushing and pulling repositories goes, in memory.

    with HubServer({"hf_secret": "alice"}) as hub:
        ...  # run a process with hub.environment("hf_secret", home)
        hub.fail("PUT", "/lfs/", cut=1000)  # the next upload of a large file breaks off after 1,000 bytes

It answers what huggingface_hub, transformers, datasets and evaluate ask: status codes, headers and bodies are those of
the real one, down to 401 for a private repository without a token and 404 with one. Commits and branches are kept;
large files go through LFS and come back through a redirect to another origin, as from a CDN. Xet is left out: clients
must set HF_HUB_DISABLE_XET=1.

Source: https://huggingface.co/.well-known/openapi.json, the LFS batch API, and huggingface_hub's own client.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

LARGE = (".safetensors", ".parquet", ".bin", ".arrow", ".png", ".gz")
ATTRIBUTES = "".join(f"*{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in LARGE)


@dataclass(frozen=True)
class Blob:
    """A file: its content, and whether it went through LFS."""

    content: bytes
    is_large: bool

    @property
    def oid(self) -> str:
        """Its name for uploads, which leave out what has not changed, and for downloads: git's, or the SHA-256."""
        if self.is_large:
            return hashlib.sha256(self.content).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(self.content) + self.content).hexdigest()

    def entry(self, path: str) -> dict[str, Any]:
        """What a listing says about it."""
        found: dict[str, Any] = {"type": "file", "oid": self.oid, "size": len(self.content), "path": path}
        return {**found, "lfs": {**found, "pointerSize": 134}} if self.is_large else found


Files = dict[str, Blob]


@dataclass
class Repository:
    """A repository with its history: the files of each commit, and the last commit of each branch."""

    type: str
    name: str
    private: bool = False
    sdk: str | None = None
    commits: dict[str, Files] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)

    @property
    def page(self) -> str:
        return self.name if self.type == "model" else f"{self.type}s/{self.name}"

    def add(self, branch: str, files: Files) -> None:
        """Puts a commit at the end of a branch."""
        listing = [len(self.commits), *((path, blob.oid) for path, blob in files.items())]
        self.branches[branch] = hashlib.sha1(repr(listing).encode()).hexdigest()
        self.commits[self.branches[branch]] = files

    def resolve(self, revision: str) -> str:
        """The commit that a branch or a commit's name stands for."""
        oid = self.branches.get(revision, revision)
        if oid not in self.commits:
            raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return oid

    def files(self, revision: str = "main") -> dict[str, bytes]:
        """Path → content at a revision."""
        return {path: blob.content for path, blob in self.commits[self.resolve(revision)].items()}


class HubError(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, message: str, code: str | None = None):
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


class HubServer(ThreadingHTTPServer):
    """The server; a context manager.

    Args:
        tokens: Token → name of the user who has it.

    Attributes:
        repositories: (type, OWNER/NAME) → repository.
        requests: `METHOD path` of every request.
    """

    daemon_threads = True

    def __init__(self, tokens: dict[str, str]):
        super().__init__(("127.0.0.1", 0), Handler)
        self.tokens = tokens
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.failures: list[tuple[str, str, HubError, int | None]] = []
        self.lock = threading.RLock()
        self.endpoint = f"http://127.0.0.1:{self.server_port}"
        self.storage = f"http://localhost:{self.server_port}"  # another origin, which must never see a token

    def __enter__(self) -> HubServer:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def environment(self, token: str | None, home: object) -> dict[str, str]:
        """The variables with which a process uses this Hub, as a user with `token` and the home folder `home`."""
        variables = {
            "HF_ENDPOINT": self.endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_OFFLINE": "0", "HF_DATASETS_OFFLINE": "0", "HF_EVALUATE_OFFLINE": "0",
            "HF_HUB_DISABLE_TELEMETRY": "1", "HF_UPDATE_DOWNLOAD_COUNTS": "0",
            "GRADIO_ANALYTICS_ENABLED": "0",
        }  # fmt: skip
        return variables if token is None else {**variables, "HF_TOKEN": token}

    def fail(
        self,
        method: str,
        path: str,
        status: int = 0,
        code: str | None = None,
        *,
        cut: int | None = None,
        times: int = 1,
    ) -> None:
        """Lets the next `times` requests of a method fail whose path matches a regular expression.

        Args:
            status: Of the answer, which says "No".
            cut: Read so many bytes of the request instead, half of it at most, and close the connection unanswered; of
                a GET, send so many bytes of the answer's content, half of it at most.
        """
        self.failures += [(method, path, HubError(status, "No", code), cut)] * times

    def put(self, type_: str, name: str, files: dict[str, bytes], **settings: Any) -> Repository:
        """A repository with these files besides those it has, as if somebody had pushed them.

        A new one has the one file that the real Hub puts into it.
        """
        if (type_, name) not in self.repositories:
            self.repositories[type_, name] = Repository(type_, name, **settings)
            self[type_, name].add("main", {".gitattributes": Blob(ATTRIBUTES.encode(), False)})
        repository = self[type_, name]
        new = {path: Blob(content, path.endswith(LARGE)) for path, content in files.items()}
        self.objects |= {blob.oid: blob.content for blob in new.values() if blob.is_large}
        if new:
            repository.add("main", {**repository.commits[repository.resolve("main")], **new})
        return repository

    def __getitem__(self, key: tuple[str, str]) -> Repository:
        return self.repositories[key]


ROUTES: list[tuple[str, str, Callable[..., None]]] = []
REPO = r"/api/(?P<kind>models|datasets|spaces)/(?P<name>[^/]+/[^/]+)"
PAGE = r"/(?:(?P<kind>datasets|spaces)/)?(?P<name>[^/]+/[^/]+)"
AT = r"(?P<revision>[^/]+)"
OID = r"(?P<oid>[0-9a-f]{64})"


def route(method: str, pattern: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The function answers requests whose path matches; it gets the groups but `kind`, `name` and `revision`."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        ROUTES.append((method, pattern, function))
        return function

    return register


class Handler(BaseHTTPRequestHandler):
    """Answers one connection.

    Attributes:
        repository: What the request is about, if its path names one.
        revision: The branch or commit that its path names, or `main`.
        files: Those of this revision.
    """

    server: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def answer(self) -> None:
        """Finds the route, and turns what it sends or raises into a response."""
        url = urlsplit(self.path)
        self.query, self.common = parse_qs(url.query), {}
        size = int(self.headers.get("Content-Length") or 0)
        with self.server.lock:
            self.server.requests.append(f"{self.command} {url.path}")
            failure, cut = self._failure(url.path)
        if cut is not None and self.command != "GET":
            self.rfile.read(min(cut, size // 2))
            self._hang_up()
            return
        self.cut, self.body = cut, self.rfile.read(size)
        try:
            if failure and cut is None:
                raise failure
            with self.server.lock:
                self._route(url.path)
        except HubError as error:
            headers = {"X-Error-Message": error.message, **({"X-Error-Code": error.code} if error.code else {})}
            self.send_json({"error": error.message}, error.status, headers)

    do_GET = do_HEAD = do_POST = do_PUT = answer

    def _failure(self, path: str) -> tuple[HubError | None, int | None]:
        for place, (method, pattern, failure, cut) in enumerate(self.server.failures):
            if method == self.command and re.search(pattern, path):
                del self.server.failures[place]
                return failure, cut
        return None, None

    def _route(self, path: str) -> None:
        method = "GET" if self.command == "HEAD" else self.command
        for verb, pattern, function in ROUTES:
            match = re.fullmatch(pattern, path)
            if verb == method and match:
                given = {key: unquote(value or "") for key, value in match.groupdict().items()}
                if "name" in given:
                    self._find((given.pop("kind") or "models").removesuffix("s"), given.pop("name"))
                if "revision" in given:
                    self.revision = given.pop("revision") or "main"
                    self.common["X-Repo-Commit"] = self.repository.resolve(self.revision)
                    self.files = self.repository.commits[self.common["X-Repo-Commit"]]
                return function(self, **given)
        raise HubError(404, "Sorry, we can't find the page you are looking for.")

    def _find(self, type_: str, name: str) -> None:
        """Sets the repository that the request is about, if whoever asks may read it."""
        user, found = self.user(), self.server.repositories.get((type_, name))
        if found is None or (found.private and user != name.partition("/")[0]):
            self.user(required=True)  # a stranger is not told whether there is one
            raise HubError(404, "Repository not found", "RepoNotFound")
        self.repository = found

    def _hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def send(self, content: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **self.common, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content if self.cut is None else content[: min(self.cut, len(content) // 2)])
        if self.cut is not None:
            self._hang_up()

    def send_json(self, content: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send(json.dumps(content).encode(), status, {"Content-Type": "application/json", **(headers or {})})

    def user(self, required: bool = False) -> str | None:
        """Who asks; None for a stranger, who gets no further where a user is required."""
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.server.tokens and (token or required):
            raise HubError(401, "Invalid username or password.")
        return self.server.tokens.get(token)

    @route("POST", "/api/validate-yaml")
    def validate_yaml(self) -> None:
        errors, warnings = [], []
        try:
            if not card_data(json.loads(self.body)["content"]):
                warnings = [{"message": "empty or missing yaml metadata in repo card"}]
        except yaml.YAMLError as error:
            errors = [{"message": f"YAML parse error: {error}"}]
        self.send_json({"errors": errors, "warnings": warnings}, 400 if errors else 200)

    @route("POST", "/api/repos/create")
    def create(self) -> None:
        user, asked = self.user(required=True), json.loads(self.body)
        type_, name = asked.get("type") or "model", f"{asked.get('organization') or user}/{asked['name']}"
        is_new = (type_, name) not in self.server.repositories
        # The second is what clients before huggingface_hub 1.8 send.
        is_private = asked.get("visibility") == "private" or asked.get("private") is True
        made = self.server.put(type_, name, {}, private=is_private, sdk=asked.get("sdk"))
        self.send_json({"url": f"{self.server.endpoint}/{made.page}", "name": name}, 200 if is_new else 409)

    @route("POST", rf"{REPO}/preupload/{AT}")
    def preupload(self) -> None:
        files = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(LARGE) else "regular",
                "shouldIgnore": False,
                "oid": self.files[file["path"]].oid if file["path"] in self.files else None,
            }
            for file in json.loads(self.body)["files"]
        ]
        self.send_json({"files": files, "commitOid": self.common["X-Repo-Commit"]})

    @route("POST", rf"{REPO}/commit/{AT}")
    def commit(self) -> None:
        files = dict(self.files)
        for item in map(json.loads, self.body.splitlines()):
            value = item["value"]
            if item["key"] == "file":
                files[value["path"]] = Blob(base64.b64decode(value["content"]), False)
            elif item["key"] == "lfsFile":
                files[value["path"]] = Blob(self.server.objects[value["oid"]], True)
            elif item["key"] == "deletedFile":
                del files[value["path"]]
        self.repository.add(self.revision, files)
        oid = self.repository.resolve(self.revision)
        url = f"{self.server.endpoint}/{self.repository.page}/commit/{oid}"
        self.send_json({"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""})

    @route("POST", rf"{PAGE}\.git/info/lfs/objects/batch")
    def lfs_batch(self) -> None:
        objects = json.loads(self.body)["objects"]
        for asked in objects:
            oid = asked["oid"]
            if oid not in self.server.objects:  # what is there need not be sent again
                upload = {"href": f"{self.server.storage}/lfs/{oid}", "header": {}}
                verify = {"href": f"{self.server.endpoint}/lfs/{oid}/verify", "header": {}}
                asked |= {"authenticated": True, "actions": {"upload": upload, "verify": verify}}
        self.send_json({"transfer": "basic", "objects": objects})

    @route("PUT", f"/lfs/{OID}")
    def lfs_put(self, oid: str) -> None:
        self._refuse_token()
        self.server.objects[oid] = self.body
        self.send(b"")

    @route("POST", f"/lfs/{OID}/verify")
    def lfs_verify(self, oid: str) -> None:
        self.send_json({})

    def _refuse_token(self) -> None:
        """Storage takes signed addresses, and a token that comes along has been given away."""
        if "Authorization" in self.headers:
            raise HubError(400, "Only one auth mechanism allowed")

    @route("GET", f"/cdn/{OID}")
    def cdn(self, oid: str) -> None:
        self._refuse_token()
        self._send_content(self.server.objects[oid], oid)

    def _send_content(self, content: bytes, oid: str) -> None:
        """A file, or the part of it that the request asks for."""
        headers = {"ETag": f'"{oid}"', "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is None:
            self.send(content, 200, headers)
            return
        first, last = int(wanted[1]), min(int(wanted[2] or len(content)), len(content) - 1)
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        self.send(content[first : last + 1], 206, headers)

    @route("GET", rf"{PAGE}/resolve/{AT}/(?P<path>.+)")
    def download(self, path: str) -> None:
        if path not in self.files:
            raise HubError(404, "Entry not found", "EntryNotFound")
        blob = self.files[path]
        if blob.is_large:
            linked = {"X-Linked-Etag": f'"{blob.oid}"', "X-Linked-Size": str(len(blob.content))}
            self.send(b"", 302, {**linked, "Location": f"{self.server.storage}/cdn/{blob.oid}"})
        else:
            self._send_content(blob.content, blob.oid)

    @route("GET", rf"{REPO}/tree/{AT}(?:/(?P<path>.+))?")
    def tree(self, path: str) -> None:
        recursive = self.query.get("recursive", ["false"])[0].lower() in ("true", "1")
        entries = listing(self.files, f"{path}/" if path else "", recursive)
        if not entries:
            raise HubError(404, f"{path} does not exist on {self.revision}", "EntryNotFound")
        self.send_json(entries)

    @route("POST", rf"{REPO}/paths-info/{AT}")
    def paths_info(self) -> None:
        wanted = parse_qs(self.body.decode()).get("paths", [])
        self.send_json([entry for entry in listing(self.files, "", True) if entry["path"] in wanted])

    @route("POST", rf"{REPO}/branch/(?P<new>[^/]+)")
    def branch(self, new: str) -> None:
        is_new = new not in self.repository.branches
        self.repository.branches.setdefault(new, self.repository.resolve("main"))
        self.send_json({}, 201 if is_new else 409)

    @route("GET", rf"{REPO}(?:/revision/{AT})?")
    def info(self) -> None:
        card = self.files.get("README.md", Blob(b"", False)).content.decode()
        self.send_json({
            "id": self.repository.name, "sha": self.common["X-Repo-Commit"], "private": self.repository.private,
            "tags": [], "cardData": card_data(card), "siblings": [{"rfilename": path} for path in self.files],
        })  # fmt: skip


def listing(files: Files, start: str, recursive: bool) -> list[dict[str, Any]]:
    """Files and folders whose path begins with `start`, those of sub-folders only if asked for."""
    found = {}
    for path, blob in sorted(files.items()):
        if path.startswith(start):
            for slash in re.finditer("/", path[len(start) :]):
                folder = path[: len(start) + slash.start()]
                found[folder] = {"type": "directory", "oid": "0" * 40, "size": 0, "path": folder}
            found[path] = blob.entry(path)
    return [entry for path, entry in found.items() if recursive or "/" not in path[len(start) :]]


def card_data(card: str) -> dict[str, Any]:
    match = re.match(r"---\s*\n(.*?)\n---", card, re.DOTALL)
    return (yaml.safe_load(match[1]) if match else None) or {}
