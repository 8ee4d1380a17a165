"""Write the benchmark tables and charts of the documents from the JSON files of the commands.

The region of README.md between two comments, docs/benchmarks.md, docs/benchmarks.svg and, if its
measurements are given, docs/cache_size.svg. What is shown is kept in docs/benchmarks.json, from
which ``publish.py`` without files writes the same again.
"""

import argparse
import json
import sys
from pathlib import Path

import cache_size
import common
import published
from details import DETAILS

BEGIN = "<!-- benchmarks: written by bench/publish.py from here -->"
END = "<!-- benchmarks: to here -->"
KEPT = "docs/benchmarks.json"
BENCHMARKS = ("compare", *DETAILS)

# Long lists and texts of one machine that no table shows.
NOT_KEPT = {"objective_per_machine", "violation_per_machine", "certificate", "data", "only"}


def main(arguments=None):
    options = parse_arguments(arguments)
    try:
        runs = read_runs(options.files or [common.REPOSITORY / KEPT])
        wanted = documents(runs)
    except ValueError as error:
        print(f"publish.py: {error}", file=sys.stderr)
        return 2
    stale = {path: text for path, text in wanted.items() if read_or_none(path) != text}
    for path, text in stale.items():
        if options.check:
            print(f"not what the figures give: {path.relative_to(common.REPOSITORY)}")
        else:
            common.write_text(path, text)
    return int(options.check and bool(stale))


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="publish.py", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help=f"what compare.py (the first is shown in README.md) and {', '.join(DETAILS)} wrote "
        f"with --json (default {KEPT})",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit with 1 if a document is not what the files give",
    )
    return parser.parse_args(arguments)


def read_runs(files):
    """All runs in the files; ValueError names a file that does not hold any."""
    runs = []
    for file in files:
        try:
            content = json.loads(Path(file).read_text(encoding="utf-8"))
        except OSError as error:
            raise ValueError(f"{file}: {error.strerror}") from None
        except ValueError as error:
            raise ValueError(f"{file}: not JSON ({error})") from None
        several = isinstance(content, dict) and "runs" in content
        for run in content["runs"] if several else [content]:
            check_run(file, run)
            runs.append({"benchmark": "compare", **run})
    return runs


def check_run(file, run):
    """Refuse what none of the commands wrote."""
    for key, kind in (("machine", dict), ("settings", dict), ("results", list)):
        if not (isinstance(run, dict) and isinstance(run.get(key), kind) and run[key]):
            raise ValueError(f"{file}: no {key!r}, so not what a command wrote with --json")
    if run.get("benchmark", "compare") not in BENCHMARKS:
        raise ValueError(f"{file}: unknown benchmark {run['benchmark']!r}, known: {BENCHMARKS}")


def documents(runs):
    """Path and text of everything that is published."""
    root = common.REPOSITORY
    try:
        texts = {
            "README.md": with_region(read_or_none(root / "README.md") or "", runs),
            "docs/benchmarks.md": published.full_page(runs),
            "docs/benchmarks.svg": published.training_chart(runs),
            KEPT: json.dumps({"runs": [kept(run) for run in runs]}, indent=1) + "\n",
        }
        for run in runs:
            if run["benchmark"] == "cache_size":
                texts["docs/cache_size.svg"] = cache_size.draw(run["results"])
    except KeyError as error:
        raise ValueError(f"a run has no {error}: written by another version?") from None
    return {root / name: text for name, text in texts.items()}


def with_region(readme, runs):
    """README.md with the tables between its two comments."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"README.md needs the lines {BEGIN!r} and {END!r}, in this order")
    return f"{before}{BEGIN}\n\n{published.readme_region(runs)}\n\n{END}{after}"


def kept(value):
    """The run without what is in NOT_KEPT; of an error, its last line."""
    if isinstance(value, list):
        return [kept(one) for one in value]
    if not isinstance(value, dict):
        return value
    slim = {key: kept(one) for key, one in value.items() if key not in NOT_KEPT}
    if slim.get("error"):
        slim["error"] = slim["error"].splitlines()[-1]
    return slim


def read_or_none(path):
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
