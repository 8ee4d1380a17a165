"""The rules of the code base: layers, threads, output, file lengths, version and objects.

Every rule is a function of paths and texts that returns the problems it finds, so that the tests at
the end can show each one a violation.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

import pytest

import maxmargin
from support.repository import ROOT

MAX_LINES = 400
MAX_FILES = 20  # of code in a folder

# A file may include those of its own layer and of the columns before it.
WINGS = {"dual", "linear", "online", "perceptron"}
COLUMNS = [
    {"base"},
    {"simd"},
    {"data"},
    {"kernel", "optim"},
    WINGS | {"model"},
    {"svm"},
    {"bindings", "c", "dropin"},
    {"tests", "example"},
]
LAYERS = {layer: set().union(*COLUMNS[:i]) for i, column in enumerate(COLUMNS) for layer in column}
TOP_LEVEL = {
    *("cpp", "python", "tests", "bench", "docs", ".ci"),
    *("CMakeLists.txt", "CMakePresets.json", "pyproject.toml"),
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"),
    *(".clang-format", ".clang-tidy", ".gitattributes", ".gitignore", ".pre-commit-config.yaml"),
}
THREAD_HOME = "cpp/maxmargin/base/thread_pool.cpp"
THREAD_STARTS = re.compile(
    r"#\s*pragma\s+omp|_Pragma\s*\(|<omp\.h>|\bomp_\w+\s*\(|\bpthread_create\b"
    r"|\bstd::(?:jthread|async)\b|\bstd::thread\b(?!::)|<execution>"
)
OUTPUT_OR_EXIT = re.compile(
    r"\bstd::(?:cout|cerr|clog)\b|<iostream>|\b(?:v?f?printf|f?puts|putchar|perror)\s*\("
    r"|\bstd::print(?:ln)?\b|\b(?:_?exit|_Exit|quick_exit|abort|terminate)\s*\("
)
MACHINE_PATH = re.compile(
    r"(?<![\w./-])(?:/(?:home|root|Users|work|workspace|mnt|tmp)/|[A-Z]:\\)\w"
)
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b")
# Words that stand for one of the field's, or for nothing. (Split, so that this file has none.)
AVOIDED_WORDS = re.compile(
    r"\b(?:te" r"lls?|to" r"ld|be" r"side|de" r"ar|wi" r"shes|look" r"(?:s|ed|ing)? at)\b", re.I
)
COUNTED_LOOP = re.compile(
    r"\bfor\s*\(\s*(?:const\s+)?(?:index_t|std::size_t|std::int\w+|int|long|auto)\s+\w+\s*="
)
# Where an estimator keeps what `fit` finds: others call functions of that file.
MODEL_HOME = "python/maxmargin/_estimator/base.py"
MODEL = re.compile(r"[\w)\]]\._model\b(?! import)|[\"']_model[\"']")
COMMENT = r"//[^\n]*|/\*.*?\*/"
STRING = r'"(?:\\.|[^"\\\n])*"'


# --- the rules ---------------------------------------------------------------------------------


def without_comments(text: str, *, keep_strings: bool) -> str:
    """The C++ code without comments (and without strings), line for line."""

    def replacement(match: re.Match[str]) -> str:
        found = match.group()
        if found.startswith('"'):
            return found if keep_strings else '""'
        return "\n" * found.count("\n")

    return re.sub(f"{COMMENT}|{STRING}", replacement, text, flags=re.DOTALL)


def matches(path: str, text: str, pattern: re.Pattern[str], message: str) -> list[str]:
    lines = enumerate(text.splitlines(), start=1)
    return [f"{path}:{n}: {message}: {line.strip()}" for n, line in lines if pattern.search(line)]


def includes(text: str) -> list[str]:
    """The included names, each with its quotes or angle brackets."""
    code = without_comments(text, keep_strings=True)
    return re.findall(r'^\s*#\s*include\s*(["<][^">]+[">])', code, flags=re.MULTILINE)


def layer_of(path: str) -> str:
    return path.removeprefix("cpp/").removeprefix("maxmargin/").split("/")[0]


def layer_problems(path: str, text: str) -> list[str]:
    layer = layer_of(path)
    if layer not in LAYERS:
        return [f"{path}: {layer} is not a layer"]
    problems = []
    for name in includes(text):
        file = name[1:-1]
        if layer != "bindings" and re.match(r"pybind11/|Python\.h$|numpy/", file):
            problems.append(f"{path}: {file} may be included in cpp/bindings only")
        if name.startswith('"') and layer_of(f"cpp/{file}") not in LAYERS[layer] | {layer}:
            problems.append(f"{path}: {layer} may not include {file}")
        elif name.startswith('"') and not file.startswith(
            ("maxmargin/", "bindings/", "c/", "dropin/", "tests/")
        ):
            problems.append(f"{path}: {file} is not under a prefix of ours")
    return problems


def namespace_problems(path: str, text: str) -> list[str]:
    layer = layer_of(path)
    if layer not in WINGS | {"optim"} or f"namespace maxmargin::{layer} {{" in text:
        return []
    return [f"{path}: not in the namespace maxmargin::{layer}"]


def thread_problems(path: str, text: str) -> list[str]:
    if path == THREAD_HOME or layer_of(path) == "tests":
        return []
    code = without_comments(text, keep_strings=False)
    return matches(path, code, THREAD_STARTS, f"threads start in {THREAD_HOME} only")


def loop_problems(path: str, text: str) -> list[str]:
    """Bindings pass samples on and do nothing with them one by one."""
    if not path.startswith("cpp/bindings/bind_"):
        return []
    code = without_comments(text, keep_strings=False)
    return matches(path, code, COUNTED_LOOP, "a loop over samples belongs in the core")


def output_problems(path: str, text: str) -> list[str]:
    if layer_of(path) == "example":
        return []
    code = without_comments(text, keep_strings=False)
    return matches(path, code, OUTPUT_OR_EXIT, "the core neither prints nor ends the process")


def isa_problems(files: Mapping[str, str]) -> list[str]:
    """An ISA file sees, directly or not, simd, base/types.hpp and headers without code.

    What immintrin.h has is always inlined: no object ever holds a copy of it.
    """
    waiting = [path for path in files if path.startswith("cpp/maxmargin/simd/isa_")]
    seen = set(waiting)
    problems = []
    while waiting:
        path = waiting.pop()
        for name in includes(files[path]):
            included = "cpp/" + name[1:-1]
            if included in files and (
                name.startswith('"maxmargin/simd/') or name == '"maxmargin/base/types.hpp"'
            ):
                if included not in seen:
                    seen.add(included)
                    waiting.append(included)
            elif name not in ("<concepts>", "<cstddef>", "<cstdint>", "<immintrin.h>"):
                problems.append(f"{path}: {name} may not be part of an ISA object")
    return problems


def model_problems(path: str, text: str) -> list[str]:
    if path == MODEL_HOME:
        return []
    return matches(path, text, MODEL, f"the model of an estimator is known to {MODEL_HOME} only")


def length_problems(path: str, text: str) -> list[str]:
    length = text.count("\n")
    return [f"{path}: {length} lines, more than {MAX_LINES}"] if length > MAX_LINES else []


def folder_problems(paths: Iterable[str]) -> list[str]:
    folders = Counter(str(PurePosixPath(path).parent) for path in paths)
    return [f"{folder}: {n} files" for folder, n in folders.items() if n > MAX_FILES]


def text_problems(path: str, text: str) -> list[str]:
    problems = matches(path, text, MACHINE_PATH, "a path of one machine")
    problems += matches(path, text, UNFINISHED, "unfinished")
    if not path.startswith("tests/"):
        problems += matches(path, text, AVOIDED_WORDS, "not a plain word")
    if path.startswith("cpp/") and not text.isascii():
        problems.append(f"{path}: not ASCII")
    return problems


def top_level_problems(paths: Iterable[str]) -> list[str]:
    entries = {path.split("/")[0] for path in paths}
    return [f"{entry}: has no place at the top level" for entry in sorted(entries - TOP_LEVEL)]


# --- the code base -----------------------------------------------------------------------------


def texts(*folders: str, endings: tuple[str, ...]) -> dict[str, str]:
    found = (path for folder in folders for path in sorted((ROOT / folder).rglob("*")))
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in found
        if path.suffix in endings
    }


def cpp_texts() -> dict[str, str]:
    return texts("cpp", endings=(".cpp", ".hpp"))


def tracked_files() -> list[str]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a clone")
    listing = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [path for path in listing.stdout.split("\0") if path and (ROOT / path).exists()]


def assert_none(problems: Iterable[str]) -> None:
    found = list(problems)
    assert not found, "\n" + "\n".join(found)


def test_files_are_found() -> None:
    assert THREAD_HOME in cpp_texts()
    assert {layer_of(path) for path in cpp_texts()} <= set(LAYERS)


@pytest.mark.parametrize(
    "rule", [layer_problems, namespace_problems, loop_problems, thread_problems, output_problems]
)
def test_cpp(rule) -> None:
    assert_none(problem for file in cpp_texts().items() for problem in rule(*file))


def test_isa_files_include_nothing_that_the_linker_could_merge() -> None:
    assert_none(isa_problems(cpp_texts()))


def test_lengths() -> None:
    files = texts("python", "cpp", "tests", "bench", endings=(".py", ".cpp", ".hpp"))
    assert_none(problem for file in files.items() for problem in length_problems(*file))


def test_fitted_state() -> None:
    files = texts("python", endings=(".py",))
    assert_none(problem for file in files.items() for problem in model_problems(*file))


def test_folders() -> None:
    assert_none(folder_problems(texts("python", "cpp", endings=(".py", ".cpp", ".hpp"))))


def test_texts() -> None:
    problems = []
    for path in tracked_files():
        try:
            problems += text_problems(path, (ROOT / path).read_text(encoding="utf-8"))
        except UnicodeDecodeError:  # data, not text
            continue
    assert_none(problems)


def test_top_level() -> None:
    assert_none(top_level_problems(tracked_files()))


def test_version_has_one_home() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (version,) = re.findall(r'^version = "([^"]+)"$', pyproject, re.M)
    assert maxmargin.__version__ == version
    assert maxmargin._core.__version__ == version
    code = texts("python", "cpp", endings=(".py", ".cpp", ".hpp", ".txt"))
    assert [path for path, text in code.items() if f'"{version}"' in text] == []


# --- every rule sees a violation ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "line"),
    [
        ("base", '#include "maxmargin/data/views.hpp"'),
        ("data", '#include "maxmargin/kernel/row_cache.hpp"'),
        ("simd", '#  include "maxmargin/data/views.hpp"'),
        ("kernel", '#include "maxmargin/dual/smo.hpp"'),
        ("linear", '#include "maxmargin/dual/smo.hpp"'),
        ("model", '#include "maxmargin/svm/c_svc.hpp"'),
        ("svm", '#include "bindings/arrays.hpp"'),
        ("svm", '#include "views.hpp"'),
        ("svm", "#include <pybind11/numpy.h>"),
        ("base", "#include <Python.h>"),
        ("newroom", "int x;"),
    ],
)
def test_layer_rule(layer: str, line: str) -> None:
    assert len(layer_problems(f"cpp/maxmargin/{layer}/a.hpp", f"#pragma once\n{line}\n")) == 1


def test_layer_rule_allows_what_is_below_and_what_is_a_comment() -> None:
    below = '#include "maxmargin/kernel/row_cache.hpp"\n// #include "maxmargin/svm/c_svc.hpp"\n'
    assert layer_problems("cpp/maxmargin/dual/a.cpp", below) == []
    assert layer_problems("cpp/bindings/a.cpp", "#include <pybind11/numpy.h>\n") == []


def test_namespace_rule() -> None:
    assert namespace_problems("cpp/maxmargin/dual/a.cpp", "namespace maxmargin::dual {\n}") == []
    assert len(namespace_problems("cpp/maxmargin/dual/a.cpp", "namespace maxmargin {\n}")) == 1
    assert namespace_problems("cpp/maxmargin/svm/a.cpp", "namespace maxmargin {\n}") == []


@pytest.mark.parametrize(
    "line",
    ["#pragma omp parallel for", "  # pragma  omp simd", "#include <omp.h>", "std::thread t(f);",
     "auto x = std::async(f);", "std::jthread t;", "int n = omp_get_max_threads();"],
)  # fmt: skip
def test_thread_rule(line: str) -> None:
    assert len(thread_problems("cpp/maxmargin/dual/a.cpp", f"int x;\n{line}\n")) == 1
    assert thread_problems(THREAD_HOME, line) == []
    assert thread_problems("cpp/maxmargin/dual/a.cpp", f"std::thread::id owner;  // {line}") == []


@pytest.mark.parametrize(
    "line",
    ['std::printf("%d", x);', "std::cout << x;", "#include <iostream>", "exit(1);", "std::abort();",
     'fprintf(stderr, "x");', "puts(x);", "std::terminate();", 'std::println("x");'],
)  # fmt: skip
def test_output_rule(line: str) -> None:
    assert len(output_problems("cpp/maxmargin/base/a.cpp", f"/* fine */\n{line}\n")) == 1
    harmless = f'std::snprintf(text, n, "exit(1)");  // {line}\nassert(x);\nstatic_assert(true);\n'
    assert output_problems("cpp/maxmargin/base/a.cpp", harmless) == []


def test_loop_rule() -> None:
    line = "for (index_t i = 0; i < n; ++i) sum += y[i];"
    assert len(loop_problems("cpp/bindings/bind_svm.cpp", line)) == 1
    assert loop_problems("cpp/maxmargin/svm/a.cpp", line) == []
    assert loop_problems("cpp/bindings/bind_svm.cpp", "for (const Field& f : fields) add(f);") == []


def test_folder_rule() -> None:
    paths = [f"cpp/maxmargin/svm/{i}.cpp" for i in range(MAX_FILES)]
    assert folder_problems(paths) == []
    assert len(folder_problems([*paths, "cpp/maxmargin/svm/one_more.hpp"])) == 1


def test_isa_rule() -> None:
    files = {
        "cpp/maxmargin/simd/isa_one.cpp": '#include "maxmargin/simd/body.hpp"\n',
        "cpp/maxmargin/simd/body.hpp": "#include <cstdint>\n#include <cmath>\n",
        "cpp/maxmargin/simd/dispatch.cpp": "#include <string>\n",
    }
    assert isa_problems(files) == [
        "cpp/maxmargin/simd/body.hpp: <cmath> may not be part of an ISA object"
    ]


def test_model_rule() -> None:
    for line in ("model = self._model\n", "estimator._model = model\n", "vars(self)['_model']\n"):
        assert len(model_problems("python/maxmargin/io.py", line)) == 1
        assert model_problems(MODEL_HOME, line) == []
    assert model_problems("python/maxmargin/io.py", "from maxmargin.svm._model import A\n") == []


def test_length_rule() -> None:
    assert length_problems("a.py", "x\n" * MAX_LINES) == []
    assert len(length_problems("a.py", "x\n" * (MAX_LINES + 1))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "it te" + "lls",
        "'/" + "home/me/x'",
        "open('/" + "tmp/x')",
        "# TO" + "DO later",
        "C:" + "\\data",
    ],
)
def test_text_rule(text: str) -> None:
    assert len(text_problems("docs/a.md", f"one\n{text}\n")) == 1
    assert text_problems("docs/a.md", "../shared/data, python/maxmargin, tests/tmp/x\n") == []
    assert (
        text_problems("cpp/maxmargin/base/a.hpp", "// caf\N{LATIN SMALL LETTER E WITH ACUTE}\n")
        != []
    )


def test_top_level_rule() -> None:
    assert top_level_problems(["cpp/maxmargin/base/a.cpp", "README.md", ".ci/run"]) == []
    assert len(top_level_problems(["scratch.py", "notes/a.md", "cpp/a.cpp"])) == 2
