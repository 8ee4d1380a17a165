"""Parameters of what has parameters itself, under names with two underscores: `kernel__gamma`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maxmargin._estimator.wording import shown


def with_nested(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters and, after them, those of every value that has some."""
    nested = {
        f"{name}__{key}": value
        for name, owner in params.items()
        if hasattr(owner, "get_params") and not isinstance(owner, type)
        for key, value in owner.get_params().items()
    }
    return {**params, **nested}


def changed_params(
    current: Mapping[str, Any], changes: Mapping[str, Any], owner: str
) -> dict[str, Any]:
    """Return the new values of the parameters that `changes` names, itself or inside of them.

    Raises ValueError if there is no parameter of that name.
    """
    plain: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = {}
    for name, value in changes.items():
        head, _, rest = name.partition("__")
        if head not in current:
            raise ValueError(
                f"Invalid parameter {name!r} for {owner}. Valid parameters are: {[*current]!r}."
            )
        if rest:
            nested.setdefault(head, {})[rest] = value
        else:
            plain[head] = value
    for head, inner in nested.items():
        plain[head] = _with_inner(head, plain.get(head, current[head]), inner, owner)
    return plain


def _with_inner(name: str, value: Any, changes: dict[str, Any], owner: str) -> Any:
    if hasattr(value, "with_params"):  # a kernel, which is immutable
        return value.with_params(**changes)
    if hasattr(value, "set_params"):
        return value.set_params(**changes)
    raise ValueError(
        f"Invalid parameter {name}__{next(iter(changes))} for {owner}: {name}={shown(value)} has "
        "no parameters of its own."
    )
