"""The model's distribution over next tokens, read as a policy over legal actions (paper 001, equation 3)."""

import numpy as np


def legal_policy(next_token: np.ndarray, legal: np.ndarray) -> np.ndarray:
    """``float32[M, V]``: p(token | h) normalised over the legal actions ``bool[M, V]``.

    Uniform where the model gives them no mass.
    """
    masked = np.where(legal, next_token, 0.0)
    mass = masked.sum(1, keepdims=True)
    least = np.finfo(np.float32).tiny
    return np.where(mass > least, masked / np.maximum(mass, least), legal / legal.sum(1, keepdims=True))


def log_policy(policy: np.ndarray) -> np.ndarray:
    """Logarithms of the probabilities of a policy, finite also where they are 0."""
    return np.log(np.maximum(policy, np.finfo(np.float32).tiny))


def admitted(policy: np.ndarray, above: np.ndarray) -> np.ndarray:
    """``bool[M, V]``: the actions marked ``above`` the threshold, or the most probable one in rows where none is."""
    none = ~above.any(1)
    admitted_actions = above.copy()
    admitted_actions[none, policy[none].argmax(1)] = True
    return admitted_actions


def possible_only(next_token: np.ndarray, possible: np.ndarray) -> np.ndarray:
    """``float32[M, V]``: p(token | h) of the tokens that are ``possible`` (``bool[M, V]``), not normalised.

    Where the model gives them no mass they are equally likely; rows without possible tokens do not change.
    """
    masked = np.where(possible, next_token, np.float32(0.0))
    lost = masked.sum(1) <= 0
    masked[lost] = possible[lost]
    nowhere = ~possible.any(1)
    masked[nowhere] = next_token[nowhere]
    return masked
