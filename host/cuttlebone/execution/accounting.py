"""Where the time of an attempt went, in parts that add up to it."""

from cuttlebone.commands.scope import JobScope
from cuttlebone.job.job import Accounting, Job
from cuttlebone.sandbox import GuestAccounting


def accounting_of(
    job: Job, scope: JobScope, used: GuestAccounting, *, duration_ms: int
) -> Accounting:
    """Divide `duration_ms`, for which the attempt ran: guest, inference and host add up to it."""
    account = scope.account
    # Rounded down, each: rounded parts could be more than the whole.
    guest_ms = min(int(used.guest_ms), duration_ms)
    infer_ms = min(int(account.infer_s * 1000), duration_ms - guest_ms)
    wait_ms = min(int(account.waited_s * 1000), infer_ms)
    decode_ms = min(int(account.decode_s * 1000), infer_ms - wait_ms)
    prefill_ms = min(int(account.prefill_s * 1000), infer_ms - wait_ms - decode_ms)
    return Accounting(
        queue_ms=_queue_ms(job),
        guest_ms=guest_ms,
        infer_ms=infer_ms,
        infer_wait_ms=wait_ms,
        host_ms=duration_ms - guest_ms - infer_ms,
        steps=scope.budget.steps,
        memory_bytes_peak=used.memory_bytes_peak,
        fuel=used.fuel,
        tokens_cached=account.tokens_cached,
        prefill_ms=prefill_ms,
        decode_ms=decode_ms,
        shared_ms=min(int(account.shared_s * 1000), prefill_ms + decode_ms),
        exact=account.exact,
    )


def _queue_ms(job: Job) -> int:
    if job.started_at is None:
        return 0
    # A host that starts with a clock which was set back has jobs of the future.
    return max(0, round((job.started_at - job.created_at).total_seconds() * 1000))
