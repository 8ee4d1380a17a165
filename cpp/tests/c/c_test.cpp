// The C interface: every estimator, and what it refuses.
#include "tests/c/handles.hpp"
#include "tests/clouds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace maxmargin::tests {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

} // namespace

TEST_CASE("every estimator of the C interface fits, certifies and predicts") {
  const Clouds clouds(120, 3, 2.0);
  const auto X = samples_of(clouds.values, clouds.n, 3);
  for (const char* name : {"svc", "nu_svc", "linear_svc", "perceptron", "sgd", "svr", "nu_svr",
                           "linear_svr", "one_class"}) {
    CAPTURE(name);
    const auto options = options_of(name);
    const auto model = fitted(*options, *X, clouds.y.data());
    double converged = 0.0;
    REQUIRE(mm_model_certificate(model.get(), 0, "converged", &converged) == MM_OK);
    if (std::string(name) != "perceptron") CHECK(converged == 1.0);
    std::vector<double> predicted(120), values(120);
    REQUIRE(mm_predict(model.get(), X.get(), nullptr, predicted.data()) == MM_OK);
    REQUIRE(mm_decision_values(model.get(), X.get(), nullptr, values.data()) == MM_OK);
    index_t n_right = 0;
    for (std::size_t i = 0; i < 120; ++i) n_right += predicted[i] * clouds.y[i] > 0.0;
    if (std::string(name) != "one_class") CHECK(n_right > 100);
    // One value, positive for the second label, which is 1; the prediction of a regression.
    for (std::size_t i = 0; i < 120; ++i) CHECK((values[i] > 0.0) == (predicted[i] > 0.0));
  }
}

TEST_CASE("linear machines go to LIBLINEAR's files and back") {
  const Clouds clouds(90, 3, 2.0);
  const auto X = samples_of(clouds.values, clouds.n, 3);
  for (const char* name : {"linear_svc", "linear_svr", "perceptron"}) {
    const auto model = fitted(*options_of(name), *X, clouds.y.data());
    REQUIRE(mm_model_save(model.get(), "c_test.model") == MM_OK);
    mm_model* read = nullptr;
    REQUIRE(mm_model_load("c_test.model", 0, &read) == MM_OK);
    const Owned<mm_model> loaded(read);
    std::remove("c_test.model");
    std::vector<double> a(90), b(90);
    REQUIRE(mm_predict(model.get(), X.get(), nullptr, a.data()) == MM_OK);
    REQUIRE(mm_predict(loaded.get(), X.get(), nullptr, b.data()) == MM_OK);
    CHECK(a == b);
    REQUIRE(mm_decision_values(model.get(), X.get(), nullptr, a.data()) == MM_OK);
    REQUIRE(mm_decision_values(loaded.get(), X.get(), nullptr, b.data()) == MM_OK);
    CHECK(a == b);
  }
}

TEST_CASE("sgd minimises the objective of linear_svc, and refuses what it does not have") {
  const Clouds clouds(200, 3, 2.0);
  const auto X = samples_of(clouds.values, 200, 3);
  constexpr double alpha = 0.01;
  const auto sgd = options_of("sgd"), exact = options_of("linear_svc");
  REQUIRE(mm_options_set_number(sgd.get(), "alpha", alpha) == MM_OK);
  for (const auto& [name, value] : {std::pair{"average", 5000.0},
                                    {"max_iter", 300.0},
                                    {"tol", 0.0},
                                    {"n_iter_no_change", 300.0}})
    REQUIRE(mm_options_set_number(sgd.get(), name, value) == MM_OK);
  REQUIRE(mm_options_set_number(exact.get(), "C", 1.0 / (alpha * 200)) == MM_OK);
  REQUIRE(mm_options_set_text(exact.get(), "loss", "hinge") == MM_OK);
  REQUIRE(mm_options_set_number(exact.get(), "intercept_scaling", 1e3) == MM_OK);
  double rough = 0.0, least = 0.0;
  REQUIRE(mm_model_certificate(fitted(*sgd, *X, clouds.y.data()).get(), 0, "primal_objective",
                               &rough) == MM_OK);
  REQUIRE(mm_model_certificate(fitted(*exact, *X, clouds.y.data()).get(), 0, "primal_objective",
                               &least) == MM_OK);
  least *= alpha; // the C of the one and the mean of the other
  CHECK(rough > least * (1.0 - 1e-3));
  CHECK(rough < least * 1.05);
  mm_model* model = nullptr;
  REQUIRE(mm_options_set_number(sgd.get(), "alpha", 0.0) == MM_OK);
  CHECK(contains(refused(mm_fit(sgd.get(), X.get(), clouds.y.data(), nullptr, &model)), "alpha"));
  CHECK(contains(refused(mm_options_set_number(sgd.get(), "margin", 1.0)), "sgd has no 'margin'"));
  CHECK(contains(refused(mm_options_set_number(options_of("perceptron").get(), "power_t", 1.0)),
                 "power_t"));
}

