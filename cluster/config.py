"""Settings of Ray: where it runs, and the actors of a command."""

import os
import re
from dataclasses import dataclass, field, fields

from cluster.reader import IN_JOB
from cluster.validation import at_least, one_of, require

MODES = ("auto", "local", "existing", "job", "process")
_MAX_TEMP_DIR = 40
"""Ray puts Unix sockets about 65 characters below its temporary directory; their paths may not exceed 107."""


@dataclass
class ClusterConfig:
    """Where Ray runs, and how many actors of what size this command starts there."""

    mode: str = "auto"
    """``local`` starts a Ray of its own on this machine and ends it; ``existing`` joins the cluster at ``address``;
    ``job`` joins the cluster that runs this command as a job; ``auto`` is ``job`` inside a job, else ``local``;
    ``process`` uses no Ray, for commands that can run in one process."""
    address: str = ""
    """``host:port`` of a running cluster's head; for ``existing`` only."""
    working_dir: str = ""
    """Directory of the source code that Ray copies to the workers; for ``existing`` only, empty if it is installed
    there."""
    num_cpus: int = 0
    """CPUs that a local Ray offers; 0 for all of the machine's. ``local`` only."""
    num_gpus: int = -1
    """GPUs that a local Ray offers; -1 for all of the machine's. ``local`` only."""
    object_store_mb: int = 200
    """Shared memory of a local Ray, in MB. ``local`` only."""
    temp_dir: str = ""
    """Ray's temporary directory, at most 40 characters; empty for one of its own that is removed at the end. Ray lets
    all users of the machine write to it, so name one inside a directory that is yours alone. ``local`` only."""
    dashboard: bool = False
    """Whether a local Ray serves its dashboard (0.2 GB of memory more). ``local`` only."""
    metrics_port: int = 0
    """Port for Prometheus on a local Ray, outside 10002 .. 19999; 0 for any free one. ``local`` only."""
    log_to_driver: bool = False
    """Whether actors' output appears in this terminal; Ray's log files have it anyway."""
    check_resources: bool = True
    """Refuse to start actors that do not fit; False where an autoscaler adds nodes on demand."""
    idle_minutes: float = 10.0
    """Minutes without work after which the actors of a stage end, so that others or an autoscaler have their machines;
    they start again when there is work. 0 to keep them."""
    generators: int = 1
    """Actors that play games."""
    generator_cpus: float = 1.0
    generator_gpus: float = 0.0
    generator_memory_mb: int = 0
    """Memory that Ray reserves for each, in MB; 0 for none."""
    generator_labels: dict[str, str] = field(default_factory=dict)
    """Labels of the machines that they may be on, as in ``{role: players}``: ``ray start --labels role=players`` gives
    a machine one. Empty for all machines."""
    evaluators: int = 1
    """Actors that play tournaments."""
    evaluator_cpus: float = 1.0
    evaluator_gpus: float = 0.0
    evaluator_labels: dict[str, str] = field(default_factory=dict)
    """As ``generator_labels``."""
    learners: int = 1
    """Actors that train one network together, each with a part of every batch."""
    learner_cpus: float = 1.0
    learner_gpus: float = 0.0
    learner_labels: dict[str, str] = field(default_factory=dict)
    """As ``generator_labels``."""
    max_attempts: int = 3
    """Tries of a piece of work whose actors die."""
    item_timeout_s: float = 0.0
    """Seconds without an answer after which an actor counts as hung and is replaced; 0 for two minutes. See
    docs/faults.md."""

    @property
    def place(self) -> str:
        """The mode in force: ``auto`` resolved by whether this process runs as a Ray job."""
        return ("job" if IN_JOB in os.environ else "local") if self.mode == "auto" else self.mode

    @property
    def here(self) -> bool:
        """Whether this machine does the work, so that its memory is the limit."""
        return self.place in ("local", "process")

    def __post_init__(self) -> None:
        one_of("cluster", self, MODES, "mode")
        joins = self.mode == "existing"
        given = "given with cluster.mode=existing, for example 10.0.0.1:6379"
        require(bool(self.address) or not joins, "cluster", self, "address", given)
        for key in ("address", "working_dir"):  # else this machine would work for hours in the place of the cluster
            require(joins or not getattr(self, key), "cluster", self, key, "empty unless cluster.mode=existing")
        whole = self.learners == 1 or self.learner_gpus == 0 or self.learner_gpus >= 1
        require(whole, "cluster", self, "learner_gpus", f"0 or at least 1 with cluster.learners={self.learners}")
        for key in ("generator_gpus", "evaluator_gpus", "learner_gpus"):
            gpus = getattr(self, key)
            require(gpus <= 1 or gpus == int(gpus), "cluster", self, key, "a share up to 1, or a whole number of GPUs")
        short = len(self.temp_dir) <= _MAX_TEMP_DIR
        require(short, "cluster", self, "temp_dir", f"at most {_MAX_TEMP_DIR} characters")
        free = 0 <= self.metrics_port < 65536 and not 10002 <= self.metrics_port <= 19999
        require(free, "cluster", self, "metrics_port", "0 or a port outside 10002 .. 19999")
        low = {
            "num_gpus": -1,
            "object_store_mb": 80,
            "generators": 1,
            "evaluators": 1,
            "learners": 1,
            "max_attempts": 1,
        }
        for each in fields(self):
            if isinstance(getattr(self, each.name), int | float):
                at_least("cluster", self, low.get(each.name, 0), each.name)
        for key in ("generator_labels", "evaluator_labels", "learner_labels"):
            plain = all(re.fullmatch(r"[\w./-]+", text) for pair in getattr(self, key).items() for text in pair)
            require(plain, "cluster", self, key, "names of labels, each with one value, of letters, digits, . _ / or -")
