"""The generator as a Ray actor: a thin shell around ``selfplay.generator.Generator``."""

import ray

from selfplay.generator import Generator

GeneratorActor = ray.remote(Generator)