TEST_CASE("labels of three classes come back, and survive memory and files") {
  const Clouds clouds(90, 2, 2.0);
  std::vector<double> y;
  for (index_t i = 0; i < clouds.n; ++i) y.push_back(clouds.y[i] > 0.0 ? 7.0 : i % 4 ? -3.0 : 40.0);
  const auto X = samples_of(clouds.values, clouds.n, 2);
  const auto model = fitted(*options_of("svc"), *X, y.data());
  char* text = nullptr;
  std::size_t length = 0;
  REQUIRE(mm_model_to_text(model.get(), &text, &length) == MM_OK);
  mm_model* read = nullptr;
  REQUIRE(mm_model_from_text(text, length, 0, &read) == MM_OK);
  const Owned<mm_model> loaded(read);
  std::vector<double> a(90), b(90);
  REQUIRE(mm_predict(model.get(), X.get(), nullptr, a.data()) == MM_OK);
  REQUIRE(mm_predict(loaded.get(), X.get(), nullptr, b.data()) == MM_OK);
  CHECK(a == b);
  const double* labels = nullptr;
  std::size_t n_labels = 0;
  REQUIRE(mm_model_array(model.get(), "labels", &labels, &n_labels) == MM_OK);
  CHECK(std::vector<double>(labels, labels + n_labels) == std::vector<double>{-3.0, 7.0, 40.0});
  double value = 0.0;
  CHECK(contains(refused(mm_model_certificate(loaded.get(), 0, "n_iter", &value)), "mm_fit"));
  mm_model* none = nullptr;
  for (std::size_t cut = 0; cut < length; cut += 7)
    CHECK(mm_model_from_text(text, cut, 0, &none) == MM_INVALID_ARGUMENT);
  CHECK(none == nullptr);
  mm_text_free(text);
  CHECK(contains(refused(mm_model_load("/nowhere/a.model", 0, &none), MM_FILE_ERROR),
                 "/nowhere/a.model"));
}

TEST_CASE("strides, and a weight of 0 or 2, mean what they say") {
  const Clouds clouds(60, 2, 1.0);
  std::vector<double> columns(120), twice = clouds.values, y = clouds.y, weight(60, 1.0);
  for (index_t i = 0; i < 60; ++i)
    for (index_t j = 0; j < 2; ++j) columns[j * 60 + i] = clouds.values[i * 2 + j];
  mm_samples* view = nullptr;
  REQUIRE(mm_samples_dense(columns.data(), MM_FLOAT64, 60, 2, 1, 60, &view) == MM_OK);
  const Owned<mm_samples> strided(view);
  const auto X = samples_of(clouds.values, 60, 2);
  const auto options = options_of("svc");
  const auto values_of = [&](const mm_model& model) {
    std::vector<double> values(60);
    REQUIRE(mm_decision_values(&model, X.get(), nullptr, values.data()) == MM_OK);
    return values;
  };
  const auto plain = values_of(*fitted(*options, *X, clouds.y.data()));
  CHECK(plain == values_of(*fitted(*options, *strided, clouds.y.data())));

  weight[0] = 2.0;
  weight[1] = 0.0;
  twice.insert(twice.end(), {twice[0], twice[1]}); // once more; and the second row is no more
  twice.erase(twice.begin() + 2, twice.begin() + 4);
  y.push_back(y[0]);
  y.erase(y.begin() + 1);
  REQUIRE(mm_options_set_number(options.get(), "tol", 1e-9) == MM_OK);
  const auto weighted = values_of(*fitted(*options, *X, clouds.y.data(), weight.data()));
  const auto repeated = values_of(*fitted(*options, *samples_of(twice, 60, 2), y.data()));
  for (std::size_t i = 0; i < 60; ++i)
    CHECK(weighted[i] == doctest::Approx(repeated[i]).epsilon(1e-6));
}

