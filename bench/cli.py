"""The command-line options that the commands share, and the choice of problems and libraries."""

import argparse
from pathlib import Path

import common
import problems
import runners

MODULE_OF = {
    "liblinear": "liblinear",
    "libsvm": "libsvm",
    "sklearn": "sklearn",
    "intelex": "sklearnex",
    "maxmargin": "maxmargin",
}
MUST_BE_POSITIVE = ("repeats", "tol", "timeout", "threads", "cache_mb", "fits")


def new_parser(program, description, known=tuple(runners.LIBRARIES)):
    """A parser with the options of every command that measures."""
    parser = argparse.ArgumentParser(prog=program, description=description.split("\n\n")[0])
    parser.add_argument(
        "--libraries",
        metavar="NAMES",
        help=f"libraries to run, out of: {', '.join(known)}",
    )
    parser.add_argument("--repeats", type=int, default=3, help="measurements each (default 3)")
    parser.add_argument(
        "--tol", type=float, default=1e-3, help="stopping tolerance of every library (default 1e-3)"
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=common.available_threads(),
        help="threads for those that can use them (default: all CPUs)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=200.0,
        help="seconds for one fit or one prediction (default 200)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="tiny problems, one repeat: shows that everything runs",
    )
    parser.add_argument("--json", metavar="FILE", help="write everything to FILE")
    return parser


def add_problems(parser):
    """The options of commands that run on named problems."""
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        help="folder of npz files; without it, scikit-learn's bundled sets",
    )
    parser.add_argument("--only", metavar="NAMES", help="problems to run, separated by commas")


def add_cache(parser, default):
    parser.add_argument(
        "--cache-mb",
        type=int,
        default=default,
        help=f"kernel cache of every library in MB (default {default})",
    )


def add_cache_sizes(parser, sizes, quick):
    """The option of commands that try several sizes; ``quick`` replaces the default of --quick."""
    shown, shown_quick = (",".join(map(str, values)) for values in (sizes, quick))
    parser.add_argument(
        "--cache-mb",
        type=list_of_sizes,
        metavar="SIZES",
        help=f"kernel caches in MB (default {shown}; with --quick {shown_quick})",
    )
    parser.set_defaults(cache_sizes=(sizes, quick))


def list_of_sizes(text):
    """Rising numbers out of "16,1,4"."""
    return sorted({int(size) for size in text.split(",")})


def parse(parser, arguments, choose=None, known=tuple(runners.LIBRARIES)):
    """Parsed and checked options; ``choose`` is the command's own choice of problems."""
    options = parser.parse_args(arguments)
    if sizes := vars(options).pop("cache_sizes", None):
        options.cache_mb = options.cache_mb or sizes[options.quick]
    for name in MUST_BE_POSITIVE:
        values = getattr(options, name, 1)
        for value in values if isinstance(values, list) else [values]:
            if value <= 0:
                parser.error(f"--{name.replace('_', '-')} must be > 0, got {value}")
    if options.quick:
        options.repeats = 1
    for name in (options.libraries or "").split(","):
        if name and name not in known:
            parser.error(f"unknown library {name!r}, known are: {', '.join(known)}")
    if choose:
        try:
            choose(options)
        except ValueError as error:
            parser.error(str(error))
    return options


def named(options, work):
    """What --only names of the work that a command has to do; else all of it."""
    if not options.only:
        return list(work)
    names, known = options.only.split(","), [one.name for one in work]
    if unknown := set(names) - set(known):
        raise ValueError(f"--only must be out of {', '.join(known)}, got {', '.join(unknown)}")
    return [one for one in work if one.name in names]


def choose_problems(options, in_folder=None, quick=problems.QUICK_NAMES):
    """The problems that --only names out of all; else ``standard_problems``."""
    if not options.only:
        return standard_problems(options, in_folder, quick)
    return with_files(options, map(problems.find_problem, options.only.split(",")))


def standard_problems(options, in_folder=None, quick=problems.QUICK_NAMES):
    """The quick problems, ``in_folder`` of the data folder, or the bundled ones."""
    if options.quick:
        chosen = map(problems.find_problem, quick)
    elif options.data and in_folder:
        chosen = map(problems.find_problem, in_folder)
    elif options.data:
        chosen = (problem for problem in problems.FOLDER_PROBLEMS if not problem.on_request)
    else:
        chosen = problems.BUNDLED_PROBLEMS
    return with_files(options, chosen)


def with_files(options, chosen):
    """The problems in a list, after a check that their data are there."""
    chosen = list(chosen)
    for problem in chosen:
        if not problem.source.startswith("sklearn:"):
            if options.data is None:
                raise ValueError(f"problem {problem.name!r} needs --data FOLDER")
            if not (Path(options.data) / f"{problem.source}.npz").is_file():
                raise ValueError(f"no {problem.source}.npz in {options.data}")
    return chosen


def choose_libraries(options, standard=tuple(runners.LIBRARIES)):
    """The names to run, of those asked for or else ``standard``; says which are not installed."""
    wanted = options.libraries.split(",") if options.libraries else standard
    installed = []
    for name in wanted:
        if common.is_installed(MODULE_OF[name.split("_")[0]]):
            installed.append(name)
        else:
            print(f"not installed, left out: {name}")
    return installed


def exit_code(all_outcomes):
    """1 if a library failed anywhere, else 0."""
    return int(any(one["error"] for outcomes in all_outcomes for one in outcomes.values()))
