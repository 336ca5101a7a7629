"""A Hub on this machine: the HTTP API of huggingface.co as far as pushing and pulling repositories goes, in memory.

    with HubServer({"hf_secret": "alice"}) as hub:
        ...  # run a process with hub.environment("hf_secret", home)
        hub.fail("PUT", "/lfs/", cut=1000)  # the next upload of a large file breaks off after 1,000 bytes

It answers what huggingface_hub, transformers, datasets and evaluate ask: status codes, headers and bodies are those of
the real one, down to 401 for a private repository without a token and 404 with one. Commits, branches and tags are
kept; large files go through LFS and come back through a redirect to another origin, as from a CDN. Xet is left out:
clients must set HF_HUB_DISABLE_XET=1.

Source: https://huggingface.co/.well-known/openapi.json, the LFS batch API, and huggingface_hub's own client.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

PREFIX = {"model": "", "dataset": "datasets/", "space": "spaces/"}
LARGE = (".safetensors", ".parquet", ".bin", ".arrow", ".png", ".gz")
ATTRIBUTES = "".join(f"*{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in LARGE)
DATE = "2026-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Blob:
    """A file: its content, and whether it went through LFS."""

    content: bytes
    is_large: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def oid(self) -> str:
        """git's name of what the repository holds: the content, or the pointer to a large file."""
        content = self.content
        if self.is_large:
            version = "version https://git-lfs.github.com/spec/v1"
            content = f"{version}\noid sha256:{self.sha256}\nsize {len(self.content)}\n".encode()
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()

    @property
    def upload_oid(self) -> str:
        """What an upload compares its file with, to leave out what has not changed."""
        return self.sha256 if self.is_large else self.oid

    def entry(self, path: str) -> dict[str, Any]:
        """What a listing says about it."""
        found: dict[str, Any] = {"type": "file", "oid": self.oid, "size": len(self.content), "path": path}
        if self.is_large:
            found["lfs"] = {"oid": self.sha256, "size": len(self.content), "pointerSize": 134}
        return found


@dataclass(frozen=True)
class Commit:
    """A state of a repository and how it came about."""

    files: dict[str, Blob]
    title: str
    parent: str | None

    @property
    def oid(self) -> str:
        listing = sorted((path, blob.oid) for path, blob in self.files.items())
        return hashlib.sha1(json.dumps([listing, self.title, self.parent]).encode()).hexdigest()


@dataclass
class Repository:
    """A repository with its history."""

    type: str
    name: str
    private: bool
    sdk: str | None = None
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)

    def add(self, branch: str, files: dict[str, Blob], title: str) -> str:
        """Puts a commit at the end of a branch; its id."""
        commit = Commit(files, title, self.branches.get(branch))
        self.commits[commit.oid] = commit
        self.branches[branch] = commit.oid
        return commit.oid

    def resolve(self, revision: str) -> str | None:
        """The commit that a branch or a commit's name stands for."""
        return self.branches.get(revision) or next((oid for oid in self.commits if oid == revision), None)

    def files(self, revision: str = "main") -> dict[str, bytes]:
        """Path → content at a revision."""
        oid = self.resolve(revision)
        return {} if oid is None else {path: blob.content for path, blob in self.commits[oid].files.items()}


@dataclass
class Failure:
    """What goes wrong at the next requests of a kind: an answer with `status`, or silence after `cut` bytes."""

    method: str
    path: re.Pattern[str]
    status: int
    message: str
    headers: dict[str, str]
    cut: int | None
    times: int


class HubError(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, message: str, code: str | None = None, **body: Any):
        super().__init__(message)
        self.status, self.message, self.code, self.body = status, message, code, body


