"""Ratios, flags and geometric means out of measured results, and their tables."""

import math
import sys

import runners

# A result whose objective is worse than the best found by more than this sets no mark.
OBJECTIVE_TOL = 1e-4

# Our own certificate may differ from the recomputed objective by this much, relative. float32 rows
# round the data, so that it is not the rounding of float64.
CERTIFICATE_TOL = 1e-5

# CPUs at work before the benchmark begins, above which its seconds mean little.
BUSY = 0.1

NO_MARK = f"! objective worse by more than {OBJECTIVE_TOL:g}, or infeasible: sets no mark"
RATIOS = "seconds of the fastest peer, and of LIBSVM, over ours"
QUALITY = "Ours: objective relative to the best found, and KKT violation, recomputed"

PHASES = ("fit", "predict")


def compare_outcomes(result):
    """Add relative objective differences, flags and ratios to the outcomes of one problem."""
    outcomes = result["libraries"]
    objectives = [
        one["check"]["dual_objective"]
        for one in outcomes.values()
        if one["check"] and one["check"]["is_feasible"]
    ]
    best = min(objectives, default=None)
    result["best_objective"] = best
    for one in outcomes.values():
        one["flags"] = []
        one["objective_difference"] = None
        if one["check"] and best is not None:
            difference = (one["check"]["dual_objective"] - best) / max(abs(best), 1e-300)
            one["objective_difference"] = difference
            if difference > OBJECTIVE_TOL:
                one["flags"].append("objective")
        if one["check"] and not one["check"]["is_feasible"]:
            one["flags"].append("infeasible")
        if one["check"] and one["check"].get("certificate_difference", 0) > CERTIFICATE_TOL:
            one["flags"].append("certificate")
        if any(m.get("fell_back_to_sklearn") for m in one["measurements"]):
            one["flags"].append("fell back to scikit-learn")
        if one["timed_out"]:
            one["flags"].append("timeout")
        if one["error"]:
            one["flags"].append("failed")
        is_worse = not {"objective", "infeasible"}.isdisjoint(one["flags"])
        one["sets_mark"] = bool(one["check"]) and not is_worse
    result["ratios"] = {
        phase: {name: ratios(result, name, phase) for name in outcomes if runners.is_ours(name)}
        for phase in PHASES
    }


def ratios(result, ours, phase):
    """Peer seconds over ours: the fastest peer that sets a mark, and LIBSVM.

    LIBSVM is the faster of its two entries (its OpenMP threads slow it down on small problems). If
    none finished before the timeout, the limit enters, as a lower bound of the ratio.
    """
    outcomes = result["libraries"]
    key = f"{phase}_seconds"
    own = outcomes[ours]
    if not own["sets_mark"] or not own[key]:
        return None
    peers = {
        name: one[key]
        for name, one in outcomes.items()
        if not runners.is_ours(name) and one["sets_mark"] and one[key]
    }
    found = {
        "fastest_peer": None,
        "over_fastest": None,
        "over_libsvm": None,
        "libsvm_is_lower_bound": False,
    }
    if peers:
        fastest = min(peers, key=peers.get)
        found["fastest_peer"], found["over_fastest"] = fastest, peers[fastest] / own[key]
    libsvm = [name for name in outcomes if name.startswith("libsvm")]
    seconds = [peers[name] for name in libsvm if name in peers]
    if seconds:
        found["over_libsvm"] = min(seconds) / own[key]
    elif phase == "fit" and any(outcomes[name]["timed_out"] for name in libsvm):
        found["over_libsvm"] = result["timeout"] / own[key]
        found["libsvm_is_lower_bound"] = True
    return found


def summarise(results):
    """Geometric means of the ratios of every variant of ours, over the problems that have them."""
    summary = {}
    for phase in PHASES:
        summary[phase] = {}
        for name in _ours(results):
            lines = [r["ratios"][phase].get(name) for r in results]
            summary[phase][name] = {
                key: _geometric_mean([line[key] for line in lines if line and line[key]])
                for key in ("over_fastest", "over_libsvm")
            }
            worst = [line["over_fastest"] for line in lines if line and line["over_fastest"]]
            summary[phase][name]["least_over_fastest"] = min(worst, default=None)
    return summary


