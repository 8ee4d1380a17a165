// The drop-in for LIBLINEAR: what its callers do with the structs, and what it refuses.
#include "dropin/liblinear/linear.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

// Samples of `n_classes` clouds of normal numbers, with a bias where it is not negative.
struct Set {
  Set(int l, int d, int n_classes, double bias) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    std::vector<double> centres;
    for (int k = 0; k < n_classes * d; ++k) centres.push_back(normal(random));
    for (int i = 0; i < l; ++i) {
      const int c = i % n_classes;
      labels.push_back(c);
      std::vector<feature_node> row;
      for (int j = 0; j < d; ++j)
        if ((i + j) % 3 != 0) row.push_back({j + 1, centres[c * d + j] + normal(random)});
      if (bias >= 0.0) row.push_back({d + 1, bias});
      row.push_back({-1, 0.0});
      rows.push_back(std::move(row));
    }
    for (std::vector<feature_node>& row : rows) x.push_back(row.data());
    task = {l, d + (bias >= 0.0 ? 1 : 0), labels.data(), x.data(), bias};
  }

  std::vector<double> labels;
  std::vector<std::vector<feature_node>> rows;
  std::vector<feature_node*> x;
  problem task{};
};

parameter parameter_of(int solver) {
  parameter param{};
  param.solver_type = solver;
  param.eps = 1e-4;
  param.C = 0.5;
  param.p = 0.1;
#if MAXMARGIN_LAYOUT >= 240
  param.nu = 0.3;
  param.regularize_bias = 1;
#endif
  return param;
}

// What C multiplies, at the value f.
double loss(int solver, double y, double f) {
  const double miss = std::max(0.0, 1.0 - y * f), away = std::max(0.0, std::abs(y - f) - 0.1);
  switch (solver) {
  case L2R_LR:
  case L2R_LR_DUAL:
  case L1R_LR:
    return std::log1p(std::exp(-y * f));
  case L2R_L1LOSS_SVC_DUAL:
    return miss;
  case L2R_L2LOSS_SVR:
  case L2R_L2LOSS_SVR_DUAL:
    return away * away;
  case L2R_L1LOSS_SVR_DUAL:
    return away;
  default:
    return miss * miss;
  }
}

// Of the one function of a model, with targets y.
double objective(const Set& set, const model& model, const std::vector<double>& y) {
  const int solver = model.param.solver_type;
  const bool is_l1 = solver == L1R_L2LOSS_SVC || solver == L1R_LR;
  double sum = 0.0;
  for (int j = 0; j < set.task.n; ++j)
    sum += is_l1 ? std::abs(model.w[j]) : 0.5 * model.w[j] * model.w[j];
  for (int i = 0; i < set.task.l; ++i) {
    double f = 0.0;
    for (const feature_node* node = set.x[i]; node->index != -1; ++node)
      f += model.w[node->index - 1] * node->value;
    sum += 0.5 * loss(solver, y[i], f);
  }
  return sum;
}

void quiet(const char*) {}
std::string messages;
void keep(const char* text) {
  messages += text;
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

} // namespace

TEST_CASE("a model that the caller has made predicts by its public fields") {
  // Three classes, two features and a bias: a row for each, a column for each class.
  std::array<double, 9> w{1.0, 0.0, -1.0, 0.0, 2.0, 0.5, 0.1, 0.2, 0.3};
  std::array<int, 3> label{7, -4, 9};
  model own{};
  own.param.solver_type = L2R_LR;
  own.nr_class = 3;
  own.nr_feature = 2;
  own.w = w.data();
  own.label = label.data();
  own.bias = 1.0;
  const std::array<feature_node, 5> x{{{1, 2.0}, {2, 0.25}, {3, 1.0}, {800, 5.0}, {-1, 0.0}}};
  std::array<double, 3> values{};
  CHECK(predict_values(&own, x.data(), values.data()) == 7.0);
  CHECK(values == std::array{2.1, 0.7, -2.0 + 0.125 + 0.3});
  CHECK(predict(&own, x.data()) == 7.0);
  CHECK(predict_probability(&own, x.data(), values.data()) == 7.0);
  CHECK(values[0] + values[1] + values[2] == doctest::Approx(1.0));
  CHECK(get_decfun_coef(&own, 2, 1) == 2.0);
  CHECK(get_decfun_coef(&own, 3, 1) == 0.0);
  CHECK(get_decfun_bias(&own, 2) == 0.3);
  own.nr_class = 2;
  own.bias = -1.0;
  const model copy = own;
  CHECK(predict_values(&copy, x.data(), values.data()) == 7.0);
  CHECK(get_decfun_coef(&copy, 1, 1) == -get_decfun_coef(&copy, 1, 0));
  CHECK(get_nr_class(&copy) == 2);
  CHECK(get_nr_feature(&copy) == 2);
}

