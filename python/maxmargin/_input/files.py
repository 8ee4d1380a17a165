"""Reading and writing of whole files. Errors name the path that the caller gave."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, TypeAlias

Path: TypeAlias = str | os.PathLike[str]
Target: TypeAlias = Path | BinaryIO
Source: TypeAlias = Path | BinaryIO | bytes | bytearray | memoryview

# How compressed files begin: their kind, and the module, class and arguments of what reads one.
_COMPRESSED: dict[bytes, tuple[str, str, str, tuple[int, ...]]] = {
    b"\x1f\x8b": ("gzip", "zlib", "decompressobj", (31,)),  # with the header and sums of gzip
    b"BZh": ("bz2", "bz2", "BZ2Decompressor", ()),
    b"\xfd7zXZ\x00": ("lzma", "lzma", "LZMADecompressor", ()),
}
_NOT_ZERO = re.compile(rb"[^\0]")
_BYTES_AT_A_TIME = 1 << 20  # so that what is behind the end of many small files is not copied often


def read_bytes(source: Source) -> bytes:
    """Return what a path, a binary file or a buffer holds, decompressed if it begins like .gz, .bz2
    or .xz.

    Raises ValueError if what is compressed is damaged, ends early, or is followed by something
    else.
    """
    return _decompressed(_bytes_of(source))


def _decompressed(data: bytes) -> bytes:
    for start, (kind, module, name, arguments) in _COMPRESSED.items():
        if data.startswith(start):
            try:
                reader = getattr(importlib.import_module(module), name)
                return b"".join(_parts(data, start, partial(reader, *arguments)))
            except MemoryError:
                raise
            except Exception as error:  # each module has its own kinds
                raise ValueError(f"begins like a file of {kind}, but: {error}") from error
    return data


def _parts(data: bytes, start: bytes, new: Callable[[], Any]) -> Iterator[bytes]:
    """Yield what is in the compressed files of `data`, one behind the other.

    Zeros may follow each, as the formats or their programs allow, and nothing else.
    """
    view, at = memoryview(data), 0
    while at < len(data):
        if not data.startswith(start, at):
            raise ValueError(f"what follows its end, from byte {at} on, does not")
        one = new()
        while not one.eof:
            if at == len(data):
                raise ValueError("it ends early")
            part = view[at : at + _BYTES_AT_A_TIME]
            yield one.decompress(part)
            at += len(part) - len(one.unused_data)
        rest = _NOT_ZERO.search(data, at)
        at = len(data) if rest is None else rest.start()


def _bytes_of(source: Source) -> bytes:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if hasattr(source, "read"):
        data = source.read()
        if not isinstance(data, bytes):
            raise TypeError("the file must be opened in binary mode, 'rb'")
        return data
    with open(os.fspath(source), "rb") as file:
        return file.read()


@contextlib.contextmanager
def naming(source: Source) -> Iterator[None]:
    """Put the name of the file before the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        name = source if isinstance(source, (str, os.PathLike)) else getattr(source, "name", None)
        if not isinstance(name, (str, os.PathLike)):
            raise
        raise ValueError(f"{os.fspath(name)}, {error}") from None


def writing(target: Target) -> contextlib.AbstractContextManager[BinaryIO]:
    """Return a context of the file to write to: one that is open, or as `replacing` makes it."""
    if isinstance(target, (str, os.PathLike)):
        return replacing(target)
    if isinstance(target, io.TextIOBase):
        raise TypeError("the file must be opened in binary mode, 'wb'")
    return contextlib.nullcontext(target)


def check_writable(path: Path) -> None:
    """Raise OSError if `replacing` could not write a file there, as far as is known before."""
    if os.path.isdir(path):
        raise OSError(errno.EISDIR, "is a folder, not a file", os.fspath(path))
    is_device = _is_device(path)
    place = path if is_device else os.path.dirname(os.path.realpath(path))
    if not (is_device or os.path.isdir(place)):  # Windows has its devices in no folder
        raise OSError(errno.ENOENT, "the folder to write to does not exist", os.fspath(path))
    if not os.access(place, os.W_OK):
        raise OSError(errno.EACCES, "no permission to write there", os.fspath(path))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that takes the place of `path` if the body ends well."""
    check_writable(path)
    try:
        if _is_device(path):
            with open(path, "wb") as file:
                yield file
            return
        target = os.path.realpath(path)
        temporary = f"{target}.{secrets.token_hex(4)}.tmp"
        try:
            with open(temporary, "xb") as file:
                yield file
            if os.path.exists(target):
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.remove(temporary)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _is_device(path: Path) -> bool:
    """Return whether `path` is a pipe or a device, which is written to in place."""
    return os.path.exists(path) and not os.path.isfile(path)
