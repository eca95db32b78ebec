"""What jobs were accepted for, as the stores keep it: once, as long as a job names it."""

from dataclasses import replace

from cuttlebone.job.job import Job
from cuttlebone.store.stores import Stores
from store.stores import claimed, finish, job, key

DOCUMENT = b'{"block":"a"}'
SHA256 = "d" * 64


def of_spec(name: str, sha256: str = SHA256) -> Job:
    return replace(job(name), block_sha256="b" * 64, spec_sha256=sha256)


def insert(stores: Stores, *jobs: Job) -> None:
    for one in jobs:
        stores.jobs.insert(one, waiting_max=9, spec_document=DOCUMENT).result()


def test_a_job_keeps_the_digests_of_what_it_was_accepted_for(stores: Stores) -> None:
    insert(stores, of_spec("a"))
    kept = stores.jobs.get(key("a"))

    assert kept is not None
    assert (kept.block_sha256, kept.spec_sha256) == ("b" * 64, SHA256)
    assert stores.jobs.spec_document(SHA256) == DOCUMENT


def test_a_document_is_kept_until_the_last_job_that_names_it_is_wiped(stores: Stores) -> None:
    insert(stores, of_spec("a"), of_spec("b"))
    for name in ("a", "b"):
        claimed(stores)
        finish(stores, name)

    assert stores.jobs.forget(key("a"))
    assert stores.jobs.spec_document(SHA256) == DOCUMENT
    assert stores.jobs.forget(key("b"))
    assert stores.jobs.spec_document(SHA256) is None


def test_a_request_that_is_repeated_names_nothing_twice(stores: Stores) -> None:
    insert(stores, of_spec("a"), of_spec("a"))
    claimed(stores)
    finish(stores, "a")

    assert stores.jobs.forget(key("a"))
    assert stores.jobs.spec_document(SHA256) is None


def test_jobs_that_have_not_ended_are_counted_by_their_spec(stores: Stores) -> None:
    insert(stores, of_spec("a"), of_spec("b"), of_spec("c", "e" * 64), of_spec("d"))
    stores.jobs.insert(job("old"), waiting_max=9).result()
    claimed(stores)
    finish(stores, "a")
    claimed(stores)

    assert stores.jobs.unfinished_by_spec() == {SHA256: 2, "e" * 64: 1}