TEST_CASE("every solver ends at the least of its objective, where a value may be in two parts") {
  set_print_string_function(quiet);
  for (const int solver :
       {L2R_LR, L2R_L2LOSS_SVC_DUAL, L2R_L2LOSS_SVC, L2R_L1LOSS_SVC_DUAL, L1R_L2LOSS_SVC, L1R_LR,
        L2R_LR_DUAL, L2R_L2LOSS_SVR, L2R_L2LOSS_SVR_DUAL, L2R_L1LOSS_SVR_DUAL}) {
    CAPTURE(solver);
    Set set(200, 6, 2, 2.0);
    for (int i = 0; i < 200; i += 2) {
      set.rows[i].insert(set.rows[i].begin(), {set.rows[i][1].index, 0.5});
      set.x[i] = set.rows[i].data();
    }
    const parameter param = parameter_of(solver);
    REQUIRE(check_parameter(&set.task, &param) == nullptr);
    model* trained = train(&set.task, &param);
    REQUIRE(trained != nullptr);
    CHECK(trained->nr_feature == 6);
    CHECK(trained->bias == 2.0);
    CHECK((trained->label == nullptr) == (check_regression_model(trained) == 1));
    std::vector<double> y(set.labels);
    if (trained->label != nullptr)
      for (double& target : y) target = target == trained->label[0] ? 1.0 : -1.0;
    const double least = objective(set, *trained, y);
    for (int j = 0; j < 7; ++j)
      for (const double step : {-1e-2, 1e-2}) {
        const double w = trained->w[j];
        trained->w[j] += step;
        CHECK(objective(set, *trained, y) >= least);
        trained->w[j] = w;
      }
    free_and_destroy_model(&trained);
    CHECK(trained == nullptr);
  }
}

TEST_CASE("classes stand in the order in which they occur, but 1 before -1") {
  Set set(90, 5, 3, -1.0);
  const parameter param = parameter_of(L2R_L2LOSS_SVC);
  for (double& label : set.labels) label = 10.0 - label;
  model* trained = train(&set.task, &param);
  REQUIRE(trained != nullptr);
  CHECK(trained->nr_class == 3);
  CHECK(std::vector(trained->label, trained->label + 3) == std::vector{10, 9, 8});
  int n_right = 0;
  for (int i = 0; i < 90; ++i) n_right += predict(trained, set.x[i]) == set.labels[i];
  CHECK(n_right > 60);
  free_and_destroy_model(&trained);

  for (double& label : set.labels) label = label == 10.0 ? -1.0 : 1.0;
  trained = train(&set.task, &param);
  CHECK(std::vector(trained->label, trained->label + 2) == std::vector{1, -1});
  free_and_destroy_model(&trained);

  const parameter crammer_singer = parameter_of(MCSVM_CS);
  trained = train(&set.task, &crammer_singer);
  for (int j = 0; j < 5; ++j) CHECK(trained->w[2 * j] == -trained->w[2 * j + 1]);
  n_right = 0;
  for (int i = 0; i < 90; ++i) n_right += predict(trained, set.x[i]) == set.labels[i];
  CHECK(n_right > 60);
  free_and_destroy_model(&trained);

  for (double& label : set.labels) label = 3.0;
  trained = train(&set.task, &param);
  CHECK(trained->nr_class == 1);
  CHECK(predict(trained, set.x[0]) == 3.0);
  free_and_destroy_model(&trained);
}

