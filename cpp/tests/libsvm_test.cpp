// The library that takes the place of libsvm.so, in the layout that it is compiled for.
#include "dropin/libsvm/svm.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace maxmargin::tests {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Free {
  void operator()(svm_model* model) const { svm_free_and_destroy_model(&model); }
};
using Model = std::unique_ptr<svm_model, Free>;

// Samples of classes in turn, first 2, then 1, then 7, in 3 features, of which zeros are left out.
struct Samples {
  Samples(int n, int n_classes) {
    const double labels[] = {2.0, 1.0, 7.0};
    std::uint32_t state = 1;
    const auto number = [&] {
      state = state * 1664525U + 1013904223U;
      return static_cast<double>(state >> 16) / 32768.0 - 1.0;
    };
    for (int i = 0; i < n; ++i) {
      const int c = i % n_classes;
      std::vector<svm_node> row;
      for (int k = 0; k < 3; ++k) {
        const double value = number() + (k == c ? 0.6 : 0.0);
        if (std::abs(value) > 0.2) row.push_back({k + 1, value});
      }
      row.push_back({-1, 0.0});
      nodes.push_back(std::move(row));
      y.push_back(labels[c]);
    }
    for (auto& row : nodes) rows.push_back(row.data());
    problem = {n, y.data(), rows.data()};
  }

  std::vector<std::vector<svm_node>> nodes;
  std::vector<svm_node*> rows;
  std::vector<double> y;
  svm_problem problem{};
};

svm_parameter parameters(int type = C_SVC, int kernel = RBF) {
  svm_set_print_string_function([](const char*) {});
  svm_parameter param{};
  param.svm_type = type;
  param.kernel_type = kernel;
  param.degree = 3;
  param.gamma = 0.5;
  param.cache_size = 10.0;
  param.eps = 1e-3;
  param.C = 2.0;
  param.nu = 0.4;
  param.p = 0.1;
  param.shrinking = 1;
  return param;
}

std::vector<double> values_of(const svm_model& model, const svm_node* x) {
  std::vector<double> values(static_cast<std::size_t>(model.nr_class * (model.nr_class - 1) / 2));
  svm_predict_values(&model, x, values.data());
  return values;
}

void check_near(const std::vector<double>& a, const std::vector<double>& b, double most = 1e-9) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) <= most);
}

Model through_file(const svm_model& model) {
  const std::string path = "libsvm_test." + std::to_string(MAXMARGIN_LAYOUT) + ".model";
  REQUIRE(svm_save_model(path.c_str(), &model) == 0);
  Model loaded(svm_load_model(path.c_str()));
  std::remove(path.c_str());
  REQUIRE(loaded);
  return loaded;
}

// A model in memory of its own, as callers build them.
struct Rebuilt {
  explicit Rebuilt(const svm_model& from) : model(from) {
    for (int i = 0; i < from.l; ++i) vectors.push_back(from.SV[i]);
    for (int k = 0; k + 1 < from.nr_class; ++k)
      coefs.emplace_back(from.sv_coef[k], from.sv_coef[k] + from.l);
    for (auto& row : coefs) rows.push_back(row.data());
    model.SV = vectors.data();
    model.sv_coef = rows.data();
  }

  std::vector<svm_node*> vectors;
  std::vector<std::vector<double>> coefs;
  std::vector<double*> rows;
  svm_model model;
};

} // namespace

TEST_CASE("a model is a plain struct in LIBSVM's layout") {
  const Samples samples(90, 3);
  const svm_parameter param = parameters();
  const Model model(svm_train(&samples.problem, &param));
  REQUIRE(model);
  CHECK(libsvm_version == MAXMARGIN_LAYOUT);
  CHECK(model->free_sv == 0);
  CHECK(std::vector(model->label, model->label + 3) == std::vector{2, 1, 7}); // as they occur
  CHECK(model->nSV[0] + model->nSV[1] + model->nSV[2] == model->l);
  for (int k = 0; k < model->l; ++k) {
    const int row = model->sv_indices[k] - 1;
    CHECK(model->SV[k] == samples.problem.x[row]);
    const int c = k < model->nSV[0] ? 0 : k < model->nSV[0] + model->nSV[1] ? 1 : 2;
    CHECK(samples.y[static_cast<std::size_t>(row)] == model->label[c]);
  }
  CHECK(svm_get_nr_class(model.get()) == 3);
  CHECK(svm_get_nr_sv(model.get()) == model->l);
  CHECK(svm_check_probability_model(model.get()) == 0);
  int n_right = 0;
  for (int i = 0; i < 90; ++i)
    n_right += svm_predict(model.get(), samples.rows[static_cast<std::size_t>(i)]) ==
               samples.y[static_cast<std::size_t>(i)];
  CHECK(n_right >= 60);
}

