"""Which actors the cluster has found room for."""

import functools
from collections.abc import Callable
from typing import Any

import ray
from ray._private.state import actors as actor_table  # private: ray.util.state wants a dashboard, which is off
from ray.actor import ActorHandle
from ray.exceptions import RayError, RaySystemError

_ANSWER_SECONDS = 3.0
"""Longest wait for an answer from inside the cluster."""


def has_process(actor: ActorHandle) -> bool:
    """Whether the cluster has found room for an actor that has not started yet: its constructor is under way."""
    return _answer(_has_process, actor._actor_id.hex())  # private: a handle says its id publicly only in its repr


def all_have_processes(kind: type) -> bool:
    """Whether the cluster has found room for all actors of this class that this command or its actors started."""
    return _answer(_all_have_processes, ray.get_runtime_context().get_job_id(), kind.__name__)


def _has_process(actor_id: str) -> bool:
    return bool(actor_table(actor_id).get("Pid"))


def _all_have_processes(job_id: str, kind: str) -> bool:
    job = ray.JobID(bytes.fromhex(job_id))
    waiting = actor_table(job_id=job, actor_state_name="PENDING_CREATION")
    return all(actor["Pid"] for actor in waiting.values() if actor["ActorClassName"] == kind)


def _answer(question: Callable[..., bool], *about: str) -> bool:
    """The answer; False where Ray gives none. A driver outside the cluster (``ray://``) asks through a task in it."""
    try:
        return question(*about)
    except RaySystemError:
        asked = _inside(question).remote(*about)
    try:
        return bool(ray.get(asked, timeout=_ANSWER_SECONDS))
    except RayError:
        ray.cancel(asked)
        return False


@functools.cache
def _inside(question: Callable[..., bool]) -> Any:
    """The question as a Ray task, defined once."""
    return ray.remote(num_cpus=0)(question)