def header(machine, options):
    return "\n".join([*machine_lines(machine), settings_line(vars(options))])


def machine_lines(machine):
    """Machine, versions, compiler, and a warning if other processes were running."""
    lines = [
        f"{machine['cpu']}, {machine['n_cpus']} CPUs, {machine['system']}",
        f"commit {commit_of(machine)}, {versions_of(machine)}",
    ]
    if "compiler" in machine:
        lines.append(f"compiler {machine['compiler']}, target {machine['active_target']}")
    return lines + ([warning] if (warning := load_warning(machine)) else [])


def commit_of(machine):
    return (machine["commit"] or "unknown")[:12] + ("+" if machine["has_local_changes"] else "")


def versions_of(machine):
    return ", ".join(f"{name} {v}" for name, v in machine["versions"].items() if v)


def load_warning(machine):
    """A line if other processes were running when the benchmark began, else ""."""
    busy = machine.get("busy_cpus")
    if busy is None or busy <= BUSY:
        return ""
    return f"BUSY: other processes took {busy:.1f} CPUs, so that these seconds are not to be quoted"


def settings_line(settings, has_timeout=True):
    sizes = settings.get("cache_mb")
    sizes = ", ".join(map(str, sizes)) if isinstance(sizes, list) else sizes
    cache = f"cache {sizes} MB, " if sizes else ""
    return (
        f"tol {settings['tol']:g}, {cache}threads {settings['threads']}, "
        f"repeats {settings['repeats']}"
    ) + (f", timeout {settings['timeout']:g} s" if has_timeout else "")


def progress(text):
    """Show what is running, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def problem_block(result):
    """All that is known about one problem, one line per library."""
    problem = result["problem"]
    title = (
        f"\n{problem['name']}: n = {result['n']:,}, d = {result['d']:,}, "
        f"{result['n_classes']} classes, C = {problem['C']:g}, gamma = {problem['gamma']:.6g}"
    )
    rows = [
        (
            "library",
            "fit s",
            "least",
            "most",
            "predict s",
            "MB",
            "nSV",
            "objective",
            "difference",
            "violation",
            "accuracy",
            "flags",
        )
    ]
    for name, one in result["libraries"].items():
        check = one["check"] or {}
        seconds = [m["fit_seconds"] for m in one["measurements"]]
        rows.append(
            (
                name,
                seconds_of(one, "fit", result["timeout"]),
                number(min(seconds, default=None)),
                number(max(seconds, default=None)),
                seconds_of(one, "predict", result["timeout"]),
                peak_memory(one),
                number(check.get("n_support"), "{:,}"),
                number(check.get("dual_objective"), "{:.8g}"),
                difference(one),
                violation(one),
                number(check.get("accuracy"), "{:.4f}"),
                ", ".join(one["flags"]) or "-",
            )
        )
    return "\n".join([title, *aligned(rows), *errors(result["libraries"])])


def errors(outcomes):
    """A line for every name that failed."""
    return [f"  {name}: {one['error']}" for name, one in outcomes.items() if one["error"]]


def summary_tables(results, summary):
    """Seconds, ratios and quality of all problems, with geometric means."""
    parts = []
    for phase in PHASES:
        shown = [
            r
            for r in results
            if any(seconds_of(one, phase, 0) != "-" for one in r["libraries"].values())
        ]
        if shown:
            parts += [f"\nSeconds to {phase} ({NO_MARK})", *aligned(seconds_rows(shown, phase))]
            if _ours(shown):
                parts.append(f"\n{phase.capitalize()}: {RATIOS}")
                parts += aligned(ratio_rows(shown, summary, phase))
    if _ours(results):
        parts += [f"\n{QUALITY}", *aligned(quality_rows(results))]
    return "\n".join(parts)


def seconds_rows(results, phase):
    rows = [("problem", "n", "d", *map(short_name, results[0]["libraries"]))]
    for r in results:
        count = r["n"] if phase == "fit" else r["n_test"]
        cells = [seconds_cell(one, phase, r["timeout"]) for one in r["libraries"].values()]
        rows.append((r["problem"]["name"], f"{count:,}", f"{r['d']:,}", *cells))
    return rows


def ratio_rows(results, summary, phase):
    ours = _ours(results)
    columns = [(name, key) for name in ours for key in ("over_fastest", "over_libsvm")]
    is_first = [key == "over_fastest" for _, key in columns]
    names = [short_name(name) for name, _ in columns]
    rows = [
        [
            "",
            *(name if first else "" for name, first in zip(names, is_first, strict=True)),
            "fastest",
        ],
        ["problem", *("peer" if first else "LIBSVM" for first in is_first), "peer"],
    ]
    for r in results:
        lines = r["ratios"][phase]
        peers = [line["fastest_peer"] for line in lines.values() if line and line["fastest_peer"]]
        cells = [ratio(lines.get(name), key) for name, key in columns]
        rows.append([r["problem"]["name"], *cells, peers[0] if peers else "-"])
    means = [number(summary[phase][name][key], "{:.2f}") for name, key in columns]
    rows.append(["geometric mean", *means, ""])
    return rows


def quality_rows(results):
    ours, whats = _ours(results), ("difference", "violation")
    rows = [
        ["", *(short_name(name) if what == whats[0] else "" for name in ours for what in whats)],
        ["problem", *(what for _ in ours for what in whats)],
    ]
    for r in results:
        outcomes = [r["libraries"][name] for name in ours]
        cells = [cell for one in outcomes for cell in (difference(one), violation(one))]
        rows.append([r["problem"]["name"], *cells])
    return rows


def rows_of(results, cell):
    """A row for every problem with ``cell`` of every library's outcome."""
    rows = [("problem", *map(short_name, results[0]["libraries"]))]
    return rows + [(r["problem"]["name"], *map(cell, r["libraries"].values())) for r in results]


