"""The known name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(given: str, known: Iterable[str]) -> str | None:
    """Finds the most similar name; none when all are far. Of equals the last wins, as in Fermi."""
    found, best = None, 0.8
    for name in known:
        likeness = _jaro_winkler(given.lower(), name.lower())
        if likeness > best or (found is not None and likeness == best):
            found, best = name, likeness
    return found


def _jaro_winkler(one: str, other: str) -> float:
    """Measures likeness from 0 to 1; letters that agree at the start count more."""
    likeness = _jaro(one, other)
    if likeness <= 0.7:
        return likeness
    prefix = 0
    while prefix < min(4, len(one), len(other)) and one[prefix] == other[prefix]:
        prefix += 1
    return likeness + 0.1 * prefix * (1.0 - likeness)


def _jaro(one: str, other: str) -> float:
    if not one or not other:
        return 1.0 if one == other else 0.0
    reach = max(max(len(one), len(other)) // 2 - 1, 0)
    taken = [False] * len(other)
    ours = []
    for at, letter in enumerate(one):
        end = at + reach + 1
        there = other.find(letter, max(at - reach, 0), end)
        while there >= 0 and taken[there]:
            there = other.find(letter, there + 1, end)
        if there >= 0:
            taken[there] = True
            ours.append(letter)
    if not ours:
        return 0.0
    theirs = [letter for letter, is_taken in zip(other, taken, strict=True) if is_taken]
    swapped = sum(a != b for a, b in zip(ours, theirs, strict=True)) // 2
    found = len(ours)
    return (found / len(one) + found / len(other) + (found - swapped) / found) / 3.0
