"""What publish.py writes: the region of README.md, docs/benchmarks.md and the charts, as texts.

A run is what one command wrote with ``--json``. Runs of compare.py on one machine with the same
settings and libraries are one group, whose problems are put together.
"""

import textwrap
from dataclasses import dataclass, field

import chart
import children
import report
from details import DETAILS

OURS = "maxmargin_f64"

# heading of the column: (entries of which the best counts, name in the chart or None)
COLUMNS = {
    "maxmargin f64": ((OURS,), "maxmargin float64"),
    "f32": (("maxmargin_f32",), "maxmargin float32"),
    "f64, 1 thread": (("maxmargin_f64_1t",), None),
    "LIBSVM": (("libsvm", "libsvm_1t"), "LIBSVM"),
    "scikit-learn": (("sklearn",), "scikit-learn"),
    "intelex f64": (("intelex_f64",), "intelex float64"),
    "intelex f32": (("intelex_f32",), "intelex float32"),
}
LIBSVM_CALLS = "LIBSVM predicts row by row, on one thread."
RATIO_KEYS = {"peer / ours": "over_fastest", "LIBSVM / ours": "over_libsvm"}
KEY_SETTINGS = ("tol", "C", "gamma", "threads", "cache_mb", "repeats")
PHASE_TITLES = {"fit": "train", "predict": "predict"}


@dataclass
class Group:
    machine: dict
    settings: dict
    commits: list = field(default_factory=list)
    fits: list = field(default_factory=list)
    predictions: list = field(default_factory=list)


def groups(runs):
    """The groups of compare.py's runs, in order; of a problem measured twice the first counts."""
    found = {}
    for run in runs:
        if run["benchmark"] != "compare":
            continue
        machine, settings = run["machine"], run["settings"]
        libraries = list(run["results"][0]["libraries"])
        key = repr(([settings[name] for name in KEY_SETTINGS], identity(machine), libraries))
        group = found.setdefault(key, Group(machine, settings))
        is_used = False
        for result in run["results"]:
            outcomes = result["libraries"].values()
            is_used |= _add(group.fits, result)
            if any(one["predict_seconds"] for one in outcomes):
                is_used |= _add(group.predictions, result)
        if is_used and report.commit_of(machine) not in group.commits:
            group.commits.append(report.commit_of(machine))
    return list(found.values())


def identity(machine):
    """A machine and its software, without date and load."""
    return [machine.get(key) for key in ("cpu", "n_cpus", "versions", "compiler", "active_target")]


def _add(results, result):
    """Append a result unless the problem has one; return whether it was appended."""
    is_new = all(result["problem"]["name"] != one["problem"]["name"] for one in results)
    if is_new:
        results.append(result)
    return is_new


# --- README ------------------------------------------------------------------------------------


def readme_region(runs):
    """Means, chart and machine for README.md: the first group, and the first predictions."""
    found = groups(runs)
    if not found:
        raise ValueError("none of the files is of compare.py, whose seconds README.md shows")
    first = found[0]
    faster = f"Training is {ratios_in_words(first.fits, 'fit')}."
    with_predictions = next((group for group in found if group.predictions), None)
    if with_predictions:
        where = elsewhere(with_predictions, first)
        faster += (
            f" Prediction is {ratios_in_words(with_predictions.predictions, 'predict')}{where}."
        )
    return page(
        [
            f"{faster} These are geometric means over the problems.",
            "![Seconds to train, by library and problem](docs/benchmarks.svg)",
            f"On {place(first.machine)}: {conditions(first.settings)} {agreement(first.fits)}."
            f"{warning(first.machine)} All tables: [docs/benchmarks.md](docs/benchmarks.md).",
        ]
    )


def ratios_in_words(results, phase):
    """How many times the seconds of maxmargin f64 the others need."""
    means = report.summarise(results)[phase].get(OURS, {})
    peer, libsvm = (report.number(means.get(key), "{:.1f}") for key in RATIO_KEYS.values())
    problems = "1 problem" if len(results) == 1 else f"{len(results)} problems"
    return f"{peer} times as fast as the fastest peer on {problems}, and {libsvm} times LIBSVM"


def page(parts):
    """Paragraphs (wrapped), tables and headings with blank lines between."""
    lines = []
    for part in parts:
        is_text = not part.startswith(("|", "#", "!"))
        lines.append(
            textwrap.fill(part, 100, break_long_words=False, break_on_hyphens=False)
            if is_text
            else part
        )
    return "\n\n".join(lines)


def place(machine):
    target = f", {machine['active_target']}" if "active_target" in machine else ""
    return f"{machine['n_cpus']} CPUs of {machine['cpu']}{target}"


def elsewhere(group, first):
    """The settings and the machine of ``group`` where they are not those of ``first``."""
    different = [] if identity(group.machine) == identity(first.machine) else [place(group.machine)]
    if group.settings["tol"] != first.settings["tol"]:
        different.append(f"tol {group.settings['tol']:g}")
    return f" ({', '.join(different)})" if different else ""