def difference(outcome):
    return number(outcome["objective_difference"], "{:.1e}")


def violation(outcome):
    return number((outcome["check"] or {}).get("kkt_violation"), "{:.1e}")


def peak_memory(outcome):
    return number(outcome["peak_memory_mb"], "{:,.0f}")


def _ours(results):
    return [name for name in (results[0]["libraries"] if results else ()) if runners.is_ours(name)]


def short_name(name):
    return name.replace("maxmargin_", "ours_")


def _geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def timed_out(outcome, phase):
    return outcome["timed_out"] if phase == "fit" else outcome.get("predict_timed_out", False)


def seconds_of(outcome, phase, timeout):
    seconds = outcome[f"{phase}_seconds"]
    if timed_out(outcome, phase):
        return f"> {timeout:g}"
    return number(seconds, "{:,.0f}" if seconds and seconds >= 1000 else "{:.3g}")


def seconds_cell(outcome, phase, timeout):
    """Seconds, with a mark at those of a result that is worse."""
    is_flagged = outcome[f"{phase}_seconds"] and not outcome["sets_mark"]
    return seconds_of(outcome, phase, timeout) + (" !" if is_flagged else "")


def ratio(line, key):
    if not line or line[key] is None:
        return "-"
    is_bound = key == "over_libsvm" and line["libsvm_is_lower_bound"]
    return f"{'> ' if is_bound else ''}{line[key]:.2f}"


def number(value, form="{:.3g}"):
    return "-" if value is None else form.format(value)


def aligned(rows):
    """Lines with the first column to the left and the others to the right."""
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def markdown(rows, n_left=1):
    """A table in Markdown, with the first ``n_left`` columns to the left and the others right."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * n_left + "---:|" * (len(rows[0]) - n_left))
    return "\n".join(lines)


def with_one_heading(rows):
    """The rows with their two headings joined; a blank in the first repeats what is before it."""
    tops = []
    for top in rows[0]:
        tops.append(top or (tops[-1] if tops else ""))
    joined = [f"{top} {below}".strip() for top, below in zip(tops, rows[1], strict=True)]
    return [joined, *rows[2:]]