TEST_CASE("labels -1 and 1 have 1 first, and weights multiply C") {
  Samples samples(60, 2);
  for (double& label : samples.y) label = label == 2.0 ? -1.0 : 1.0;
  svm_parameter param = parameters();
  int label[] = {1, 1};
  double weight[] = {2.0, 1.5};
  param.nr_weight = 2;
  param.weight_label = label;
  param.weight = weight;
  const Model model(svm_train(&samples.problem, &param));
  REQUIRE(model);
  CHECK(model->label[0] == 1);
  const double* coef = model->sv_coef[0];
  CHECK(*std::max_element(coef, coef + model->l) == doctest::Approx(6.0));
  CHECK(*std::min_element(coef, coef + model->l) == doctest::Approx(-2.0));
}

TEST_CASE("predictions follow the fields of models that callers copy, rebuild or change") {
  Samples samples(80, 3);
  for (const int kernel : {LINEAR, POLY, RBF, SIGMOID}) {
    const svm_parameter param = parameters(C_SVC, kernel);
    Model model(svm_train(&samples.problem, &param));
    REQUIRE(model);
    svm_node x[] = {{1, 0.3}, {3, -0.4}, {9, 0.25}, {-1, 0.0}}; // no vector has the last
    const std::vector<double> values = values_of(*model, x);
    const svm_model copy = *model;
    Rebuilt rebuilt(*model);
    CHECK(values_of(copy, x) == values);
    check_near(values_of(rebuilt.model, x), values);
    model->rho[0] += 1.0;
    CHECK(values_of(*model, x)[0] == doctest::Approx(values[0] - 1.0));
    model->rho[0] -= 1.0;
    model->param.gamma = rebuilt.model.param.gamma = 0.1;
    check_near(values_of(*model, x), values_of(rebuilt.model, x));
    // A caller that fills its samples with others changes the vectors, which are the same memory.
    for (auto& row : samples.nodes)
      for (svm_node& node : row) node.value *= 0.5;
    check_near(values_of(*model, x), values_of(rebuilt.model, x));
  }
}

TEST_CASE("vectors too long for products of them predict node by node") {
  Samples samples(40, 2);
  for (auto& row : samples.nodes)
    for (svm_node& node : row)
      if (node.index != -1) node.value += 1e8;
  const svm_parameter param = parameters();
  const Model model(svm_train(&samples.problem, &param));
  REQUIRE(model);
  check_near(values_of(*model, samples.rows[0]), values_of(Rebuilt(*model).model, samples.rows[0]));
}

TEST_CASE("files give the model back, index 0 included") {
  Samples samples(60, 3);
  for (auto& row : samples.nodes)
    for (svm_node& node : row)
      if (node.index != -1) --node.index;
  svm_parameter param = parameters();
  param.probability = 1;
  const Model model(svm_train(&samples.problem, &param));
  const Model loaded = through_file(*model);
  CHECK(loaded->free_sv == 1);
  CHECK(std::equal(loaded->label, loaded->label + 3, model->label));
  for (const svm_node* x : samples.rows) {
    double p[3], q[3];
    check_near(values_of(*loaded, x), values_of(*model, x), 1e-13);
    CHECK(svm_predict_probability(model.get(), x, p) ==
          svm_predict_probability(loaded.get(), x, q));
    CHECK(p[0] + p[1] + p[2] == doctest::Approx(1.0));
    CHECK(p[1] == doctest::Approx(q[1]));
  }
}

