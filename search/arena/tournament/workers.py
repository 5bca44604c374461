"""Workers that play parts of tournaments: evaluator actors on a Ray cluster, or this process."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cluster.config import ClusterConfig
from cluster.preflight import Request
from cluster.watching.progress import OnProgress
from search.arena.tournament.evaluator import DealsTask, Evaluator
from search.arena.tournament.matches import Matches
from search.arena.tournament.parts import Evaluate

if TYPE_CHECKING:
    from cluster.actors.stages import Stage, Stages

EVALUATE = "evaluators"


@contextmanager
def tournament_workers(cluster: ClusterConfig) -> Iterator[Evaluate]:
    """The workers that ``cluster`` configures, for the ``with`` block.

    Raises:
        UserError: no cluster answers, or its machines have no room for the actors.
    """
    if cluster.place == "process":
        yield Evaluator().evaluate
        return
    from cluster.actors.connection import connect
    from cluster.actors.stages import Stages

    with connect(cluster), Stages(cluster, [evaluators(cluster)]) as stages:
        stages.check()
        yield lambda tasks, on_progress: play_parts(stages, tasks, on_progress)


def evaluators(cluster: ClusterConfig) -> "Stage":
    """The actors that play tournaments."""
    from cluster.actors.stages import Stage

    asked, labels = (cluster.evaluators, cluster.evaluator_cpus, cluster.evaluator_gpus), cluster.evaluator_labels
    return Stage(Request(EVALUATE, *asked, labels=tuple(labels.items())), Evaluator)


def play_parts(
    stages: "Stages", tasks: Iterable[DealsTask], on_progress: OnProgress
) -> Iterator[tuple[DealsTask, Matches | Exception]]:
    """Have evaluators play parts of tournaments; yields in order of completion; see ``Evaluate``."""

    def play(actor: Any, task: DealsTask) -> Any:
        return actor.play.options(name=f"Evaluator.play: {task}").remote(task)

    return stages.run(EVALUATE, tasks, play, on_progress, keep_going=True)
