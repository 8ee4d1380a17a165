"""Subgradient training against its definition, scikit-learn, the exact optimum and hard inputs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from maxmargin import SVC, ConvergenceWarning, Perceptron, SGDClassifier
from oracles.online import multiclass_perceptron, noisy, objective, step_of, subgradient
from oracles.perceptron import FORMS, integers, perceptron, quiet_fit
from oracles.problems import rng


def fit(X, y, sample_weight=None, **parameters):
    parameters = {"shuffle": False, "tol": None, "max_iter": 4, **parameters}
    return quiet_fit(SGDClassifier(**parameters), X, y, sample_weight=sample_weight)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", ["hinge", "perceptron"])
def test_without_a_margin_and_a_penalty_it_is_the_perceptron(form, loss):
    X, y = integers(60, 7)
    parameters = {"penalty": None, "learning_rate": "constant", "eta0": 1.0, "max_iter": 9}
    if loss == "hinge":
        model = fit(FORMS[form](X), y, loss=loss, **parameters)
        w, b, *_, mistakes = subgradient(X, 2 * y - 1, 9)
    else:
        model = fit(FORMS[form](X), y, loss=loss, **parameters)
        w, b, mistakes = perceptron(X, 2 * y - 1, 9)
        same = quiet_fit(Perceptron(max_iter=9), FORMS[form](X), y)
        assert same.coef_.tobytes() == model.coef_.tobytes()
        assert same.intercept_.tobytes() == model.intercept_.tobytes()
    assert model.mistakes_per_pass_[0].tolist() == mistakes
    np.testing.assert_array_equal(model.coef_, [w])
    np.testing.assert_array_equal(model.intercept_, [b])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "perceptron"])
@pytest.mark.parametrize("rate", ["optimal", "pegasos", "constant", "invscaling"])
@pytest.mark.parametrize(
    ("penalty", "l2", "l1"), [(None, 0, 0), ("l2", 1, 0), ("l1", 0, 1), ("elasticnet", 0.7, 0.3)]
)
@pytest.mark.parametrize("batch_size", [1, 7, "all"])
def test_equals_the_definition(loss, rate, penalty, l2, l1, batch_size):
    X, y = noisy()
    alpha, weight = 0.05, rng(3).integers(0, 3, len(y)).astype(float)
    model = fit(
        X,
        y,
        sample_weight=weight,
        loss=loss,
        learning_rate=rate,
        penalty=penalty,
        alpha=alpha,
        l1_ratio=0.3,
        batch_size=batch_size,
        eta0=0.03,
        power_t=0.3,
    )
    w, b, *_, mistakes = subgradient(
        X,
        2 * y - 1,
        4,
        loss=loss,
        l2=alpha * l2,
        l1=alpha * l1,
        step=step_of(rate, alpha, 0.03, 0.3, loss),
        batch_size=len(y) if batch_size == "all" else batch_size,
        weight=weight,
    )
    assert model.mistakes_per_pass_[0].tolist() == mistakes
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(model.intercept_[0], b, rtol=1e-9, atol=1e-11)
    expected = objective(X, 2 * y - 1, w, b, loss=loss, l2=alpha * l2, l1=alpha * l1, weight=weight)
    np.testing.assert_allclose(model.objective_, [expected], rtol=1e-9)


@pytest.mark.parametrize(
    ("penalty", "l2", "l1"), [(None, 0, 0), ("l2", 1, 0), ("l1", 0, 1), ("elasticnet", 0.7, 0.3)]
)
@pytest.mark.parametrize("average", [True, 20, 10**6])
@pytest.mark.parametrize("form", ["float64", "csr"])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_averages_are_means_over_the_steps(penalty, l2, l1, average, form, batch_size):
    X, y = noisy(density=0.4)
    alpha = 0.05
    model = fit(
        FORMS[form](X),
        y,
        penalty=penalty,
        alpha=alpha,
        l1_ratio=0.3,
        average=average,
        learning_rate="pegasos",
        batch_size=batch_size,
    )
    w, b, mean_w, mean_b, _ = subgradient(
        X,
        2 * y - 1,
        4,
        l2=alpha * l2,
        l1=alpha * l1,
        step=step_of("pegasos", alpha, 0, 0),
        batch_size=batch_size,
        average_from=int(average),
    )
    never = average == 10**6
    np.testing.assert_allclose(model.coef_[0], w if never else mean_w, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(model.intercept_[0], b if never else mean_b, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("form", ["float64", "csr"])
def test_the_average_counts_weights_after_the_charges_they_have_met(form):
    # After the steps w is (.9, 0), (.9, -.8), (.9, -.7), (.9, -.6): the second weight pays for both
    # of the first steps in the second, and the first, whose feature is not met again, at the end.
    X, y = FORMS[form](np.array([[1.0, 0], [0, 1], [0, 1], [0, 1]])), [1, -1, -1, -1]
    parameters = {"penalty": "l1", "alpha": 0.1, "fit_intercept": False, "max_iter": 1}
    last = quiet_fit(Perceptron(margin=0.1, **parameters), X, y)
    np.testing.assert_allclose(last.coef_, [[0.6, -0.6]], rtol=1e-12)
    model = quiet_fit(Perceptron(margin=0.1, average=True, **parameters), X, y)
    np.testing.assert_allclose(model.coef_, [[0.9, -0.525]], rtol=1e-12)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_sparse_rows_equal_dense_ones(penalty):
    X, y = noisy(200, 40, density=0.1)
    parameters = {"penalty": penalty, "alpha": 0.01, "shuffle": True, "random_state": 0}
    dense = fit(X, y, **parameters)
    for form in ("csr", "csr int64"):
        sparse = fit(FORMS[form](X), y, **parameters)
        np.testing.assert_array_equal(sparse.mistakes_per_pass_[0], dense.mistakes_per_pass_[0])
        np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(sparse.coef_ == 0, dense.coef_ == 0)
    if penalty == "l1":
        assert 0 < (dense.coef_ == 0).sum() < 40


@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet"])
@pytest.mark.parametrize(
    ("loss", "rate"),
    [
        ("hinge", "optimal"),
        ("hinge", "invscaling"),
        ("squared_hinge", "constant"),  # with longer steps it diverges, up to scikit-learn's clip
        ("perceptron", "optimal"),
        ("perceptron", "constant"),
    ],
)
def test_equals_scikit_learn_where_the_rules_coincide(penalty, loss, rate):
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = noisy(80, 5)
    weight = rng(4).uniform(0.5, 2, len(y))
    parameters = {
        "loss": loss,
        "penalty": penalty,
        "alpha": 0.01,
        "l1_ratio": 0.4,
        "learning_rate": rate,
        "eta0": 0.05,
        "power_t": 0.25,
        "max_iter": 5,
        "tol": None,
        "shuffle": False,
        "class_weight": {0: 0.5, 1: 2.0},
    }
    theirs = linear_model.SGDClassifier(**parameters).fit(X, y, sample_weight=weight)
    ours = quiet_fit(SGDClassifier(**parameters), X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "perceptron"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("tol", [1e-3, 0.03, None])
def test_adaptive_steps_are_scikit_learns(loss, n_classes, tol):
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = noisy(120, 5)
    y = y + (n_classes - 2) * (X[:, 1] > 0.5)
    parameters = {
        **{"loss": loss, "penalty": None, "learning_rate": "adaptive", "eta0": 0.05, "tol": tol},
        **{"n_iter_no_change": 2, "shuffle": False, "max_iter": 30 if tol is None else 500},
    }
    theirs = quiet_fit(linear_model.SGDClassifier(**parameters), X, y)
    ours = quiet_fit(SGDClassifier(**parameters), X, y)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.converged_ == (tol is not None)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-11)


def test_adaptive_steps_come_near_the_optimum_and_begin_anew_in_every_fit():
    X, y = noisy(200, 4)
    parameters = {"alpha": 0.01, "learning_rate": "adaptive", "eta0": 0.5, "random_state": 0}
    model = SGDClassifier(**parameters, tol=1e-4).fit(X, y)
    assert model.converged_
    exact = SVC(kernel="linear", C=1 / (0.01 * len(y)), tol=1e-8).fit(X, y)
    optimum = 0.01 * exact.certificate_.primal_objective
    assert model.objective_[0] == pytest.approx(optimum, rel=1e-3)
    constant = {**parameters, "learning_rate": "constant"}
    assert fit(X, y, max_iter=50, **constant).objective_[0] > 1.02 * optimum
    # A pass of eta0 again, whatever the steps of the fit before were.
    before = model.coef_[0], model.intercept_[0]
    model.set_params(shuffle=False, batch_size="all").partial_fit(X, y)
    signs = 2 * y - 1
    wrong = signs * (X @ before[0] + before[1]) <= 1
    moved = (1 - 0.5 * 0.01) * before[0] + 0.5 * (wrong * signs) @ X / len(y)
    np.testing.assert_allclose(model.coef_[0], moved, rtol=1e-9)


def test_verbose_tells_what_tol_is_applied_to(capsys):
    X, y = noisy(120, 5)
    parameters = {"verbose": 1, "learning_rate": "constant", "eta0": 1e-12, "penalty": None}
    model = fit(X, y, **parameters, max_iter=2)
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"iteration 2  objective 1  \d+\.\d s\n", err)  # every loss is 1
    model.partial_fit(X, y).set_params(verbose=0).partial_fit(X, y)
    assert re.fullmatch(r"iteration 1  objective 1  \S+ s\n", capsys.readouterr().err)
    X = np.hstack([X, 100.0 * (2 * y - 1)[:, None]])  # which gives the class away
    fit(X, y, **parameters, early_stopping=True)
    assert re.fullmatch(r"iteration 4  validation error 0  \S+ s\n", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("loss", "parameters"),
    [
        ("hinge", {"learning_rate": "pegasos"}),
        ("hinge", {"learning_rate": "pegasos", "batch_size": 5}),
        ("squared_hinge", {"learning_rate": "invscaling", "eta0": 0.05, "power_t": 0.6}),
    ],
)
def test_the_average_comes_near_the_optimum(loss, parameters):
    X, y = noisy(400, 5)
    alpha = 0.01
    exact = SVC(kernel="linear", C=1 / (alpha * len(y)), tol=1e-6, loss=loss).fit(X, y)
    optimum = objective(X, 2 * y - 1, exact.coef_[0], exact.intercept_[0], loss=loss, l2=alpha)
    model = SGDClassifier(
        loss, alpha=alpha, average=20000, max_iter=300, tol=None, random_state=0, **parameters
    ).fit(X, y)
    assert optimum * (1 - 1e-6) <= model.objective_[0] <= optimum * 1.01


@pytest.mark.parametrize("form", FORMS)
def test_the_multi_class_perceptron_equals_its_definition(form):
    X, _ = integers(70, 5)
    y = np.arange(70) % 4
    for margin in (0.0, 3.0):
        W, b, mistakes = multiclass_perceptron(X, y, 4, 6, margin)
        model = quiet_fit(
            Perceptron(multi_class="crammer_singer", max_iter=6, margin=margin), FORMS[form](X), y
        )
        np.testing.assert_array_equal(model.coef_, W)
        np.testing.assert_array_equal(model.intercept_, b)
        assert [one.tolist() for one in model.mistakes_per_pass_] == [mistakes]
    two = quiet_fit(Perceptron(multi_class="crammer_singer", max_iter=6), X, y % 2)
    np.testing.assert_array_equal(two.coef_, quiet_fit(Perceptron(max_iter=6), X, y % 2).coef_)


def test_several_classes_are_one_problem_each_or_one_for_all():
    X = rng(0).normal(size=(90, 4)) + 2 * np.eye(4)[np.arange(90) % 3]
    y = np.arange(90) % 3
    ovr = fit(X, y, alpha=0.01)
    for k in range(3):
        alone = fit(X, (y == k).astype(int), alpha=0.01)
        np.testing.assert_array_equal(ovr.coef_[k], alone.coef_[0])
        assert ovr.objective_[k] == alone.objective_[0]
    together = fit(X, y, alpha=0.01, multi_class="crammer_singer", max_iter=50)
    f = X @ together.coef_.T + together.intercept_
    others = np.where(np.arange(3) == y[:, None], -np.inf, f).max(axis=1)
    losses = np.maximum(0, 1 - (f[np.arange(90), y] - others))
    expected = 0.01 / 2 * np.square(together.coef_).sum() + losses.mean()
    np.testing.assert_allclose(together.objective_, [expected], rtol=1e-12)
    assert together.score(X, y) > 0.8


def test_tol_ends_training_and_a_warning_says_when_it_did_not():
    X, y = noisy(200, 4)
    model = SGDClassifier(random_state=0).fit(X, y)
    assert model.converged_
    assert model.n_iter_ < 1000
    with pytest.warns(ConvergenceWarning, match="in the last of 2 passes"):
        model = SGDClassifier(random_state=0, max_iter=2).fit(X, y)
    assert not model.converged_


def test_early_stopping_follows_the_samples_set_aside():
    X, y = noisy(300, 4)
    for estimator in (SGDClassifier, Perceptron):
        model = estimator(
            early_stopping=True, n_iter_no_change=2, random_state=0, validation_fraction=0.3
        )
        model = quiet_fit(model, X, y)
        assert 3 <= model.n_iter_ < 1000
        again = quiet_fit(estimator(**model.get_params()), X, y)
        assert again.coef_.tobytes() == model.coef_.tobytes()
        with pytest.raises(ValueError, match="early_stopping must be False"):
            model.partial_fit(X, y)
    # 210 of 300 samples are read, by class 30 % of each being set aside.
    one_pass = quiet_fit(
        SGDClassifier(
            early_stopping=True,
            max_iter=1,
            random_state=0,
            validation_fraction=0.3,
            penalty=None,
            learning_rate="constant",
            eta0=1e-9,
        ),
        X,
        y,
    )
    expected = sum(np.count_nonzero(y == k) * 0.7 for k in (0, 1))
    assert abs(one_pass.n_mistakes_[0] - expected) <= 1.0
    with pytest.raises(ValueError, match="leaves no sample"):
        quiet_fit(SGDClassifier(early_stopping=True), X[:3], y[:3])


def test_warm_start_goes_on_with_the_steps():
    X, y = noisy()
    parameters = {"learning_rate": "pegasos", "alpha": 0.02, "average": True}
    model = fit(X, y, max_iter=3, warm_start=True, **parameters)
    quiet_fit(model, X, y)
    np.testing.assert_allclose(model.coef_, fit(X, y, max_iter=6, **parameters).coef_, rtol=1e-10)
    with pytest.raises(ValueError, match="classes"):
        model.fit(X, y + 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "log_loss"}, "loss must be one of 'hinge', 'squared_hinge', 'perceptron'"),
        ({"penalty": "l3"}, "penalty must be one of 'l2', 'l1', 'elasticnet'"),
        ({"alpha": -1}, "alpha must be a finite number >= 0, got -1"),
        ({"alpha": 0}, "alpha must be > 0 with learning_rate='optimal'"),
        ({"l1_ratio": 1.5}, "l1_ratio must be a finite number >= 0 and <= 1, got 1.5"),
        ({"learning_rate": "pa1"}, "learning_rate must be one of"),
        ({"verbose": -1}, "verbose must be"),
        ({"eta0": 0}, "eta0 must be a finite number > 0, got 0"),
        ({"power_t": np.nan}, "power_t"),
        ({"batch_size": 0}, "batch_size must be an integer >= 1, got 0"),
        ({"batch_size": "some"}, "batch_size"),
        ({"average": -1}, "average must be an integer >= 0"),
        ({"average": 1.5}, "average"),
        ({"early_stopping": 1}, "early_stopping must be True or False"),
        ({"validation_fraction": 1.0}, "validation_fraction must be a finite number > 0 and < 1"),
        ({"n_iter_no_change": 0}, "n_iter_no_change"),
        ({"multi_class": "ovo"}, "multi_class must be one of 'ovr', 'crammer_singer'"),
        ({"tol": -1}, "tol"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = noisy(20)
    with pytest.raises(ValueError, match=message):
        SGDClassifier(**parameters).fit(X, y)


@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e-320])
@pytest.mark.parametrize("alpha", [1e-300, 1e-4, 1e300])
def test_extreme_scales_give_finite_weights_or_an_error(scale, alpha):
    X, y = noisy()
    for penalty in ("l2", "l1"):
        try:
            model = fit(X * scale, y, alpha=alpha, penalty=penalty, max_iter=20)
        except ValueError as error:
            assert "overflow" in str(error)  # noqa: PT017
        else:
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.intercept_).all()