TEST_CASE("rows and columns that are apart are read in place, by every estimator") {
  constexpr index_t n = 60, d = 3, kRow = 7, kColumn = 2;
  const Clouds clouds(n, d, 1.0);
  const auto view_of = [](const auto& values, index_t first, index_t row, index_t column) {
    mm_samples* samples = nullptr;
    const mm_type type = sizeof values[0] == sizeof(float) ? MM_FLOAT32 : MM_FLOAT64;
    REQUIRE(mm_samples_dense(values.data() + first, type, n, d, row, column, &samples) == MM_OK);
    return Owned<mm_samples>(samples);
  };
  const auto values_of = [](const mm_model& model, const mm_samples& X) {
    std::vector<double> values(n);
    REQUIRE(mm_decision_values(&model, &X, nullptr, values.data()) == MM_OK);
    return values;
  };
  const auto check = [&](auto number) {
    std::vector<decltype(number)> close(clouds.values.begin(), clouds.values.end()),
        wide(n * kRow, static_cast<decltype(number)>(kNaN)), apart = wide, upward = wide;
    for (index_t i = 0; i < n; ++i)
      for (index_t k = 0; k < d; ++k) {
        wide[i * kRow + k] = apart[i * kRow + k * kColumn] = close[i * d + k];
        upward[(n - 1 - i) * kRow + k] = close[i * d + k];
      }
    const auto X = view_of(close, 0, d, 1), of_rows = view_of(wide, 0, kRow, 1),
               of_columns = view_of(apart, 0, kRow, kColumn),
               reversed = view_of(upward, (n - 1) * kRow, -kRow, 1);
    for (const char* name : {"svc", "nu_svc", "linear_svc", "perceptron", "sgd", "svr", "nu_svr",
                             "linear_svr", "one_class"}) {
      CAPTURE(name);
      const auto options = options_of(name);
      const auto expected = values_of(*fitted(*options, *X, clouds.y.data()), *X);
      for (const auto* gaps : {&of_rows, &of_columns, &reversed})
        CHECK(values_of(*fitted(*options, **gaps, clouds.y.data()), **gaps) == expected);
    }
    const auto model = fitted(*options_of("svr"), *of_rows, clouds.y.data());
    const double before = values_of(*model, *of_rows)[1];
    std::copy_n(wide.data(), d, wide.data() + kRow); // which the view shows
    CHECK(values_of(*model, *of_rows)[1] != before);
    CHECK(values_of(*model, *of_rows)[1] == values_of(*model, *of_rows)[0]);
  };
  check(float{});
  check(double{});
}

TEST_CASE("many rows whose columns are apart are predicted by blocks, and a bad one is named") {
  constexpr index_t n = 3000, d = 500;
  const Clouds clouds(n, d, 1.0), few(20, d, 1.0);
  const auto model =
      fitted(*options_of("linear_svc"), *samples_of(few.values, 20, d), few.y.data());
  std::vector<double> columns(n * d), a(n), b(n);
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < d; ++j) columns[j * n + i] = clouds.values[i * d + j];
  mm_samples* view = nullptr;
  REQUIRE(mm_samples_dense(columns.data(), MM_FLOAT64, n, d, 1, n, &view) == MM_OK);
  const Owned<mm_samples> X(view);
  REQUIRE(mm_predict(model.get(), view, nullptr, a.data()) == MM_OK);
  REQUIRE(mm_predict(model.get(), samples_of(clouds.values, n, d).get(), nullptr, b.data()) ==
          MM_OK);
  CHECK(a == b);
  columns[2900] = kNaN;
  CHECK(contains(refused(mm_samples_dense(columns.data(), MM_FLOAT64, n, d, 1, n, &view)),
                 "row 2900"));
}

TEST_CASE("a model that is loaded takes samples of as many features as are asked for") {
  const Clouds clouds(60, 3, 1.0);
  const auto X = samples_of(clouds.values, 60, 3);
  std::vector<double> wide, a(60), b(60);
  for (std::size_t i = 0; i < 60; ++i) {
    wide.insert(wide.end(), clouds.values.begin() + i * 3, clouds.values.begin() + i * 3 + 3);
    wide.insert(wide.end(), {0.0, 0.0});
  }
  for (const char* name : {"svc", "linear_svc"}) {
    CAPTURE(name);
    const auto model = fitted(*options_of(name), *X, clouds.y.data());
    char* text = nullptr;
    std::size_t length = 0;
    REQUIRE(mm_model_to_text(model.get(), &text, &length) == MM_OK);
    mm_model* read = nullptr;
    REQUIRE(mm_model_from_text(text, length, 5, &read) == MM_OK);
    const Owned<mm_model> loaded(read);
    std::int64_t n_features = 0;
    REQUIRE(mm_model_count(read, "features", &n_features) == MM_OK);
    CHECK(n_features == 5);
    REQUIRE(mm_decision_values(model.get(), X.get(), nullptr, a.data()) == MM_OK);
    REQUIRE(mm_decision_values(read, samples_of(wide, 60, 5).get(), nullptr, b.data()) == MM_OK);
    for (std::size_t i = 0; i < 60; ++i) CHECK(a[i] == doctest::Approx(b[i]));
    CHECK(mm_model_from_text(text, length, 2, &read) == MM_INVALID_ARGUMENT);
    CHECK(contains(refused(mm_model_from_text(text, length, -1, &read)), "n_features"));
    mm_text_free(text);
  }
}

