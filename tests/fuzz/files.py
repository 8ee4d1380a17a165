"""Damaged files of every kind that is read, each in a child process with little memory.

A reader may refuse a file with an error of the kind that its documents name; it may not end the
process, take memory beyond the limit, or hang.
"""

from __future__ import annotations

import contextlib
import io as streams
import os
import pickle
import resource
import signal
import subprocess
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any, BinaryIO

import cases
import numpy as np

from maxmargin import io
from maxmargin.cli import main

EXTRA_BYTES = 256 << 20  # beyond what the process has
SECONDS = 20
FILES_OF_CASE = 100
ROOT = Path(__file__).resolve().parents[2]
TOKENS = (
    *(b"1e308", b"-1e308", b"1e-400", b"nan", b"inf", b"-0", b"0", b"-1", b"2147483648", b""),
    *(b"9223372036854775807", b"4611686018427387904:1", b"1:1", b"0:1", b"\n", b":", b"qid:3"),
    *(b"SV", b"nr_class 2", b"total_sv 0", b"probA 1", b"\x00", b"\xff", b"# x", b"label 1 -1"),
)


def _model(rng: np.random.Generator) -> bytes:
    case = cases.draw(rng, str(rng.choice(cases.OF_LIBSVM)), tame=True)
    if case.params["kernel"] not in cases.NAMED or len(case.X) > 100:
        raise cases.NotApplicable
    with tempfile.TemporaryDirectory() as folder:
        io.save_model(case.fit(), Path(folder) / "model")
        return (Path(folder) / "model").read_bytes()


def _svmlight(rng: np.random.Generator) -> bytes:
    X = rng.normal(size=(5, 4)).round(2) * (rng.random((5, 4)) < 0.6)
    lines = []
    for row in X:
        entries = " ".join(f"{j + 1}:{value:g}" for j, value in enumerate(row) if value)
        lines.append(f"{rng.integers(-1, 3)} {'qid:1 ' * int(rng.random() < 0.5)}{entries}")
    return "\n".join(lines).encode()


def _range(rng: np.random.Generator) -> bytes:
    return b"y\n-1 1\n0 2\n" * int(rng.random() < 0.5) + b"x\n-1 1\n1 -2 3\n2 0 5\n4 1 2\n"


WHOLE = (np.ndarray, np.generic, np.dtype, type, FunctionType, BuiltinFunctionType)


class DamagingPickler(pickle._Pickler):
    """Changes numbers, texts and arrays; not the bytes, which may be any program of pickle's."""

    def __init__(self, file: BinaryIO, rng: np.random.Generator) -> None:
        super().__init__(file, protocol=4)
        self.rng, self.is_inside, self.kept = rng, False, []

    def save(self, thing: Any, *rest: Any) -> None:
        is_whole = isinstance(thing, WHOLE)
        is_leaf = type(thing) in (int, float, bool, str, type(None), np.ndarray)
        if is_leaf and not self.is_inside and self.rng.random() < 0.05:
            others = (None, -1, 2**62, 1e308, float("nan"), "x", [], np.zeros(3), np.zeros((2, 0)))
            if isinstance(thing, np.ndarray) and thing.size:
                others += (thing[1:], thing[::-1], thing.astype(object), thing[..., np.newaxis])
                if thing.dtype.kind in "if":
                    others += (-thing,)
            thing = others[self.rng.integers(0, len(others))]
        outside, self.is_inside = self.is_inside, self.is_inside or is_whole
        super().save(thing, *rest)
        self.is_inside = outside


def _pickles(rng: np.random.Generator) -> list[bytes]:
    case = cases.draw(rng, tame=True)
    if case.params.get("kernel") == "function":
        raise cases.NotApplicable
    model, found = case.fit(), []
    while len(found) < FILES_OF_CASE:
        file = streams.BytesIO()
        with contextlib.suppress(pickle.PicklingError):
            DamagingPickler(file, rng).dump(model)
            found.append(file.getvalue())
    return found


def read_model(data: bytes) -> None:
    model = io.load_model(data)
    if model.n_features_in_ < 1000:
        model.predict(np.zeros((2, model.n_features_in_)))
    model.support_vectors_  # noqa: B018


def read_svmlight(data: bytes) -> None:
    io.load_svmlight(data)
    io.load_svmlight(data, zero_based=True)


def read_range(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "range", Path(folder) / "data"]
        paths[0].write_bytes(data)
        paths[1].write_bytes(b"1 1:2 2:3\n0 1:1 3:2\n")
        silent = streams.StringIO()
        with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            status = main(["svm-scale", "-r", *map(str, paths)])
        assert status in (0, 1, 2), f"exit code {status}"
        assert "Traceback" not in silent.getvalue(), silent.getvalue()


