"""Room for many open files: every call in flight needs one, a program in flight three and more."""

from __future__ import annotations

from contextlib import suppress

ENOUGH = 16384
"""More than the highest ``task_concurrency`` (4096) needs. Not simply the most that is allowed: older programs close
every number up to the limit when they start another."""


def allow_many_open_files() -> None:
    """Raise this process's own limit as far as the system lets it, at most to :data:`ENOUGH`; never lower it.

    Shells start programs with 256 (macOS) or 1024 (Linux) although many more are allowed. Children inherit the limit.
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # macOS may allow less than its hard limit says: the old one stays
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
