"""Metadata routing in scikit-learn's manner, for classes that do not inherit from its own.

scikit-learn asks an estimator's `get_metadata_routing` which metadata (sample weights) its methods
want; users say so with `set_fit_request` and the like.
"""

from __future__ import annotations

import importlib.util
import inspect
from typing import Any

# Methods that may take metadata.
METHODS = ("fit", "partial_fit", "score")


def metadata_of(cls: type[Any], method: str) -> list[str]:
    """Return the parameters of a method besides the samples and their labels."""
    function = getattr(cls, method, None)
    if not inspect.isfunction(function):
        return []
    return [
        one.name
        for one in inspect.signature(function).parameters.values()
        if one.name not in ("self", "X", "y")
        and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]


def requests_of(estimator: Any) -> Any:
    """Return scikit-learn's `MetadataRequest` of an estimator: as set by the user, else empty."""
    from sklearn.utils.metadata_routing import MetadataRequest

    requests = vars(estimator).get("_metadata_request")
    if requests is None:
        requests = MetadataRequest(owner=type(estimator).__name__)
        for method in METHODS:
            for name in metadata_of(type(estimator), method):
                getattr(requests, method).add_request(param=name, alias=None)
    return requests


class RequestSetter:
    """A method `set_{method}_request`, there where scikit-learn is and the method has metadata."""

    def __init__(self, method: str) -> None:
        self.method = method

    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        names = metadata_of(owner, self.method)
        if not names or importlib.util.find_spec("sklearn") is None:
            raise AttributeError(f"{owner.__name__!r} has no metadata to request")
        return self if instance is None else self._setter(instance, names)

    def _setter(self, instance: Any, names: list[str]) -> Any:
        def set_request(**requests: bool | str | None) -> Any:
            """Say which metadata meta-estimators are to pass on; scikit-learn's user guide, 9."""
            from sklearn import get_config

            if not get_config()["enable_metadata_routing"]:
                raise RuntimeError(
                    "This method is only available when metadata routing is enabled. You can "
                    "enable it using sklearn.set_config(enable_metadata_routing=True)."
                )
            unknown = [name for name in requests if name not in names]
            if unknown:
                raise TypeError(f"Unexpected args: {unknown} in {self.method}; allowed: {names}")
            metadata = requests_of(instance)
            for name, alias in requests.items():
                getattr(metadata, self.method).add_request(param=name, alias=alias)
            instance._metadata_request = metadata
            return instance

        set_request.__name__ = f"set_{self.method}_request"
        return set_request
