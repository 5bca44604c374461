"""The evaluator as a Ray actor: a thin shell around ``search.evaluator.Evaluator``."""

import ray

from search.evaluator import Evaluator

EvaluatorActor = ray.remote(Evaluator)