TEST_CASE("the weights of classes are factors of C, and unknown ones are named") {
  const Set set(120, 4, 2, -1.0);
  parameter param = parameter_of(L2R_L2LOSS_SVC);
  std::array<int, 2> classes{0, 5};
  std::array<double, 2> weight{50.0, 2.0};
  param.nr_weight = 2;
  param.weight_label = classes.data();
  param.weight = weight.data();
  messages.clear();
  set_print_string_function(keep);
  model* trained = train(&set.task, &param);
  set_print_string_function(quiet);
  CHECK(messages.starts_with("WARNING: class label 5 specified in weight is not found\n"));
  int n_first = 0;
  for (int i = 0; i < 120; ++i) n_first += predict(trained, set.x[i]) == 0.0;
  CHECK(n_first > 60);
  free_and_destroy_model(&trained);
}

TEST_CASE("a model goes to a file and back") {
  const Set set(90, 5, 3, 1.0);
  const char* const path = "liblinear_test.model";
  for (const int solver : {L2R_LR, MCSVM_CS, L2R_L2LOSS_SVR}) {
    const parameter param = parameter_of(solver);
    model* trained = train(&set.task, &param);
    REQUIRE(save_model(path, trained) == 0);
    model* loaded = load_model(path);
    REQUIRE(loaded != nullptr);
    CHECK(loaded->param.solver_type == solver);
    CHECK(loaded->param.weight == nullptr);
    CHECK(loaded->nr_class == trained->nr_class);
    for (int i = 0; i < 90; ++i) CHECK(predict(loaded, set.x[i]) == predict(trained, set.x[i]));
    free_and_destroy_model(&loaded);
    free_and_destroy_model(&trained);
  }
  std::remove(path);
  CHECK(load_model(path) == nullptr);
  CHECK(load_model(nullptr) == nullptr);
  CHECK(load_model(".") == nullptr);
  CHECK(save_model(path, nullptr) == -1);
}

TEST_CASE("folds are drawn by rand as LIBLINEAR draws them") {
  const Set set(100, 4, 2, -1.0);
  const parameter param = parameter_of(L2R_L2LOSS_SVC);
  std::vector<double> target(100), expected(100);
  std::srand(3);
  cross_validation(&set.task, &param, 4, target.data());
  std::srand(3);
  std::vector<int> order(100);
  for (int i = 0; i < 100; ++i) order[i] = i;
  for (int i = 0; i < 100; ++i) std::swap(order[i], order[i + std::rand() % (100 - i)]);
  for (int fold = 0; fold < 4; ++fold) {
    std::vector<double> y;
    std::vector<feature_node*> x;
    for (int i = 0; i < 100; ++i)
      if (i / 25 != fold) {
        y.push_back(set.labels[order[i]]);
        x.push_back(set.x[order[i]]);
      }
    const problem rest{75, set.task.n, y.data(), x.data(), -1.0};
    model* trained = train(&rest, &param);
    for (int i = 25 * fold; i < 25 * fold + 25; ++i)
      expected[order[i]] = predict(trained, set.x[order[i]]);
    free_and_destroy_model(&trained);
  }
  CHECK(target == expected);
  cross_validation(&set.task, &param, 1, target.data()); // which leaves nothing to train on
  CHECK(std::isnan(target[0]));

  double C = 0.0, p = 0.0, score = 0.0;
  find_parameters(&set.task, &param, 3, -1.0, -1.0, &C, &p, &score);
  CHECK(C > 0.0);
  CHECK(p == -1.0);
  CHECK(score > 0.7);
}

TEST_CASE("an initial solution that is good enough stays as it is") {
  const Set set(120, 4, 3, -1.0);
  parameter param = parameter_of(L2R_LR);
  param.eps = 1e-2;
  model* first = train(&set.task, &param);
  param.init_sol = first->w;
  REQUIRE(check_parameter(&set.task, &param) == nullptr);
  model* second = train(&set.task, &param);
  CHECK(std::equal(first->w, first->w + 12, second->w));
  param.C = 100.0;
  model* third = train(&set.task, &param);
  CHECK(!std::equal(first->w, first->w + 12, third->w));
  for (model* each : {first, second, third}) free_and_destroy_model(&each);
}

