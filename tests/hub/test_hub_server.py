"""The server of these tests answers huggingface_hub's own client as the Hub does."""

from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, HfFileSystem, hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

from .fixtures import OTHER, STRANGER, TOKEN

NAME = "alice/things"
# The client's own way to send bytes, which its HTTP library wants otherwise.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture
def api(hub):
    api = HfApi(endpoint=hub.endpoint, token=TOKEN)
    api.create_repo(NAME)
    return api


def add(api, **files):
    operations = [CommitOperationAdd(path.replace("__", "."), content) for path, content in files.items()]
    return api.create_commit(NAME, operations, commit_message=" ".join(files)).oid


def status(error):
    return error.value.response.status_code


def test_repositories_are_made_once_and_for_oneself(hub, api):
    assert api.whoami()["name"] == "alice"
    assert api.create_repo(NAME, exist_ok=True).repo_id == NAME
    with pytest.raises(HfHubHTTPError) as error:
        api.create_repo(NAME)
    assert status(error) == 409
    with pytest.raises(HfHubHTTPError) as error:
        api.create_repo("bob/things")
    assert status(error) == 403
    with pytest.raises(HfHubHTTPError) as error:
        api.create_repo("alice/more", token=STRANGER)
    assert status(error) == 401
    api.delete_repo(NAME)
    with pytest.raises(RepositoryNotFoundError):
        api.repo_info(NAME)


def test_commits_branches_and_tags_are_kept(hub, api, tmp_path):
    first = add(api, one__txt=b"1", big__bin=b"0" * 1000)
    api.create_tag(NAME, tag="v1")
    api.create_branch(NAME, branch="next")
    second = add(api, one__txt=b"2")
    api.create_commit(NAME, [CommitOperationDelete("big.bin")], commit_message="less", revision="next")
    refs = api.list_repo_refs(NAME)
    assert {tag.name: tag.target_commit for tag in refs.tags} == {"v1": first}
    assert {branch.name for branch in refs.branches} == {"main", "next"}
    assert [commit.commit_id for commit in api.list_repo_commits(NAME)][:2] == [second, first]
    for revision, content in ((None, "2"), ("v1", "1"), (first, "1"), ("next", "1")):
        path = hf_hub_download(NAME, "one.txt", revision=revision, endpoint=hub.endpoint, cache_dir=tmp_path)
        assert Path(path).read_text() == content
    assert "big.bin" not in api.list_repo_files(NAME, revision="next")
    with pytest.raises(EntryNotFoundError):
        hf_hub_download(NAME, "big.bin", revision="next", endpoint=hub.endpoint, cache_dir=tmp_path)
    with pytest.raises(RevisionNotFoundError):
        api.model_info(NAME, revision="v2")


def test_a_commit_on_another_state_than_the_last_is_refused(api):
    first = add(api, one__txt=b"1")
    add(api, one__txt=b"2")
    operation = [CommitOperationAdd("one.txt", b"3")]
    with pytest.raises(HfHubHTTPError) as error:
        api.create_commit(NAME, operation, commit_message="late", parent_commit=first)
    assert status(error) == 412


def test_files_are_listed_with_sizes_and_read_in_parts(hub, api):
    add(api, **{"data/one__bin": bytes(range(100)), "two__txt": b"two"})
    info = api.model_info(NAME, files_metadata=True)
    sizes = {file.rfilename: (file.size, file.lfs is not None) for file in info.siblings}
    assert sizes["data/one.bin"] == (100, True) and sizes["two.txt"] == (3, False)
    (found,) = api.get_paths_info(NAME, ["data/one.bin"])
    assert found.size == found.lfs.size == 100
    assert {entry.path for entry in api.list_repo_tree(NAME)} == {".gitattributes", "data", "two.txt"}
    files = HfFileSystem(endpoint=hub.endpoint, token=TOKEN)
    assert files.cat_file(f"{NAME}/data/one.bin", start=10, end=15) == bytes(range(10, 15))


def test_strangers_are_told_less_than_other_users(hub, api):
    api.create_repo("alice/secret", private=True)
    for token, expected in ((OTHER, 404), (False, 401), (STRANGER, 401)):
        with pytest.raises(HfHubHTTPError) as error:
            api.model_info("alice/secret", token=token)
        assert status(error) == expected
    with pytest.raises(HfHubHTTPError) as error:
        HfApi(endpoint=hub.endpoint, token=OTHER).upload_file(
            path_or_fileobj=b"", path_in_repo="new.txt", repo_id=NAME, commit_message="not mine"
        )
    assert status(error) == 403


def test_a_client_that_is_told_to_wait_tries_again(hub, api):
    hub.fail("POST", "/preupload/", 429, message="Too many", headers={"Retry-After": "1"}, times=2)
    assert add(api, one__txt=b"1") == hub["model", NAME].resolve("main")
