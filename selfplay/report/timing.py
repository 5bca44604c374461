"""Wall time of a run by stage, from the times in its log."""

from collections.abc import Sequence

from selfplay.report.contents import Logged

STAGES = ("self-play", "training", "tournaments")
_MARKS = {
    "games_total": "self-play",
    "decisions_per_second": "self-play",
    "loss": "training",
    "validation_loss": "training",
}
"""Keys that only this stage logs; all other lines are of tournaments."""
_OTHER_STEPS = {"games_total", "loss", "validation_loss"}
"""Keys of lines whose step is not the iteration."""


def seconds_by_stage(log: Sequence[Logged]) -> dict[int, dict[str, float]]:
    """Iteration -> stage -> seconds of wall time.

    The time between two lines counts for the stage of the second. The loop writes a line with ``iteration`` when an
    iteration begins for the first time, and when a command resumes the run; the time before such a line, as until a
    killed run is resumed, counts for no stage.
    """
    spent: dict[int, dict[str, float]] = {}
    iteration, before = 0, None
    for line in log:
        if "iteration" in line.values:
            iteration = int(line.values["iteration"])
        elif before is not None:
            stage = next((stage for key, stage in _MARKS.items() if key in line.values), "tournaments")
            stages = spent.setdefault(iteration if _OTHER_STEPS & line.values.keys() else line.step, {})
            stages[stage] = stages.get(stage, 0.0) + max(line.time - before, 0.0)
        before = line.time
    return spent
