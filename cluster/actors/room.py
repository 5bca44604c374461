"""Which actors the cluster has found room for."""

import ray
from ray._private.state import actors as actor_table
from ray.actor import ActorHandle
from ray.exceptions import RaySystemError


def has_process(actor: ActorHandle) -> bool:
    """Whether the cluster has found room for an actor that has not started yet: its constructor is under way."""
    try:
        return bool(actor_table(actor._actor_id.hex()).get("Pid"))
    except RaySystemError:  # a driver outside the cluster (ray://) cannot know
        return False


def all_have_processes(kind: type) -> bool:
    """Whether it has found room for all actors of this class that this command or its actors have asked for."""
    job = ray.JobID(bytes.fromhex(ray.get_runtime_context().get_job_id()))
    try:
        waiting = actor_table(job_id=job, actor_state_name="PENDING_CREATION")
    except RaySystemError:
        return False
    return all(actor["Pid"] for actor in waiting.values() if actor["ActorClassName"] == kind.__name__)
