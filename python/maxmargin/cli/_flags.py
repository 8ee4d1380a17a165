"""Command lines in LIBSVM's manner: flags of one dash with their values, then files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from maxmargin import _input


@dataclass(frozen=True)
class Flag:
    """A flag, and what its values may be.

    `convert` is given `values` and the words behind the flag, as many as that names, and raises
    ValueError where they will not do. A name in brackets is optional: the last word, or one with a
    dash, is not it.
    """

    name: str
    values: str
    help: str
    convert: Callable[..., Any]


@dataclass(frozen=True)
class LabelFlag(Flag):
    """A flag with a label joined to it, as in -w1: the label is the first of the words."""


@dataclass(frozen=True)
class Given:
    """What a command line gave: the values of its flags, by name, and the files.

    A flag given again overrides; those with a label are all kept, as a list.
    """

    values: dict[str, Any]
    files: list[str]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a flag, or the default."""
        return self.values.get(name, default)


@dataclass(frozen=True)
class FlagCommand:
    """A command with flags; `run` does the work."""

    name: str
    summary: str
    files: str
    n_files: range
    flags: tuple[Flag, ...]
    run: Callable[[Given], None]

    def __call__(self, words: Sequence[str]) -> None:
        if list(words) in (["--help"], ["-help"]):
            print(self.usage())
            return
        self.run(self.parse(words))

    def parse(self, words: Sequence[str]) -> Given:
        """Return what `words` give.

        Raises ValueError if a flag is not known or lacks its values, or there are more or fewer
        files than the command takes, with the usage behind it; or if a value will not do.
        """
        values: dict[str, Any] = {}
        rest = list(words)
        while rest and rest[0].startswith("-") and rest[0] != "-":
            word = rest.pop(0)
            flag, label = self._flag(word)
            n_values = _n_values(flag, rest)
            if len(rest) < n_values:
                raise self._misuse(f"{word} needs {flag.values} behind it")
            given, rest = rest[:n_values], rest[n_values:]
            try:
                value = flag.convert(flag.values, *label, *given)
            except ValueError as error:
                raise ValueError(f"{self.name}: {word}: {error}") from None
            if label:
                values.setdefault(flag.name, []).append(value)
            else:
                values[flag.name] = value
        if len(rest) not in self.n_files:
            stray = [word for word in rest[1:] if word.startswith("-")]
            fault = f"got {len(rest)} files"
            if stray:
                fault = f"{stray[0]} stands behind the file {rest[0]}, and flags must come first"
            raise self._misuse(f"{fault}; expected: [flags] {self.files}")
        return Given(values, rest)

    def _flag(self, word: str) -> tuple[Flag, list[str]]:
        """Return the flag that `word` is, and the label joined to it if it is one for labels."""
        for flag in self.flags:
            if word == flag.name and not isinstance(flag, LabelFlag):
                return flag, []
        for flag in self.flags:
            if word.startswith(flag.name) and isinstance(flag, LabelFlag):
                return flag, [word.removeprefix(flag.name)]
        raise self._misuse(f"there is no flag {word}")

    def _misuse(self, fault: str) -> ValueError:
        return ValueError(f"{self.name}: {fault}\n\n{self.usage()}")

    def usage(self) -> str:
        """Return the text of --help."""
        heads = [
            f"{flag.name}{'i' if isinstance(flag, LabelFlag) else ''} {flag.values}".rstrip()
            for flag in self.flags
        ]
        width = max(map(len, heads))
        lines = [
            f"  {head:{width}}  {flag.help}" for head, flag in zip(heads, self.flags, strict=True)
        ]
        summary = f"{self.summary[0].upper()}{self.summary[1:]}."
        head = f"usage: maxmargin {self.name} [flags] {self.files}\n\n{summary}\n\nflags:"
        return "\n".join([head, *lines])


def _n_values(flag: Flag, rest: Sequence[str]) -> int:
    if flag.values.startswith("["):
        return int(len(rest) > 1 and not rest[0].startswith("-"))
    return len(flag.values.split())


# -- values ----------------------------------------------------------------------------------------


# What a flag's `convert` may be: functions of the name of the value, for messages, and the word.


def real(**limits: float) -> Callable[[str, str], float]:
    """Return a converter to a finite number within the limits of `check_real`."""
    return lambda name, word: _input.check_real(name, _number(float, word), **limits)


def integer(at_least: int) -> Callable[[str, str], int]:
    """Return a converter to an integer that is at least that."""
    return lambda name, word: _input.check_integer(name, _number(int, word), at_least=at_least)


def choice(*allowed: str) -> Callable[[str, str], int]:
    """Return a converter to the place of the word among those allowed."""
    return lambda name, word: allowed.index(_input.check_choice(name, word, allowed))


def on(name: str) -> bool:
    """Return True, the value of a flag that has none behind it."""
    return True


def text(name: str, word: str = "") -> str:
    """Return the word."""
    return word


def _number(kind: type[Any], word: str) -> Any:
    """Return the number that `word` is, else the word itself, for the check to name."""
    try:
        return kind(word)
    except ValueError:
        return word