def conditions(settings):
    changed = "".join(
        f", {name} = {settings[name]:g} throughout"
        for name in ("C", "gamma")
        if settings[name] is not None
    )
    repeats = settings["repeats"]
    runs = (
        "one run each"
        if repeats == 1
        else f"medians of {repeats} runs (one of a fit over {children.SLOW_SECONDS:g} s)"
    )
    return (
        f"`tol={settings['tol']:g}`, {settings['threads']} threads where a library has them, "
        f"{settings['cache_mb']:,} MB of cache each{changed}; {runs}, in fresh processes "
        "and in turn."
    )


def software(machine, commits=()):
    """Date and versions; of several commits, all."""
    shown = ", ".join(commits or [report.commit_of(machine)])
    return (
        f"Measured {machine.get('date', 'on an unknown date')} at commit "
        f"{shown} (compiler {machine.get('compiler', 'unknown')}): "
        f"{report.versions_of(machine)}, Python {machine['python']}, "
        f"{machine['memory_gb']} GB of memory."
    )


def warning(machine):
    text = report.load_warning(machine)
    return f" **{text}.**" if text else ""


def comparison(results, phase):
    """A row for every problem: the best of every library, ratios, and their geometric means."""
    columns = {
        heading: entries
        for heading, (entries, _) in COLUMNS.items()
        if any(best_of(result, entries, phase) for result in results)
    }
    rows = [("data", "n x d, classes", "C, gamma", *columns, *RATIO_KEYS)]
    if phase == "predict":
        rows[0] = ("data", "test rows x d", "support vectors", *rows[0][3:])
    for result in results:
        outcomes = [best_of(result, entries, phase) for entries in columns.values()]
        ratios = result["ratios"][phase].get(OURS)
        cells = [times(report.ratio(ratios, key)) for key in RATIO_KEYS.values()]
        rows.append((*about(result, phase), *seconds_cells(outcomes, phase, result), *cells))
    means = report.summarise(results)[phase].get(OURS, {})
    cells = [times(report.number(means.get(key), "{:.2f}")) for key in RATIO_KEYS.values()]
    rows.append(("geometric mean", "", "", *("" for _ in columns), *cells))
    return report.markdown(rows, n_left=3)


def times(text):
    return text if text == "-" else text + "x"


def about(result, phase):
    """The first three cells of a row."""
    problem = result["problem"]
    if phase == "predict":
        check = (result["libraries"].get(OURS) or {}).get("check") or {}
        count = report.number(check.get("n_support"), "{:,}")
        return problem["name"], f"{result['n_test']:,} x {result['d']:,}", count
    size = f"{result['n']:,} x {result['d']:,}, {result['n_classes']}"
    return problem["name"], size, f"{problem['C']:,g}, {fraction(problem['gamma'])}"


def fraction(value):
    """0.5 as it is, and 0.00813 as 1/123."""
    inverse = round(1 / value)
    is_inverse = inverse > 1 and abs(value * inverse - 1) < 1e-9
    return f"1/{inverse}" if is_inverse and len(f"{value:g}") > 5 else f"{value:g}"


def best_of(result, entries, phase):
    """The fastest outcome that sets a mark, else one that timed out, else any; None without one."""
    outcomes = [result["libraries"][name] for name in entries if name in result["libraries"]]
    key = f"{phase}_seconds"
    measured = [one for one in outcomes if one[key]]
    marks = [one for one in measured if one["sets_mark"]]
    limited = [one for one in outcomes if report.timed_out(one, phase)]
    if marks:
        return min(marks, key=lambda one: one[key])
    return next(iter(limited + measured), None)


def seconds_cells(outcomes, phase, result):
    """Cells of seconds, the least of those that set a mark in bold."""
    key = f"{phase}_seconds"
    least = min((one[key] for one in outcomes if one and one[key] and one["sets_mark"]), default=0)
    cells = []
    for one in outcomes:
        text = report.seconds_cell(one, phase, result["timeout"]) if one else "-"
        cells.append(f"**{text}**" if one and one[key] == least and one["sets_mark"] else text)
    return cells


def agreement(results):
    """How far the objectives lie apart."""
    outcomes = [one for result in results for one in result["libraries"].values()]
    apart = [one["objective_difference"] for one in outcomes if one["sets_mark"]]
    text = "Every result is recomputed in float64"
    if apart:
        text += f": the dual objectives are within {max(apart):.1g} of the best found"
    return text


def flagged(results):
    """What the mark ! means, and the flags; a timeout is in the table already."""
    outcomes = [one for result in results for one in result["libraries"].values()]
    is_marked = any(one["fit_seconds"] and not one["sets_mark"] for one in outcomes)
    found = [
        f"{result['problem']['name']} {name} ({', '.join(flags)})"
        for result in results
        for name, one in result["libraries"].items()
        if (flags := [flag for flag in one["flags"] if flag != "timeout"])
    ]
    flags = f" Flagged: {'; '.join(found)}." if found else ""
    return (f" ({report.NO_MARK})." if is_marked else ".") + flags


