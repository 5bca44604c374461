"""Which actors the cluster has found room for."""

import ray
from ray._private.state import actors as actor_table  # private: ray.util.state wants a dashboard, which is off
from ray.actor import ActorHandle


def has_process(actor: ActorHandle) -> bool:
    """Whether the cluster has found room for an actor that has not started yet: its constructor is under way."""
    actor_id = actor._actor_id.hex()  # private: a handle says its id publicly only in its repr
    return bool(actor_table(actor_id).get("Pid"))


def all_have_processes(kind: type) -> bool:
    """Whether the cluster has found room for all actors of this class that this command or its actors started."""
    job = ray.JobID(bytes.fromhex(ray.get_runtime_context().get_job_id()))
    waiting = actor_table(job_id=job, actor_state_name="PENDING_CREATION")
    return all(actor["Pid"] for actor in waiting.values() if actor["ActorClassName"] == kind.__name__)
