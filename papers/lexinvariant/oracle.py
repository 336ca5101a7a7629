"""Predictors that know no key: the best one of a Markov language, by enumerating all keys, and counting.

The language model p' associated with a language p has seen the text through an unknown key π, a permutation of the
alphabet: a cipher symbol x stands for the plain symbol π⁻¹(x). Bayes' rule gives the posterior of the keys

    P(π | x_1 … x_t)  ∝  p(π⁻¹(x_1), …, π⁻¹(x_t))

and with it the prediction p'(x_t+1 | x_1 … x_t) = Σ_π P(π | x_1 … x_t) p(π⁻¹(x_t+1) | π⁻¹(x_t)), which no lexinvariant
model beats on average over keys. Six symbols have 720 keys, so all of this is exact.

Letters: N rows, T symbols of a row, V symbols of the alphabet, K = V! keys.

Source: Lexinvariant Language Models, Theorem 2.1 and section 2.2.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from papers.lexinvariant.characters import MarkovLanguage

LARGEST = 7  # symbols: 5,040 keys
PIECE = 64  # rows at a time: 24 MB for 720 keys and 64 symbols


class Oracle:
    """Exact predictions and posteriors for a Markov language under an unknown key.

    Args:
        language: What is enciphered; at most 7 symbols.

    Raises:
        ValueError: If it has more symbols.
    """

    def __init__(self, language: MarkovLanguage) -> None:
        size = language.num_symbols
        if size > LARGEST:
            raise ValueError(
                f"num_symbols={size}: {math.factorial(size):,} keys are too many to enumerate; use at most {LARGEST}"
            )
        self.language = language
        self.plain_of = np.array(list(itertools.permutations(range(size))))  # π⁻¹: (K, V)
        with np.errstate(divide="ignore"):  # log 0: what the language never says
            initial, transitions = np.log(language.initial), np.log(language.transitions)
        self._first = initial[self.plain_of]  # log p(π⁻¹(x)): (K, V)
        self._next = transitions[self.plain_of[:, :, None], self.plain_of[:, None, :]]  # (K, V, V)

    def posterior(self, texts: np.ndarray) -> np.ndarray:
        """P(π | x_1 … x_t) for every t.

        Args:
            texts: Cipher symbols, 0 … V − 1, (N, T).

        Returns:
            (N, T + 1, K): at place t after t symbols, so that the first is uniform.
        """
        steps = np.concatenate([self._first.T[texts[:, :1]], self._next[:, texts[:, :-1], texts[:, 1:]]
                                .transpose(1, 2, 0)], axis=1)  # fmt: skip
        scores = np.concatenate([np.zeros_like(steps[:, :1]), steps.cumsum(1)], axis=1)
        scores -= scores.max(-1, keepdims=True)
        weights = np.exp(scores)
        return weights / weights.sum(-1, keepdims=True)

    def predictions(self, texts: np.ndarray) -> np.ndarray:
        """p'(x_t = v | x_1 … x_t−1) for every symbol of the texts.

        Args:
            texts: Cipher symbols, (N, T).

        Returns:
            (N, T, V).
        """
        return np.concatenate([self._predictions(piece) for piece in _pieces(texts)])

    def _predictions(self, texts: np.ndarray) -> np.ndarray:
        posterior = self.posterior(texts)[:, :-1]
        found = np.empty((*texts.shape, self.language.num_symbols))
        found[:, 0] = posterior[:, 0] @ np.exp(self._first)
        for last in range(self.language.num_symbols):
            here = texts[:, :-1] == last  # (N, T - 1)
            found[:, 1:][here] = posterior[:, 1:][here] @ np.exp(self._next[:, last])
        return found

    def deciphered(self, texts: np.ndarray) -> np.ndarray:
        """P(π⁻¹(x_t) = v | x_1 … x_t): what each symbol stands for, judged by what has been read with it.

        Args:
            texts: Cipher symbols, (N, T).

        Returns:
            (N, T, V), over plain symbols.
        """
        return np.concatenate([self._deciphered(piece) for piece in _pieces(texts)])

    def _deciphered(self, texts: np.ndarray) -> np.ndarray:
        posterior = self.posterior(texts)[:, 1:]
        stands_for = np.eye(self.language.num_symbols)[self.plain_of]  # (K, V, V): key, cipher, plain
        found = np.empty((*texts.shape, self.language.num_symbols))
        for symbol in range(self.language.num_symbols):
            here = texts == symbol
            found[here] = posterior[here] @ stands_for[:, symbol]
        return found

    def losses(self, texts: np.ndarray) -> np.ndarray:
        """−log p'(x_t | x_1 … x_t−1), (N, T)."""
        chosen = np.take_along_axis(self.predictions(texts), texts[..., None], axis=-1)
        return np.asarray(-np.log(chosen[..., 0]))


def _pieces(texts: np.ndarray) -> list[np.ndarray]:
    return [texts[start : start + PIECE] for start in range(0, len(texts), PIECE)]


def true_losses(language: MarkovLanguage, texts: np.ndarray) -> np.ndarray:
    """−log p(x_t | x_t−1) of the language itself, who needs no key, (N, T)."""
    chosen = language.transitions[texts[:, :-1], texts[:, 1:]]
    return np.asarray(-np.log(np.concatenate([language.initial[texts[:, :1]], chosen], axis=1)))


def counting_losses(texts: np.ndarray, num_symbols: int, prior: float) -> np.ndarray:
    """−log of (n + a) / (t + V a), where n of the t symbols before were the same: all that their order does not tell.

    The least that a lexinvariant model of text should learn.

    Args:
        texts: Symbols, 0 … V − 1, (N, T).
        num_symbols: V.
        prior: a > 0, what each symbol counts before it has been seen.

    Returns:
        (N, T).
    """
    seen = np.stack(
        [(texts[:, :place] == texts[:, place : place + 1]).sum(1) for place in range(texts.shape[1])], axis=1
    )
    return np.asarray(np.log(np.arange(texts.shape[1]) + num_symbols * prior) - np.log(seen + prior))