TEST_CASE("the C interface refuses what it cannot mean, and names it") {
  mm_samples* none = nullptr;
  const double values[] = {1.0, 2.0, 3.0, kNaN};
  CHECK(contains(refused(mm_samples_dense(nullptr, MM_FLOAT64, 2, 2, 2, 1, &none)), "values"));
  CHECK(contains(refused(mm_samples_dense(values, MM_FLOAT64, 2, 2, 2, 1, nullptr)), "samples"));
  CHECK(contains(refused(mm_samples_dense(values, MM_FLOAT64, 2, 2, 2, 1, &none)),
                 "row 1 of the samples is not finite: nan in column 1"));
  CHECK(contains(refused(mm_samples_dense(values, MM_FLOAT64, -1, 2, 2, 1, &none)), "n_rows"));
  CHECK(contains(refused(mm_samples_dense(values, MM_FLOAT64, 1, 0, 2, 1, &none)), "n_features"));
  CHECK(contains(refused(mm_samples_dense(values, MM_INT32, 1, 2, 2, 1, &none)), "type"));
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  CHECK(contains(refused(mm_samples_dense(values, MM_FLOAT64, huge, huge, huge, 1, &none)), "fit"));
  CHECK(
      contains(refused(mm_samples_dense(values, MM_FLOAT64, 2, 2, huge, 1, &none)), "row_stride"));
  CHECK(contains(refused(mm_samples_dense(values, MM_FLOAT64, 2, 2, 2, -huge, &none)),
                 "column_stride"));

  const std::int32_t indptr[] = {0, 2}, unsorted[] = {1, 0}, far[] = {0, 5}, backward[] = {0, -2};
  const auto csr = [&](const std::int32_t* indices, const std::int32_t* ends) {
    return mm_samples_csr(values, MM_FLOAT64, indices, ends, MM_INT32, 1, 3, &none);
  };
  const std::int32_t negative_index[] = {-4, 0}, late[] = {1, 2};
  CHECK(contains(refused(csr(unsorted, indptr)),
                 "ascend strictly in every row, got 0 after 1 in row 0"));
  CHECK(contains(refused(csr(far, indptr)), "at least 0 and below the 3 columns, got 5 in row 0"));
  CHECK(contains(refused(csr(negative_index, indptr)), "got -4 in row 0"));
  CHECK(
      contains(refused(csr(far, backward)), "indptr must ascend from 0, got -2 after 0 in row 0"));
  CHECK(contains(refused(csr(far, late)), "indptr must ascend from 0, got 1"));
  CHECK(contains(refused(csr(nullptr, indptr)), "indices"));
  CHECK(none == nullptr);

  mm_options* nothing = nullptr;
  CHECK(contains(refused(mm_options_new("svm", &nothing)), "nu_svc"));
  CHECK(contains(refused(mm_options_new(nullptr, &nothing)), "estimator"));
  const auto options = options_of("svc");
  CHECK(contains(refused(mm_options_set_number(options.get(), "gama", 1.0)), "gamma"));
  CHECK(contains(refused(mm_options_set_number(options.get(), "nu", 1.0)), "svc has no 'nu'"));
  CHECK(contains(refused(mm_options_set_number(options.get(), "C", kNaN)), "nan"));
  CHECK(contains(refused(mm_options_set_number(nullptr, "C", 1.0)), "options"));

  const Clouds clouds(20, 2, 1.0);
  const auto X = samples_of(clouds.values, 20, 2);
  mm_model* model = nullptr;
  const std::vector<double> one_class(20, 1.0);
  std::vector<double> not_finite(20, 1.0), negative(20, 1.0);
  not_finite[3] = -kNaN;
  negative[7] = -1.5;
  const auto fit = [&](const double* y, const double* weight = nullptr) {
    return refused(mm_fit(options.get(), X.get(), y, weight, &model));
  };
  CHECK(contains(fit(nullptr), "y must not be NULL"));
  CHECK(contains(fit(one_class.data()), "two classes"));
  CHECK(contains(fit(not_finite.data()), "y must hold finite numbers, got nan of row 3"));
  CHECK(contains(fit(clouds.y.data(), negative.data()),
                 "weight must hold finite numbers of at least 0, got -1.5 of row 7"));
  CHECK(contains(refused(mm_options_set_class_weight(options.get(), negative.data(), 20)),
                 "got -1.5 of class 7"));
  for (const auto& [name, value] : {std::pair{"C", -1.0},
                                    {"gamma", 0.0},
                                    {"degree", 2.5},
                                    {"cache_size", 0.0},
                                    {"shrinking", 2.0},
                                    {"n_jobs", -1.0}}) {
    CHECK(contains(refused(mm_options_set_number(options.get(), name, value)), name));
  }
  CHECK(contains(refused(mm_options_set_text(options.get(), "kernel", "gauss")), "rbf"));
  CHECK(refused(mm_options_set_number(options.get(), "kernel", 1.0)) ==
        "'kernel' is a text: mm_options_set_text");
  CHECK(refused(mm_options_set_text(options.get(), "C", "1")) ==
        "'C' is a number: mm_options_set_number");
  CHECK(model == nullptr);

  const auto good = fitted(*options_of("svc"), *X, clouds.y.data());
  double out[20];
  const auto wide = samples_of(clouds.values, 10, 4);
  CHECK(contains(refused(mm_predict(good.get(), wide.get(), nullptr, out)), "2 features, got 4"));
  CHECK(contains(refused(mm_predict(good.get(), X.get(), nullptr, nullptr)), "out"));
  std::int64_t count = 0;
  const double* array = nullptr;
  std::size_t length = 0;
  CHECK(contains(refused(mm_model_certificate(good.get(), 0, "gap", out)), "'gap'"));
  CHECK(contains(refused(mm_model_count(good.get(), "rows", &count)), "'rows'"));
  CHECK(contains(refused(mm_model_array(good.get(), "w", &array, &length)), "'w'"));
}