TEST_CASE("a precomputed kernel gives the model of the kernel") {
  const Samples samples(50, 2);
  svm_parameter param = parameters(C_SVC, LINEAR);
  const Model plain(svm_train(&samples.problem, &param));
  Samples given(50, 2);
  for (std::size_t i = 0; i < 50; ++i) {
    std::vector<svm_node> row{{0, static_cast<double>(i + 1)}};
    for (std::size_t j = 0; j < 50; ++j) {
      double sum = 0.0;
      for (const svm_node& a : samples.nodes[i])
        for (const svm_node& b : samples.nodes[j])
          if (a.index == b.index && a.index != -1) sum += a.value * b.value;
      row.push_back({static_cast<int>(j + 1), sum});
    }
    row.push_back({-1, 0.0});
    given.nodes[i] = row;
    given.rows[i] = given.nodes[i].data();
  }
  param.kernel_type = PRECOMPUTED;
  const Model model(svm_train(&given.problem, &param));
  REQUIRE(model);
  CHECK(model->rho[0] == doctest::Approx(plain->rho[0]).epsilon(0.01));
  for (std::size_t i = 0; i < 50; ++i)
    check_near(values_of(*model, given.rows[i]), values_of(*plain, samples.rows[i]), 5e-3);
  std::vector<double> a(50), b(50);
  std::srand(1);
  svm_cross_validation(&given.problem, &param, 5, a.data());
  param.kernel_type = LINEAR;
  std::srand(1);
  svm_cross_validation(&samples.problem, &param, 5, b.data());
  CHECK(a == b);
  given.nodes[3][0].value = 51.0; // there is no such value
  param.kernel_type = PRECOMPUTED;
  CHECK(svm_train(&given.problem, &param) == nullptr);
}

TEST_CASE("cross-validation has the folds of LIBSVM 3.24") {
  // The sums of i times prediction i that Debian's libsvm3 gives after srand(1).
  const Samples samples(101, 3);
  struct Case {
    int type, probability, n_folds;
    double expected;
  };
  for (const auto& [type, probability, n_folds, expected] : {Case{C_SVC, 0, 5, 17580},
                                                             {C_SVC, 0, 200, 16291},
                                                             {C_SVC, 1, 5, 17055},
                                                             {NU_SVC, 0, 5, 17301},
                                                             {NU_SVC, 0, 200, 19381},
                                                             {NU_SVC, 1, 5, 15980},
                                                             {ONE_CLASS, 0, 5, 292},
                                                             {ONE_CLASS, 0, 200, 806},
                                                             {EPSILON_SVR, 0, 5, 14446.0224},
                                                             {EPSILON_SVR, 0, 200, 14397.4785},
                                                             {NU_SVR, 0, 5, 20140.4496},
                                                             {NU_SVR, 0, 200, 20184.1057}}) {
    svm_parameter param = parameters(type);
    param.probability = probability;
    param.eps = 1e-6;
    std::vector<double> found(101);
    std::srand(1);
    svm_cross_validation(&samples.problem, &param, n_folds, found.data());
    double sum = 0.0;
    for (std::size_t i = 0; i < 101; ++i) sum += static_cast<double>(i) * found[i];
    CHECK(sum == doctest::Approx(expected).epsilon(1e-5));
  }
}

TEST_CASE("probabilities of a regression and of one class") {
  const Samples samples(100, 2);
  svm_parameter param = parameters(EPSILON_SVR);
  param.probability = 1;
  const Model regression(svm_train(&samples.problem, &param));
  REQUIRE(regression);
  CHECK(svm_get_svr_probability(regression.get()) == regression->probA[0]);
  CHECK(regression->probA[0] > 0.05);
  CHECK(regression->probA[0] < 0.6);
  param.svm_type = ONE_CLASS;
#if MAXMARGIN_LAYOUT >= 330
  const Model one_class(svm_train(&samples.problem, &param));
  REQUIRE(one_class);
  CHECK(svm_check_probability_model(one_class.get()) == 1);
  double p[2];
  const double inside = svm_predict_probability(one_class.get(), samples.rows[0], p);
  CHECK(std::abs(inside) == 1.0);
  CHECK(p[0] + p[1] == doctest::Approx(1.0));
  CHECK((p[0] >= 0.5) == (inside > 0.0));
#else
  CHECK(svm_check_parameter(&samples.problem, &param) ==
        std::string("one-class SVM probability output not supported yet"));
#endif
}

