// Mistakes of a caller in C++: each is refused before any work, by a message that names the argument.
#include "maxmargin/base/error.hpp"
#include "maxmargin/model/decision/row_predictor.hpp"
#include "maxmargin/svm/linear/linear_training.hpp"
#include "maxmargin/svm/one_vs_one.hpp"
#include "maxmargin/svm/single_machine.hpp"
#include "tests/clouds.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <string>

namespace maxmargin::tests {
namespace {

constexpr index_t kSamples = 30;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// What a training takes, all of it right.
struct Input {
  Input() : clouds(kSamples, 3, 1.0), C(kSamples, 1.0), z(clouds.y) {
    for (index_t i = 0; i < kSamples; ++i) y.push_back(i % 3);
  }
  KernelFit svc() {
    return train_one_vs_one(clouds.view(), y, n_classes, C, kernel, options, control);
  }
  KernelFit svr() { return train_svr(clouds.view(), z, C, epsilon, kernel, options, control); }
  KernelFit nu_svr() { return train_nu_svr(clouds.view(), z, C, nu, kernel, options, control); }
  KernelFit one_class() { return train_one_class(clouds.view(), C, nu, kernel, options, control); }
  KernelFit quantile_svr() {
    return train_quantile_svr(clouds.view(), z, C, quantiles, kernel, options, control);
  }

  Clouds clouds;
  std::vector<index_t> y;
  index_t n_classes = 3;
  std::vector<double> C, z, quantiles = {0.5};
  double epsilon = 0.1, nu = 0.5;
  KernelParams kernel;
  SvcOptions options;
  Control control;
};

// The message with which all that train refuse what `spoil` makes of the input.
template <class Spoil, class... Train>
void refuses(const char* argument, const Spoil& spoil, const Train&... train) {
  const auto check = [&](const auto& one) {
    Input input;
    spoil(input);
    std::string message;
    try {
      (input.*one)();
    } catch (const InvalidArgument& error) {
      message = error.what();
    }
    CHECK_MESSAGE(message.find(argument) != std::string::npos, argument, ": ", message);
  };
  (check(train), ...);
}

template <class Spoil> void all_refuse(const char* argument, const Spoil& spoil) {
  refuses(argument, spoil, &Input::svc, &Input::svr, &Input::nu_svr, &Input::one_class,
          &Input::quantile_svr);
}

template <class Spoil> void regressions_refuse(const char* argument, const Spoil& spoil) {
  refuses(argument, spoil, &Input::svr, &Input::nu_svr, &Input::quantile_svr);
}

} // namespace

TEST_CASE("what is right is trained") {
  CHECK_NOTHROW(Input().svc());
  CHECK_NOTHROW(Input().svr());
  CHECK_NOTHROW(Input().nu_svr());
  CHECK_NOTHROW(Input().one_class());
  CHECK_NOTHROW(Input().quantile_svr());
}

TEST_CASE("sizes that do not fit are refused") {
  all_refuse("C must have", [](Input& input) { input.C.pop_back(); });
  all_refuse("C must have", [](Input& input) { input.C.clear(); });
  regressions_refuse("z must have", [](Input& input) { input.z.resize(3); });
  refuses("y must have", [](Input& input) { input.y.resize(10); }, &Input::svc);
}

TEST_CASE("numbers that training could not do with are refused") {
  for (const double bad : {-1.0, kNaN}) {
    all_refuse("C must hold", [&](Input& input) { input.C[3] = bad; });
    all_refuse("gamma", [&](Input& input) { input.kernel.gamma = bad; });
    all_refuse("tol", [&](Input& input) { input.options.solver.tol = bad; });
    refuses("epsilon", [&](Input& input) { input.epsilon = bad; }, &Input::svr);
  }
  all_refuse("coef0", [](Input& input) { input.kernel.coef0 = HUGE_VAL; });
  all_refuse("degree", [](Input& input) { input.kernel.degree = -1; });
  for (const double bad : {kNaN, HUGE_VAL})
    regressions_refuse("z must hold", [&](Input& input) { input.z[1] = bad; });
  for (const double bad : {0.0, 1.5, -1.0, kNaN}) {
    refuses("nu", [&](Input& input) { input.nu = bad; }, &Input::nu_svr, &Input::one_class);
    refuses("nu", [&](Input& input) { input.options.nu = bad; }, &Input::svc);
  }
  for (const double bad : {0.0, 1.0, kNaN})
    refuses("quantiles", [&](Input& input) { input.quantiles[0] = bad; }, &Input::quantile_svr);
  refuses("n_classes", [](Input& input) { input.n_classes = 1; }, &Input::svc);
  for (const index_t bad : {-1, 3})
    refuses("y must hold", [&](Input& input) { input.y[7] = bad; }, &Input::svc);
}

TEST_CASE("samples are refused by the number of the row as given") {
  all_refuse("row 16", [](Input& input) { input.clouds.values[3 * 16] = kNaN; });
  for (const KernelType type : {KernelType::chi_squared, KernelType::histogram_intersection}) {
    const auto has_negative = [&](Input& input) {
      input.kernel.type = type;
      for (double& value : input.clouds.values) value = std::abs(value);
      input.clouds.values[3 * 16 + 1] = -0.5;
    };
    all_refuse("row 16", has_negative);
  }
}

TEST_CASE("a kernel of numbers >= 0 predicts no others") {
  Input input;
  input.kernel.type = KernelType::chi_squared;
  for (double& value : input.clouds.values) value = std::abs(value);
  const KernelFit fit = input.svr();
  const RowPredictor rows(fit.model, false);
  const auto memory = rows.memory();
  const double row[] = {1.0, -0.5, 2.0}, good[] = {1.0, 0.5, 2.0};
  const DenseView<double> X{row, 1, 3};
  double value = 7.0;
  CHECK_THROWS_AS(fit.model.decision_values(X, {}, &value, 1, input.control), InvalidArgument);
  CHECK_THROWS_AS(rows.predict(X, *memory, nullptr), InvalidArgument);
  CHECK(value == 7.0);
  CHECK_NOTHROW(rows.predict(DenseView<double>{good, 1, 3}, *memory, nullptr));
}

TEST_CASE("linear machines refuse costs and targets that are no numbers") {
  const Input input;
  Control control;
  const std::vector<double> ones(kSamples, 1.0);
  const auto message = [&](std::vector<double> y, std::vector<double> weight, double C,
                           double tol) {
    const double costs[] = {C};
    linear::LinearOptions options;
    options.tol = tol;
    try {
      linear::LinearFormulation formulation;
      formulation.loss = linear::LinearLoss::epsilon_insensitive;
      train_linear_regression(input.clouds.view(), y, weight, costs, formulation, options, control);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("trained");
  };
  std::vector<double> bad = ones;
  bad[5] = kNaN;
  CHECK(message(ones, ones, 1.0, 1e-3) == "trained");
  CHECK(message(bad, ones, 1.0, 1e-3).starts_with("y must"));
  CHECK(message(ones, bad, 1.0, 1e-3).starts_with("weights must"));
  for (const double C : {0.0, -1.0, kNaN, HUGE_VAL})
    CHECK(message(ones, ones, C, 1e-3).starts_with("C must"));
  CHECK(message(ones, ones, 1.0, kNaN).starts_with("tol must"));
}

} // namespace maxmargin::tests
