"""One fit of a C-SVC in a child process."""

import numpy as np

import problems
import runners


def run(request, save):
    """One timed fit, and one prediction if asked for; saved after the fit and again at the end."""
    data = problems.load(problems.Problem(**request["problem"]), request["data_folder"])
    runner = runners.new_runner(request, data.X, data.y)
    runners.forget_peak_memory()
    memory_before = runners.memory_mb("VmRSS")
    seconds, _ = runners.timed(runner.fit, request["timeout"])
    peak = runners.memory_mb("VmHWM")
    answer = {
        "n": data.X.shape[0],
        "d": data.X.shape[1],
        "fit_seconds": seconds,
        "peak_memory_mb": peak,
        "fit_memory_mb": peak - memory_before,
        "data_mb": problems.n_bytes(data.X) / 1024**2,
        **runner.info(),
    }
    machines = runner.machines()
    if "model_file" in request:
        machines.save(request["model_file"])
    answer["n_support"] = machines.n_support()
    save(answer)
    if request.get("predict") and data.X_test is not None:
        runner.prepare_predict(data.X_test)
        seconds, labels = runners.timed(runner.predict, request["timeout"])
        answer["predict_seconds"] = seconds
        answer["predict_accuracy"] = float(np.mean(labels == data.y_test))
        save(answer)