def read_pickle(data: bytes) -> None:
    """Any error is right but one for want of memory."""
    try:
        model = pickle.loads(data)
        if type(model).__module__.startswith("maxmargin"):
            model.predict(np.zeros((2, min(1000, model.n_features_in_))))
    except Exception as error:
        own = any(
            "maxmargin" in frame.filename for frame in traceback.extract_tb(error.__traceback__)
        )
        if isinstance(error, MemoryError) and own:
            raise
        raise ValueError from error


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    for _ in range(int(rng.integers(1, 5))):
        at, end = sorted(rng.integers(0, len(data) + 1, 2).tolist())
        end = min(end, at + 40)
        kind = rng.integers(0, 6)
        if kind == 0:
            data = data[:at] + data[end:]
        elif kind == 1:
            data = data[:at] + data[at:end] * int(rng.integers(2, 4)) + data[end:]
        elif kind == 2 and data:
            at = min(at, len(data) - 1)
            data = data[:at] + bytes([data[at] ^ (1 << int(rng.integers(0, 8)))]) + data[at + 1 :]
        elif kind == 3:
            data = data[:at] + TOKENS[rng.integers(0, len(TOKENS))] + data[at:]
        else:  # a word for another
            words = data.split(b" ")
            words[int(rng.integers(0, len(words)))] = TOKENS[rng.integers(0, len(TOKENS))]
            data = b" ".join(words)
    return data


def _damaging(make: Callable[[np.random.Generator], bytes]) -> Callable[..., list[bytes]]:
    def files(rng: np.random.Generator) -> list[bytes]:
        whole = make(rng)
        return [mutated(whole, rng) for _ in range(FILES_OF_CASE)]

    return files


KINDS: dict[str, tuple[Callable[[np.random.Generator], list[bytes]], Callable[[bytes], None]]] = {
    "model": (_damaging(_model), read_model),
    "svmlight": (_damaging(_svmlight), read_svmlight),
    "range": (_damaging(_range), read_range),
    "pickle": (_pickles, read_pickle),
}


def outcome(kind: str, files: list[bytes]) -> tuple[int, str]:
    """Read files in a child process; return the first at which something is wrong, and what."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        if "san.so" not in os.environ.get("LD_PRELOAD", ""):  # sanitizers reserve terabytes
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + EXTRA_BYTES,) * 2)
        warnings.simplefilter("ignore")
        for data in files:
            signal.alarm(SECONDS)
            os.write(write, b"\0")
            try:
                KINDS[kind][1](data)
            except ValueError:
                continue
            except BaseException:
                os.write(write, traceback.format_exc().encode()[-60000:])
                break
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    text = said.strip(b"\0").decode(errors="replace")
    return said.count(b"\0") - 1, text or (f"ended by {status}" if status else "")


def run(kind: str, seed: int) -> str | None:
    """Damage files of a kind; return the report of a failure, with the smallest bytes found."""
    rng = np.random.default_rng(seed)
    try:
        files = KINDS[kind][0](rng)
    except cases.NotApplicable:
        return None
    place, found = outcome(kind, files)
    if not found:
        return None
    data, last = files[place], found.splitlines()[-1][:30]
    size = 0 if kind == "pickle" else len(data) // 2
    while size:
        parts = (data[:at] + data[at + size :] for at in range(0, len(data), size))
        smaller = next((part for part in parts if last in outcome(kind, [part])[1]), None)
        data, size = (data, size // 2) if smaller is None else (smaller, min(size, len(smaller)))
    return (
        f"{outcome(kind, [data])[1] or found + ', not again alone'}\nimport sys\n"
        "sys.path[:0] = ['tests/fuzz', 'tests']\n"
        f"import files\nfiles.read_{kind}({data!r})\n"
    )


def run_readers(seconds: float, seed: int) -> int:
    """Run the readers of the core under libFuzzer, where that is built."""
    program = ROOT / "build/fuzz/tests/fuzz/maxmargin_fuzz_readers"
    if not program.exists():
        print("skipped: readers, which `cmake --preset fuzz && cmake --build --preset fuzz` builds")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(seed)
        for i in range(32):
            (Path(folder) / f"svmlight{i}").write_bytes(bytes([128 + i]) + _svmlight(rng))
            with contextlib.suppress(cases.NotApplicable):
                (Path(folder) / f"model{i}").write_bytes(bytes([i]) + _model(rng))
        options = [f"-max_total_time={int(seconds)}", f"-seed={seed % 2**31 or 1}"]
        options += ["-rss_limit_mb=512", "-timeout=20", "-print_final_stats=1", "-max_len=4096"]
        run = subprocess.run(
            [program, *options, folder], stderr=subprocess.PIPE, cwd=folder, text=True
        )
        print("readers:", *[line for line in run.stderr.splitlines() if "executed_units" in line])
        if run.returncode:
            print(run.stderr[-6000:])  # libFuzzer prints the bytes, in Base64 too
    return run.returncode