TEST_CASE("a progress function that returns 1 ends the training") {
  const Clouds clouds(3000, 20, 0.1);
  const auto X = samples_of(clouds.values, clouds.n, 20);
  const auto options = options_of("svc");
  REQUIRE(mm_options_set_number(options.get(), "C", 1e6) == MM_OK);
  REQUIRE(mm_options_set_number(options.get(), "gamma", 0.01) == MM_OK);
  int n_calls = 0;
  const auto stop = [](const mm_progress* progress, void* user) {
    CHECK(progress->seconds > 0.0);
    return ++*static_cast<int*>(user) == 2 ? 1 : 0;
  };
  REQUIRE(mm_options_set_progress(options.get(), stop, &n_calls) == MM_OK);
  mm_model* model = nullptr;
  CHECK(mm_fit(options.get(), X.get(), clouds.y.data(), nullptr, &model) == MM_CANCELLED);
  CHECK(n_calls == 2);
  CHECK(model == nullptr);
}

TEST_CASE("eight threads fit and predict at once, each with its own message") {
  const Clouds clouds(80, 2, 1.0);
  const auto X = samples_of(clouds.values, clouds.n, 2);
  const auto options = options_of("svc");
  const auto shared = fitted(*options, *X, clouds.y.data());
  std::vector<double> expected(80);
  REQUIRE(mm_decision_values(shared.get(), X.get(), nullptr, expected.data()) == MM_OK);
  std::vector<int> is_right(8, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      bool same = true;
      for (int round = 0; round < 20; ++round) {
        mm_model* own = nullptr;
        std::vector<double> values(80);
        same &= mm_fit(options.get(), X.get(), clouds.y.data(), nullptr, &own) == MM_OK;
        const Owned<mm_model> model(own);
        same &= mm_decision_values(t % 2 ? model.get() : shared.get(), X.get(), nullptr,
                                   values.data()) == MM_OK;
        same &= values == expected;
        double none = 0.0;
        const std::string name = "field" + std::to_string(t);
        same &= mm_model_certificate(own, 0, name.c_str(), &none) == MM_INVALID_ARGUMENT;
        same &= contains(mm_last_error(), name.c_str());
      }
      is_right[t] = same;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(is_right == std::vector<int>(8, 1));
}

} // namespace maxmargin::tests
