"""The stub of the extension, written by hand, against what pybind11 says of the extension."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import maxmargin
from maxmargin import _core

STUB = ast.parse((Path(maxmargin.__file__).parent / "_core.pyi").read_text())
# pybind11's words for what it converts, and the stub's.
WORDS = {
    "typing.SupportsInt | typing.SupportsIndex": "int",
    "typing.SupportsFloat | typing.SupportsIndex": "float",
    "typing.Annotated[numpy.typing.ArrayLike, numpy.float64]": "NDArray[np.float64]",
    "typing.Annotated[numpy.typing.ArrayLike, numpy.int64]": "NDArray[np.int64]",
    "typing.Annotated[numpy.typing.ArrayLike, numpy.bool]": "NDArray[np.bool_]",
    "numpy.typing.NDArray[numpy.float64]": "NDArray[np.float64]",
    "numpy.typing.NDArray[numpy.int64]": "NDArray[np.int64]",
    "collections.abc.Sequence": "list",
    "maxmargin._core.": "",
}
# What it says no more of than this, the stub says in full.
VAGUE = {
    "object": "",
    "dict": "dict[",
    "list": "list[",
    "tuple": "tuple[",
    "numpy.ndarray": "NDArray[",
}


def members(scope):
    """The functions and properties of a module or class of the stub, and all its names."""
    functions = {node.name: node for node in scope.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name for node in scope.body if isinstance(node, ast.ClassDef)}
    values = {node.target.id for node in scope.body if isinstance(node, ast.AnnAssign)}
    return functions, {*functions, *classes, *values}


def runtime_definition(text):
    """The definition that the first line of a docstring is."""
    signature = text.partition("\n")[0]
    for word, ours in WORDS.items():
        signature = signature.replace(word, ours)
    return ast.parse(f"def {signature}: ...").body[0]


def parameters(definition):
    """Name, kind, annotation and default (None for none) of every parameter, without self."""
    arguments = definition.args
    positional = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    rows = [
        (a, kind, default)
        for kind, group, of_group in (
            ("positional", positional, defaults),
            ("keyword", arguments.kwonlyargs, arguments.kw_defaults),
        )
        for a, default in zip(group, of_group, strict=True)
    ]
    return [
        (a.arg, kind, a.annotation and ast.unparse(a.annotation), default)
        for a, kind, default in rows
        if a.arg != "self"
    ]


def agrees(annotation, runtime):
    vague = VAGUE.get(runtime)
    return annotation == runtime if vague is None else annotation.startswith(vague)


def same_default(stub, runtime):
    """Whether both have none, the same literal, or the stub `...` for what is no literal."""
    if stub is None or runtime is None:
        return stub is runtime
    try:
        value = ast.literal_eval(runtime)
    except ValueError:
        return ast.unparse(stub) == "..."
    return ast.literal_eval(stub) == value


def compare(name, stub, text):
    runtime = runtime_definition(text)
    mine, theirs = parameters(stub), parameters(runtime)
    assert [row[:2] for row in mine] == [row[:2] for row in theirs], name
    for (parameter, _, annotation, default), (_, _, other, other_default) in zip(
        mine, theirs, strict=True
    ):
        where = f"{name}({parameter})"
        # Signatures do not say of a pointer that it may be None.
        is_none = other_default is not None and ast.unparse(other_default) == "None"
        may_be_none = is_none and annotation == f"{other} | None"
        assert may_be_none or agrees(annotation, other), f"{where}: {annotation}, not {other}"
        assert same_default(default, other_default), where
    returned, other = ast.unparse(stub.returns), ast.unparse(runtime.returns)
    assert agrees(returned, other), f"{name} returns {other}, not {returned}"


def test_names_and_functions_are_the_extensions():
    functions, names = members(STUB)
    public = {name for name in vars(_core) if not name.startswith("__")}
    assert names == {*public, "__version__"}
    for name, stub in functions.items():
        compare(name, stub, getattr(_core, name).__doc__)


@pytest.mark.parametrize("stub", [node for node in STUB.body if isinstance(node, ast.ClassDef)])
def test_classes_are_the_extensions(stub):
    cls = getattr(_core, stub.name)
    if issubclass(cls, Exception):
        assert [base.__name__ for base in cls.__bases__] == [base.id for base in stub.bases]
        return
    functions, names = members(stub)
    public = {name for name in vars(cls) if not name.startswith("_")}
    assert names == {*public, "__init__"}
    for name, definition in functions.items():
        attribute = inspect.getattr_static(cls, name)
        decorators = [ast.unparse(decorator) for decorator in definition.decorator_list]
        assert ("property" in decorators) == isinstance(attribute, property), name
        assert ("staticmethod" in decorators) == isinstance(attribute, staticmethod), name
        if isinstance(attribute, property):
            text = name + attribute.fget.__doc__.replace("arg0", "self")
        else:
            text = attribute.__func__.__doc__
        compare(f"{stub.name}.{name}", definition, text)


def test_a_difference_is_seen():
    text = "f(a: int, *, b: float = 0.5) -> dict"
    compare("f", ast.parse("def f(a: int, *, b: float = 0.5) -> dict[str, int]: ...").body[0], text)
    for other in (
        "def f(a: int, b: float = 0.5) -> dict[str, int]: ...",
        "def f(a: int, *, c: float = 0.5) -> dict[str, int]: ...",
        "def f(a: int, *, b: float) -> dict[str, int]: ...",
        "def f(a: int, *, b: float = 0.25) -> dict[str, int]: ...",
        "def f(a: int, *, b: float = ...) -> dict[str, int]: ...",
        "def f(a: str, *, b: float = 0.5) -> dict[str, int]: ...",
        "def f(a: int, *, b: float = 0.5) -> int: ...",
    ):
        with pytest.raises((AssertionError, ValueError)):
            compare("f", ast.parse(other).body[0], text)