class HubServer:
    """The server; a context manager.

    Args:
        tokens: Token → name of the user who has it. A user may write to the repositories of that name only.

    Attributes:
        repositories: (type, OWNER/NAME) → repository.
        requests: `METHOD path` of every request.
    """

    def __init__(self, tokens: dict[str, str]):
        self.tokens = tokens
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.failures: list[Failure] = []
        self.lock = threading.RLock()
        handler = type("BoundHandler", (Handler,), {"hub": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.storage = f"http://localhost:{self.port}"  # another origin, which must never see a token

    def __enter__(self) -> HubServer:
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

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
        self, method: str, path: str, status: int = 0, *, message: str = "It does not work today", times: int = 1,
        cut: int | None = None, headers: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Lets the next `times` requests of a method fail whose path matches a regular expression.

        Args:
            status: Of the answer.
            cut: Read so many bytes of the request instead, half of it at most, and close the connection unanswered; of
                a GET, send so many bytes of the answer's content, half of it at most.
        """
        self.failures.append(Failure(method, re.compile(path), status, message, headers or {}, cut, times))

    def next_failure(self, method: str, path: str) -> Failure | None:
        with self.lock:
            for failure in self.failures:
                if failure.times > 0 and failure.method == method and failure.path.search(path):
                    failure.times -= 1
                    return failure
        return None

    def create(self, type_: str, name: str, *, private: bool = False, sdk: str | None = None) -> Repository:
        """A new repository with the one file that the real Hub puts into it."""
        repository = Repository(type_, name, private, sdk)
        repository.add("main", {".gitattributes": Blob(ATTRIBUTES.encode(), False)}, "initial commit")
        self.repositories[type_, name] = repository
        return repository

    def put(self, type_: str, name: str, files: dict[str, bytes], title: str = "files") -> Repository:
        """A repository with these files besides those it has, as if somebody had pushed them."""
        repository = self.repositories.get((type_, name)) or self.create(type_, name)
        old = repository.commits[repository.branches["main"]].files
        new = {path: Blob(content, path.endswith(LARGE)) for path, content in files.items()}
        repository.add("main", {**old, **new}, title)
        return repository

    def __getitem__(self, key: tuple[str, str]) -> Repository:
        return self.repositories[key]


REPO = r"(?P<kind>models|datasets|spaces)/(?P<name>[^/]+/[^/]+)"
PAGE = r"(?P<prefix>datasets/|spaces/)?(?P<name>[^/]+/[^/]+)"
ROUTES = [
    ("GET", r"/api/whoami-v2", "whoami"),
    ("POST", r"/api/validate-yaml", "validate_yaml"),
    ("POST", r"/api/repos/create", "create"),
    ("POST", rf"/api/{REPO}/preupload/(?P<revision>[^/]+)", "preupload"),
    ("POST", rf"/api/{REPO}/commit/(?P<revision>[^/]+)", "commit"),
    ("GET", rf"/api/{REPO}/tree/(?P<revision>[^/]+)(?:/(?P<path>.+))?", "tree"),
    ("POST", rf"/api/{REPO}/paths-info/(?P<revision>[^/]+)", "paths_info"),
    ("POST", rf"/api/{REPO}/branch/(?P<revision>[^/]+)", "branch"),
    ("GET", rf"/api/{REPO}/refs", "refs"),
    ("GET", rf"/api/{REPO}(?:/revision/(?P<revision>[^/]+))?", "info"),
    ("POST", rf"/{PAGE}\.git/info/lfs/objects/batch", "lfs_batch"),
    ("PUT", r"/lfs/(?P<oid>[0-9a-f]{64})", "lfs_put"),
    ("POST", r"/lfs/(?P<oid>[0-9a-f]{64})/verify", "lfs_verify"),
    ("GET", r"/cdn/(?P<oid>[0-9a-f]{64})", "cdn"),
    ("GET", rf"/{PAGE}/resolve/(?P<revision>[^/]+)/(?P<path>.+)", "download"),
]
# What a route calls the types of repositories.
TYPES = {**{f"{type_}s": type_ for type_ in PREFIX}, **{prefix or None: type_ for type_, prefix in PREFIX.items()}}


class Handler(BaseHTTPRequestHandler):
    """Answers one connection. `hub` is the server's state."""

    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        """Finds the route, and turns what it returns or raises into a response."""
        url = urlsplit(self.path)
        path, self.query = url.path, parse_qs(url.query)
        with self.hub.lock:
            self.hub.requests.append(f"{self.command} {path}")
        failure = self.hub.next_failure(self.command, path)
        self.limit = None if failure is None or self.command != "GET" else failure.cut
        if failure is not None and failure.cut is not None and self.limit is None:
            self.rfile.read(min(failure.cut, int(self.headers.get("Content-Length") or 0) // 2))
            self._hang_up()
            return
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if failure is not None and failure.cut is None:
                raise HubError(failure.status, failure.message, headers=failure.headers)
            method = "GET" if self.command == "HEAD" else self.command
            for verb, pattern, name in ROUTES:
                match = re.fullmatch(pattern, path)
                if verb == method and match:
                    with self.hub.lock:
                        getattr(self, name)(
                            **{key: value and unquote(value) for key, value in match.groupdict().items()}
                        )
                    return
            raise HubError(404, "Sorry, we can't find the page you are looking for.")
        except HubError as error:
            headers = {"X-Error-Message": error.message, **error.body.pop("headers", {})}
            if error.code:
                headers["X-Error-Code"] = error.code
            self.send_json({"error": error.message, **error.body}, error.status, headers)

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET

    def _hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def send(self, content: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        headers = {"Content-Length": str(len(content)), "Date": formatdate(usegmt=True), **(headers or {})}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content if self.limit is None else content[: min(self.limit, len(content) // 2)])
        if self.limit is not None:
            self._hang_up()

    def send_json(self, content: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send(json.dumps(content).encode(), status, {"Content-Type": "application/json", **(headers or {})})

    def user(self) -> str | None:
        """Who asks; None for a stranger.

        Raises:
            HubError: For a token that nobody has.
        """
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if not scheme:
            return None
        if token not in self.hub.tokens:
            raise HubError(401, "Invalid credentials in Authorization header")
        return self.hub.tokens[token]

    def repository(self, type_: str, name: str, *, write: bool = False) -> Repository:
        """The repository that the request is about.

        Raises:
            HubError: If the asking user may not read it, or not write it.
        """
        user, repository = self.user(), self.hub.repositories.get((type_, name))
        owner = name.partition("/")[0]
        if repository is None or (repository.private and user != owner):
            if user is None:  # a stranger is not told whether there is one
                raise HubError(401, "Invalid username or password.")
            raise HubError(404, "Repository not found", "RepoNotFound")
        if write and user is None:
            raise HubError(401, "Invalid username or password.")
        if write and user != owner:
            raise HubError(403, f"Forbidden: you don't have the right to write to {name}")
        return repository

    def commit_of(self, repository: Repository, revision: str) -> tuple[str, Commit]:
        oid = repository.resolve(revision)
        if oid is None:
            raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return oid, repository.commits[oid]

    def whoami(self) -> None:
        user = self.user()
        if user is None:
            raise HubError(401, "Invalid username or password.")
        token = {"displayName": "test", "role": "write", "createdAt": DATE}
        self.send_json(
            {"type": "user", "name": user, "auth": {"type": "access_token", "accessToken": token}, "orgs": []}
        )

    def validate_yaml(self) -> None:
        content = json.loads(self.body)["content"]
        match = re.match(r"---\s*\n(.*?)\n---", content, re.DOTALL)
        if match is None:
            warning = {"message": "empty or missing yaml metadata in repo card"}
            self.send_json({"errors": [], "warnings": [warning]})
            return
        try:
            data = yaml.safe_load(match[1])
        except yaml.YAMLError as error:
            data = str(error)
        errors = [] if isinstance(data, dict) else [{"message": f"YAML parse error: {data}"}]
        self.send_json({"errors": errors, "warnings": []}, 400 if errors else 200)

    def create(self) -> None:
        user, asked = self.user(), json.loads(self.body)
        if user is None:
            raise HubError(401, "Invalid username or password.")
        owner, type_ = asked.get("organization") or user, asked.get("type") or "model"
        name = f"{owner}/{asked['name']}"
        url = f"{self.hub.endpoint}/{PREFIX[type_]}{name}"
        if owner != user:
            raise HubError(403, f'You don\'t have the rights to create a {type_} under the namespace "{owner}"')
        if (type_, name) in self.hub.repositories:
            raise HubError(409, f"You already created this {type_} repo", url=url)
        if type_ == "space" and asked.get("sdk") not in ("gradio", "docker", "static"):
            raise HubError(400, "Invalid sdk")
        # The second is what clients before huggingface_hub 1.8 send.
        is_private = asked.get("visibility") == "private" or asked.get("private") is True
        self.hub.create(type_, name, private=is_private, sdk=asked.get("sdk"))
        self.send_json({"url": url, "name": name, "id": name})

    def preupload(self, kind: str, name: str, revision: str) -> None:
        repository = self.repository(TYPES[kind], name, write=True)
        _, commit = self.commit_of(repository, revision)
        files = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(LARGE) or file["size"] > 10_000_000 else "regular",
                "shouldIgnore": False,
                "oid": commit.files[file["path"]].upload_oid if file["path"] in commit.files else None,
            }
            for file in json.loads(self.body)["files"]
        ]
        self.send_json({"files": files, "commitOid": repository.resolve(revision)})

    def commit(self, kind: str, name: str, revision: str) -> None:
        repository = self.repository(TYPES[kind], name, write=True)
        oid, commit = self.commit_of(repository, revision)
        if revision not in repository.branches:
            raise HubError(400, f"{revision} is no branch")
        files, title = dict(commit.files), ""
        for line in self.body.splitlines():
            item = json.loads(line)
            value = item["value"]
            if item["key"] == "header":
                title = value["summary"]
                if value.get("parentCommit", oid) != oid:
                    raise HubError(412, "A commit has happened since. Please refresh and try again.")
            elif item["key"] == "file":
                files[value["path"]] = Blob(base64.b64decode(value["content"]), False)
            elif item["key"] == "lfsFile":
                if value["oid"] not in self.hub.objects:
                    raise HubError(400, f"LFS pointer pointed to a file that does not exist: {value['path']}")
                files[value["path"]] = Blob(self.hub.objects[value["oid"]], True)
            elif item["key"] == "deletedFile":
                del files[value["path"]]
        oid = repository.add(revision, files, title)
        url = f"{self.hub.endpoint}/{PREFIX[repository.type]}{name}/commit/{oid}"
        self.send_json({"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""})

    def lfs_batch(self, prefix: str | None, name: str) -> None:
        self.repository(TYPES[prefix], name, write=True)
        objects = []
        for asked in json.loads(self.body)["objects"]:
            oid = asked["oid"]
            if oid not in self.hub.objects:  # what is there need not be sent again
                asked = {
                    **asked,
                    "authenticated": True,
                    "actions": {
                        "upload": {"href": f"{self.hub.storage}/lfs/{oid}", "header": {}},
                        "verify": {"href": f"{self.hub.endpoint}/lfs/{oid}/verify", "header": {}},
                    },
                }
            objects.append(asked)
        self.send_json({"transfer": "basic", "objects": objects})

    def lfs_put(self, oid: str) -> None:
        self._refuse_token()
        if hashlib.sha256(self.body).hexdigest() != oid:
            raise HubError(400, "The content is not what its name says")
        self.hub.objects[oid] = self.body
        self.send(b"")

    def lfs_verify(self, oid: str) -> None:
        asked = json.loads(self.body)
        if len(self.hub.objects.get(oid, b"")) != asked["size"]:
            raise HubError(404, "Object not found")
        self.send_json({})

    def _refuse_token(self) -> None:
        """Storage takes signed addresses, and a token that comes along has been given away."""
        if "Authorization" in self.headers:
            raise HubError(400, "Only one auth mechanism allowed")

    def cdn(self, oid: str) -> None:
        self._refuse_token()
        self._send_content(self.hub.objects.get(oid) or self._pushed(oid), {"ETag": f'"{oid}"'})

    def _pushed(self, oid: str) -> bytes:
        for repository in self.hub.repositories.values():
            for commit in repository.commits.values():
                for blob in commit.files.values():
                    if blob.is_large and blob.sha256 == oid:
                        return blob.content
        raise HubError(404, "Object not found")

    def _send_content(self, content: bytes, headers: dict[str, str]) -> None:
        """A file, or the part of it that the request asks for."""
        headers = {"Accept-Ranges": "bytes", "Content-Type": "application/octet-stream", **headers}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is None:
            self.send(content, 200, headers)
            return
        first, last = int(wanted[1]), min(int(wanted[2] or len(content)), len(content) - 1)
        if first >= len(content):
            raise HubError(416, "Range Not Satisfiable", headers={"Content-Range": f"bytes */{len(content)}"})
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        self.send(content[first : last + 1], 206, headers)

    def download(self, prefix: str | None, name: str, revision: str, path: str) -> None:
        repository = self.repository(TYPES[prefix], name)
        oid, commit = self.commit_of(repository, revision)
        headers = {"X-Repo-Commit": oid}
        blob = commit.files.get(path)
        if blob is None:
            raise HubError(404, "Entry not found", "EntryNotFound", headers=headers)
        headers["Content-Disposition"] = f'inline; filename="{path.rpartition("/")[2]}";'
        if not blob.is_large:
            self._send_content(blob.content, {**headers, "ETag": f'"{blob.oid}"'})
            return
        headers |= {"X-Linked-Etag": f'"{blob.sha256}"', "X-Linked-Size": str(len(blob.content))}
        self.send(b"", 302, {**headers, "Location": f"{self.hub.storage}/cdn/{blob.sha256}"})

    def tree(self, kind: str, name: str, revision: str, path: str | None) -> None:
        repository = self.repository(TYPES[kind], name)
        oid, commit = self.commit_of(repository, revision)
        recursive = self.query.get("recursive", ["false"])[0].lower() in ("true", "1")
        entries = list(_listing(commit.files, path or "", recursive))
        if not entries:
            raise HubError(404, f"{path} does not exist on {revision}", "EntryNotFound")
        self.send_json(entries, headers={"X-Repo-Commit": oid})

    def paths_info(self, kind: str, name: str, revision: str) -> None:
        repository = self.repository(TYPES[kind], name)
        _, commit = self.commit_of(repository, revision)
        entries = {entry["path"]: entry for entry in _listing(commit.files, "", True)}
        wanted = parse_qs(self.body.decode()).get("paths", [])
        self.send_json([entries[path] for path in wanted if path in entries])

    def branch(self, kind: str, name: str, revision: str) -> None:
        repository = self.repository(TYPES[kind], name, write=True)
        if revision in repository.branches:
            raise HubError(409, f"Reference already exists: refs/heads/{revision}")
        start = json.loads(self.body or b"{}").get("startingPoint", "main")
        repository.branches[revision], _ = self.commit_of(repository, start)
        self.send_json({}, 201)

    def refs(self, kind: str, name: str) -> None:
        repository = self.repository(TYPES[kind], name)
        branches = [
            {"name": name, "ref": f"refs/heads/{name}", "targetCommit": oid}
            for name, oid in repository.branches.items()
        ]
        self.send_json({"branches": branches, "tags": [], "converts": []})

    def info(self, kind: str, name: str, revision: str | None) -> None:
        repository = self.repository(TYPES[kind], name)
        oid, commit = self.commit_of(repository, revision or "main")
        siblings = [{"rfilename": path} for path in commit.files]
        card = _card_data(commit.files.get("README.md"))
        content = {
            "_id": "0" * 24, "id": name, "author": name.partition("/")[0], "sha": oid, "private": repository.private,
            "gated": False, "disabled": False, "lastModified": DATE, "createdAt": DATE, "likes": 0, "downloads": 0,
            "tags": card.get("tags") or [], "cardData": card, "siblings": siblings,
        }  # fmt: skip
        if repository.type == "space":
            content["sdk"] = repository.sdk
        self.send_json(content)


def _listing(files: dict[str, Blob], folder: str, recursive: bool) -> Iterator[dict[str, Any]]:
    """Files and folders below a folder, files of sub-folders only if asked for."""
    start, folders = f"{folder}/" if folder else "", set()
    for path, blob in sorted(files.items()):
        if not path.startswith(start):
            continue
        parents = path[len(start) :].split("/")[:-1]
        for depth in range(len(parents)):
            parent = start + "/".join(parents[: depth + 1])
            if parent not in folders and (recursive or depth == 0):
                folders.add(parent)
                oid = hashlib.sha1(parent.encode()).hexdigest()
                yield {"type": "directory", "oid": oid, "size": 0, "path": parent}
        if recursive or not parents:
            yield blob.entry(path)


def _card_data(card: Blob | None) -> dict[str, Any]:
    match = re.match(r"---\s*\n(.*?)\n---", card.content.decode() if card else "", re.DOTALL)
    return (yaml.safe_load(match[1]) if match else None) or {}
