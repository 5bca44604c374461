"""The evaluator as a Ray actor: a thin shell around ``search.tournament.evaluator.Evaluator``."""

import ray

from search.tournament.evaluator import Evaluator

EvaluatorActor = ray.remote(Evaluator)