def training_chart(runs):
    """docs/benchmarks.svg: seconds of the first group."""
    group = groups(runs)[0]
    series = []
    for entries, name in COLUMNS.values():
        outcomes = [best_of(result, entries, "fit") for result in group.fits]
        if name and any(outcomes):
            pairs = zip(group.fits, outcomes, strict=True)
            series.append((name, [_dot(result, one) for result, one in pairs]))
    names = [result["problem"]["name"] for result in group.fits]
    title = f"Seconds to train, tol {group.settings['tol']:g}, {place(group.machine)}"
    has_bound = any(dot and dot[1] for _, dots in series for dot in dots)
    axis_title = "seconds" + ("; an arrow: not done by then" if has_bound else "")
    return chart.dot_plot(names, series, axis_title, title)


def _dot(result, outcome):
    is_bound = bool(outcome and outcome["timed_out"])
    if outcome is None or not (outcome["sets_mark"] or is_bound):
        return None
    return (result["timeout"] if is_bound else outcome["fit_seconds"]), is_bound


# --- docs/benchmarks.md --------------------------------------------------------------------------


def full_page(runs):
    """docs/benchmarks.md: all tables of all runs."""
    parts = [
        "# Benchmarks",
        "Written by `python bench/publish.py` from what the commands of `bench/` measured; "
        "[bench/README.md](../bench/README.md) has the rules and the settings.",
    ]
    shown = set()
    for group in groups(runs):
        picture = [] if shown else ["![Seconds to train, by library and problem](benchmarks.svg)"]
        title = settings_title(group.settings)
        where = _measured(group.machine, group.settings, runs[0]["machine"], group.commits)
        fits = {(title, result["problem"]["name"]) for result in group.fits}
        if not fits <= shown:  # a run for the sake of prediction repeats no table
            parts += _training_sections(group, title, [where, *picture])
        if group.predictions:
            parts += _prediction_sections(group, title, where)
        shown |= fits
    begun = set()
    for run in runs:
        if run["benchmark"] in DETAILS:
            detail = DETAILS[run["benchmark"]]
            where = _measured(run["machine"], run["settings"], runs[0]["machine"])
            if detail.title in begun:
                parts.append(where)
            else:
                parts += [f"## {detail.title}", f"{detail.text} {where}", *detail.pictures]
            begun.add(detail.title)
            parts.append(report.markdown(detail.table(run["results"])))
    return page(parts) + "\n"


def _measured(machine, settings, first, commits=()):
    """Settings, and machine and versions where they are not those at the top of the page.

    Of several runs, at several commits, the time limits may differ.
    """
    same = machine is not first and software(machine, commits) == software(first)
    where = "" if same else f" On {place(machine)}. {software(machine, commits)}"
    line = report.settings_line(settings, has_timeout=not commits)
    return f"Settings: {line}.{where}{warning(machine)}"


def settings_title(settings):
    names = ("tol", *(name for name in ("C", "gamma") if settings[name] is not None))
    return ", ".join(f"{name} {settings[name]:g}" for name in names)


def _training_sections(group, title, beginning):
    fits = group.fits
    return [
        f"## Training, {title}",
        *beginning,
        "Seconds; > stands before the limit at which a fit was stopped. Where LIBSVM ran with all "
        "threads and with one, the better counts. The last columns are the seconds of the fastest "
        "peer, and of LIBSVM, over those of maxmargin f64.",
        comparison(fits, "fit"),
        agreement(fits) + flagged(fits),
        *_details(fits, "fit"),
        "### Objectives",
        "Relative to the best found by any library, recomputed in float64.",
        report.markdown(report.rows_of(fits, report.difference)),
        "### KKT violations",
        "Recomputed in float64, on the float64 data also for float32 input.",
        report.markdown(report.rows_of(fits, report.violation)),
        "### Peak memory",
        "MB of the process from the start of the fit, with data and imports.",
        report.markdown(report.rows_of(fits, report.peak_memory)),
    ]


def _prediction_sections(group, title, where):
    table = comparison(group.predictions, "predict")
    text = f"{LIBSVM_CALLS} {where}"
    return [f"## Prediction, {title}", text, table, *_details(group.predictions, "predict")]


def _details(results, phase):
    """Seconds of every entry and the ratios of each of ours."""
    summary = report.summarise(results)
    ratios = report.with_one_heading(report.ratio_rows(results, summary, phase))
    return [
        f"### Every entry, seconds to {PHASE_TITLES[phase]}",
        report.markdown(report.seconds_rows(results, phase)),
        "### Ratios",
        f"{report.RATIOS.capitalize()}.".replace("libsvm", "LIBSVM"),
        report.markdown(ratios),
    ]
