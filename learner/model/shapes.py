"""Numbers of rows for which a CPU has code: oneDNN compiles products and convolutions for every shape and keeps few."""


def few_sizes(count: int) -> int:
    """One of a few sizes that is at least ``count``."""
    step = 8 if count <= 128 else 64 if count <= 1024 else 256
    return -(-count // step) * step
