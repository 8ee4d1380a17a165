"""Ratios, flags and geometric means out of measured results, and their tables."""

import math
import sys

import runners

# A result whose objective is worse than the best found by more than this sets no mark.
OBJECTIVE_TOL = 1e-4

# Our own certificate may differ from the recomputed objective by this much, relative. float32 rows
# round the data, so that it is not the rounding of float64.
CERTIFICATE_TOL = 1e-5

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
    versions = ", ".join(f"{name} {v}" for name, v in machine["versions"].items() if v)
    commit = (machine["commit"] or "unknown")[:12] + ("+" if machine["has_local_changes"] else "")
    lines = [
        f"{machine['cpu']}, {machine['n_cpus']} CPUs, {machine['system']}",
        f"commit {commit}, {versions}",
    ]
    if "compiler" in machine:
        lines.append(f"compiler {machine['compiler']}, target {machine['active_target']}")
    if machine["load_average"] and machine["load_average"][0] > 0.3:
        lines.append(
            f"LOAD {machine['load_average'][0]:.1f}: other processes are running, so that these "
            "seconds are not fit to be quoted"
        )
    lines.append(
        f"tol {options.tol:g}, cache {options.cache_mb} MB, threads {options.threads}, "
        f"repeats {options.repeats}, timeout {options.timeout:g} s"
    )
    return "\n".join(lines)


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
                _seconds(one, "fit", result["timeout"]),
                _number(min(seconds, default=None)),
                _number(max(seconds, default=None)),
                _seconds(one, "predict", result["timeout"]),
                _number(one["peak_memory_mb"], "{:.0f}"),
                _number(check.get("n_support"), "{:,}"),
                _number(check.get("dual_objective"), "{:.8g}"),
                _number(one["objective_difference"], "{:.1e}"),
                _number(check.get("kkt_violation"), "{:.1e}"),
                _number(check.get("accuracy"), "{:.4f}"),
                ", ".join(one["flags"]) or "-",
            )
        )
    errors = [
        f"  {name}: {one['error']}" for name, one in result["libraries"].items() if one["error"]
    ]
    return "\n".join([title, *_aligned(rows), *errors])


def summary_tables(results, summary):
    """Seconds, ratios and quality of all problems, with geometric means."""
    parts = []
    for phase in PHASES:
        shown = [
            r
            for r in results
            if any(_seconds(one, phase, 0) != "-" for one in r["libraries"].values())
        ]
        if shown:
            parts.append(_seconds_table(shown, phase))
            if _ours(shown):
                parts.append(_ratio_table(shown, summary, phase))
    if _ours(results):
        parts.append(_quality_table(results))
    return "\n".join(parts)


def _seconds_table(results, phase):
    rows = [("problem", "n", "d", *map(_short, results[0]["libraries"]))]
    for r in results:
        count = r["n"] if phase == "fit" else r["n_test"]
        cells = []
        for one in r["libraries"].values():
            is_flagged = one[f"{phase}_seconds"] and not one["sets_mark"]
            cells.append(_seconds(one, phase, r["timeout"]) + (" !" if is_flagged else ""))
        rows.append((r["problem"]["name"], f"{count:,}", f"{r['d']:,}", *cells))
    note = f"objective worse by more than {OBJECTIVE_TOL:g}, or infeasible: sets no mark"
    return "\n".join([f"\nSeconds to {phase} (! {note})", *_aligned(rows)])


def _ratio_table(results, summary, phase):
    ours = _ours(results)
    columns = [(name, key) for name in ours for key in ("over_fastest", "over_libsvm")]
    is_first = [key == "over_fastest" for _, key in columns]
    names = [_short(name) for name, _ in columns]
    rows = [
        ["", *(name if first else "" for name, first in zip(names, is_first, strict=True)), ""],
        ["problem", *("peer" if first else "LIBSVM" for first in is_first), "fastest peer"],
    ]
    for r in results:
        lines = r["ratios"][phase]
        peers = [line["fastest_peer"] for line in lines.values() if line and line["fastest_peer"]]
        cells = [_ratio(lines.get(name), key) for name, key in columns]
        rows.append([r["problem"]["name"], *cells, peers[0] if peers else "-"])
    means = [_number(summary[phase][name][key], "{:.2f}") for name, key in columns]
    rows.append(["geometric mean", *means, ""])
    title = f"\n{phase.capitalize()}: seconds of the fastest peer, and of LIBSVM, over ours"
    return "\n".join([title, *_aligned(rows)])


def _quality_table(results):
    ours = _ours(results)
    whats = ("difference", "violation")
    rows = [
        ["", *(_short(name) if what == whats[0] else "" for name in ours for what in whats)],
        ["problem", *(what for _ in ours for what in whats)],
    ]
    for r in results:
        cells = []
        for name in ours:
            one = r["libraries"][name]
            cells.append(_number(one["objective_difference"], "{:.1e}"))
            cells.append(_number((one["check"] or {}).get("kkt_violation"), "{:.1e}"))
        rows.append([r["problem"]["name"], *cells])
    title = "\nOurs: objective relative to the best found, and KKT violation, recomputed"
    return "\n".join([title, *_aligned(rows)])


def _ours(results):
    return [name for name in (results[0]["libraries"] if results else ()) if runners.is_ours(name)]


def _short(name):
    return name.replace("maxmargin_", "ours_")


def _geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def _seconds(outcome, phase, timeout):
    timed_out = outcome["timed_out"] if phase == "fit" else outcome.get("predict_timed_out")
    return f">{timeout:g}" if timed_out else _number(outcome[f"{phase}_seconds"])


def _ratio(line, key):
    if not line or line[key] is None:
        return "-"
    is_bound = key == "over_libsvm" and line["libsvm_is_lower_bound"]
    return f"{'>' if is_bound else ''}{line[key]:.2f}"


def _number(value, form="{:.3g}"):
    return "-" if value is None else form.format(value)


def _aligned(rows):
    """Lines with the first column to the left and the others to the right."""
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