TEST_CASE("parameters that LIBSVM refuses, in its words") {
  const Samples samples(20, 2);
  const auto words = [&](auto change) {
    svm_parameter param = parameters();
    change(param);
    const char* fault = svm_check_parameter(&samples.problem, &param);
    return std::string(fault == nullptr ? "" : fault);
  };
  CHECK(words([](auto&) {}).empty());
  CHECK(words([](auto& p) { p.svm_type = 5; }) == "unknown svm type");
  CHECK(words([](auto& p) { p.kernel_type = -1; }) == "unknown kernel type");
  CHECK(words([](auto& p) { p.gamma = -1.0; }) == "gamma < 0");
  CHECK(words([](auto& p) { p.kernel_type = POLY, p.degree = -1; }) ==
        "degree of polynomial kernel < 0");
  CHECK(words([](auto& p) { p.cache_size = 0.0; }) == "cache_size <= 0");
  CHECK(words([](auto& p) { p.eps = kNaN; }) == "eps <= 0");
  CHECK(words([](auto& p) { p.C = 0.0; }) == "C <= 0");
  CHECK(words([](auto& p) { p.svm_type = NU_SVR, p.nu = 1.5; }) == "nu <= 0 or nu > 1");
  CHECK(words([](auto& p) { p.svm_type = EPSILON_SVR, p.p = -1.0; }) == "p < 0");
  CHECK(words([](auto& p) { p.shrinking = 2; }) == "shrinking != 0 and shrinking != 1");
  CHECK(words([](auto& p) { p.probability = 2; }) == "probability != 0 and probability != 1");
  Samples uneven(20, 2);
  std::fill_n(uneven.y.begin(), 17, 2.0);
  const svm_parameter param = parameters(NU_SVC);
  CHECK(svm_check_parameter(&uneven.problem, &param) == std::string("specified nu is infeasible"));
  CHECK(svm_check_parameter(nullptr, &param) == nullptr); // programs ask before there are samples
}

TEST_CASE("bad input gives NULL, -1, 0 or NaN") {
  Samples samples(20, 2);
  const svm_parameter param = parameters();
  CHECK(svm_train(nullptr, &param) == nullptr);
  CHECK(svm_train(&samples.problem, nullptr) == nullptr);
  const svm_problem empty{0, nullptr, nullptr};
  CHECK(svm_train(&empty, &param) == nullptr);
  samples.nodes[4][0].value = kNaN;
  CHECK(svm_train(&samples.problem, &param) == nullptr);
  std::vector<double> found(20, 1.0);
  svm_cross_validation(&samples.problem, &param, 5, found.data());
  for (const double each : found) CHECK(std::isnan(each));
  samples.nodes[4][0] = {-7, 1.0};
  CHECK(svm_train(&samples.problem, &param) == nullptr);
  CHECK(svm_load_model("there/is/no/such.model") == nullptr);
  CHECK(svm_load_model(".") == nullptr);
  CHECK(svm_save_model("there/is/no/such.model", nullptr) == -1);
  CHECK(svm_predict(nullptr, samples.rows[0]) == 0.0);
  svm_free_and_destroy_model(nullptr);
  svm_free_model_content(nullptr);
  std::fill(samples.y.begin(), samples.y.end(), 3.0); // of one class
  samples.nodes[4][0] = {1, 1.0};
  const Model model(svm_train(&samples.problem, &param));
  REQUIRE(model);
  CHECK(svm_get_nr_class(model.get()) == 1);
  CHECK(svm_predict(model.get(), samples.rows[0]) == 3.0);
  CHECK(svm_predict(through_file(*model).get(), samples.rows[0]) == 3.0);
}

TEST_CASE("samples that are all zero train, and their file loads") {
  Samples samples(20, 2);
  for (svm_node*& row : samples.rows) {
    static svm_node end[] = {{-1, 0.0}};
    row = end;
  }
  const svm_parameter param = parameters();
  const Model model(svm_train(&samples.problem, &param));
  REQUIRE(model);
  check_near(values_of(*through_file(*model), samples.rows[0]), values_of(*model, samples.rows[0]));
}

TEST_CASE("eight threads train and predict at once") {
  const Samples samples(60, 3);
  const svm_parameter param = parameters();
  const Model shared(svm_train(&samples.problem, &param));
  std::vector<double> expected;
  for (const svm_node* x : samples.rows) expected.push_back(svm_predict(shared.get(), x));
  int n_right[8] = {};
  std::vector<std::thread> threads;
  for (int& right : n_right)
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        const Model own(svm_train(&samples.problem, &param));
        svm_set_print_string_function([](const char*) {});
        for (std::size_t i = 0; i < 60; ++i)
          for (const svm_model* model : {shared.get(), own.get()})
            right += svm_predict(model, samples.rows[i]) == expected[i];
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const int right : n_right) CHECK(right == 600);
}

} // namespace maxmargin::tests
