"""The learner as a Ray actor: a thin shell around ``learner.training.task.Learner``."""

import ray

from learner.training.task import Learner

LearnerActor = ray.remote(max_concurrency=2)(Learner)
"""Two calls at once, so that ``progress`` answers while ``train`` runs."""