TEST_CASE("what is wrong is named, by LIBLINEAR's words where it has some") {
  set_print_string_function(keep);
  Set set(30, 3, 2, -1.0);
  const auto refused = [&](const problem* task, const parameter* param, const std::string& why) {
    const char* const fault = check_parameter(task, param);
    REQUIRE(fault != nullptr);
    CHECK(fault == why);
    messages.clear();
    CHECK(train(task, param) == nullptr);
    CHECK(messages == "ERROR: " + why + "\n");
  };
  parameter param = parameter_of(L2R_L2LOSS_SVC);
  refused(nullptr, &param, "the problem or parameters are NULL");
  param.eps = kNaN;
  refused(&set.task, &param, "eps <= 0");
  param.eps = 0.1;
  param.C = 0.0;
  refused(&set.task, &param, "C <= 0");
  param.C = 1.0;
  param.solver_type = 8;
  refused(&set.task, &param, "unknown solver type");
  param.solver_type = MCSVM_CS;
  param.nr_weight = 1;
  refused(&set.task, &param, "the weights of classes are NULL");
  param.nr_weight = 0;
  set.rows[4][0].value = kNaN;
  refused(&set.task, &param, "a value is not finite");
  set.rows[4][0].value = 1.0;
  for (const int index : {0, 4, 1 << 30}) {
    set.rows[4][0].index = index;
    refused(&set.task, &param, "an index is below 1 or above the number of features");
  }
  set.rows[4][0].index = -7;
  refused(&set.task, &param, "an index is negative");
  set.rows[4][0].index = 3;
  set.rows[4][1].index = 1; // not ascending
  model* trained = train(&set.task, &param);
  CHECK(trained != nullptr);
  free_and_destroy_model(&trained);
  set.labels[0] = kNaN;
  refused(&set.task, &param, "a target is not finite");
  std::vector<double> target(30);
  cross_validation(&set.task, &param, 2, target.data());
  CHECK(std::isnan(target[0]));
  set.task.l = 0;
  refused(&set.task, &param, "there are no samples");
  set_print_string_function(quiet);
}

#if MAXMARGIN_LAYOUT >= 240
TEST_CASE("a bias without penalty, and the one-class machine") {
  Set set(100, 3, 2, 1.0);
  for (int i = 0; i < 50; ++i) set.labels[i] = 0.0; // three quarters
  parameter param = parameter_of(L2R_LR);
  param.regularize_bias = 0;
  param.C = 1e-7;
  model* trained = train(&set.task, &param);
  REQUIRE(trained != nullptr);
  // Without weights, the bias alone fits the shares of the classes.
  CHECK(std::abs(trained->w[0]) < 1e-4);
  CHECK(trained->w[3] == doctest::Approx(std::log(3.0)).epsilon(0.02));
  free_and_destroy_model(&trained);
  param.solver_type = L2R_L2LOSS_SVC_DUAL;
  CHECK(std::strstr(check_parameter(&set.task, &param), "-R option supported only for") != nullptr);

  const Set plain(200, 4, 1, -1.0);
  param = parameter_of(ONECLASS_SVM);
  trained = train(&plain.task, &param);
  REQUIRE(trained != nullptr);
  CHECK(check_oneclass_model(trained) == 1);
  int n_outside = 0;
  for (int i = 0; i < 200; ++i) n_outside += predict(trained, plain.x[i]) < 0.0;
  CHECK(n_outside >= 50); // nu = 0.3, but for those on the border
  CHECK(n_outside <= 60);
  CHECK(get_decfun_rho(trained) == trained->rho);
  free_and_destroy_model(&trained);
}
#endif

TEST_CASE("eight threads train and predict at once") {
  const Set set(150, 5, 3, 1.0);
  const parameter param = parameter_of(L2R_L2LOSS_SVC);
  model* expected = train(&set.task, &param);
  std::atomic<int> n_wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 3; ++k) {
        set_print_string_function(quiet);
        model* own = train(&set.task, &param);
        for (int i = 0; i < 150; ++i)
          n_wrong += predict(own, set.x[i]) != predict(expected, set.x[i]);
        n_wrong += !std::equal(own->w, own->w + 18, expected->w);
        free_and_destroy_model(&own);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(n_wrong == 0);
  free_and_destroy_model(&expected);
}
