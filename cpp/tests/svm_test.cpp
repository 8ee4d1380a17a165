// The formulations, by the objectives of their definitions.
#include "maxmargin/svm/one_vs_one.hpp"
#include "maxmargin/svm/single_machine.hpp"
#include "tests/clouds.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <functional>

namespace maxmargin::tests {
namespace {

constexpr index_t kSamples = 120;
constexpr double kTol = 1e-6;
const KernelParams kRbf{KernelType::rbf, 0.3, 0.0, 3, {}};

template <class Options = TrainingOptions> Options tight() {
  Options options;
  options.solver.tol = kTol;
  return options;
}

// 1/2 ||w||^2 + the sum of the losses of f(x_i) = w.phi(x_i) - rho.
double primal(const KernelFit& fit, const Clouds& clouds,
              const std::function<double(index_t, double)>& loss) {
  Control control;
  std::vector<double> f(kSamples);
  fit.model.decision_values(clouds.view(), {}, f.data(), 1, control);
  const KernelModelParts& parts = fit.model.parts();
  double sum = 0.0;
  for (std::size_t k = 0; k < parts.support.size(); ++k)
    sum += 0.5 * parts.dual_coef[k] * (f[parts.support[k]] + parts.rho[0]);
  for (index_t i = 0; i < kSamples; ++i) sum += loss(i, f[i]);
  return sum;
}

void check(const KernelFit& fit, double objective) {
  const Certificate& proof = fit.certificates[0];
  CHECK(proof.stop_reason == optim::StopReason::converged);
  CHECK(proof.primal_objective == doctest::Approx(objective).epsilon(1e-9));
  CHECK(std::abs(proof.primal_objective + proof.dual_objective) < 1e-4 * std::abs(objective));
}

} // namespace

TEST_CASE("classifiers") {
  const Clouds clouds(kSamples, 3, 1.5);
  const std::vector<double> C(kSamples, 2.0);
  std::vector<index_t> y; // the first class is the positive one
  for (const double label : clouds.y) y.push_back(label > 0.0 ? 0 : 1);
  Control control;
  auto options = tight<SvcOptions>();
  for (const Loss loss : {Loss::hinge, Loss::squared_hinge}) {
    options.loss = loss;
    const KernelFit fit = train_one_vs_one(clouds.view(), y, 2, C, kRbf, options, control);
    check(fit, primal(fit, clouds, [&](index_t i, double f) {
            const double slack = std::max(0.0, 1.0 - clouds.y[i] * f);
            return 2.0 * (loss == Loss::hinge ? slack : slack * slack);
          }));
  }
  const std::vector<double> unbounded(kSamples, HUGE_VAL);
  const KernelFit hard = train_one_vs_one(clouds.view(), y, 2, unbounded, kRbf, options, control);
  check(hard, primal(hard, clouds, [&](index_t i, double f) {
          CHECK(clouds.y[i] * f > 1.0 - 2.0 * kTol);
          return 0.0;
        }));
  options.nu = 0.4;
  const KernelFit nu = train_one_vs_one(clouds.view(), y, 2, C, kRbf, options, control);
  const double bound = nu.model.parts().equivalent[0] * 2.0; // C times the weight
  check(nu, primal(nu, clouds, [&](index_t i, double f) {
          return bound * (std::max(0.0, 1.0 - clouds.y[i] * f) - 0.4);
        }));
}

TEST_CASE("machines of the whole training set") {
  const Clouds clouds(kSamples, 3, 1.0);
  const std::vector<double> C(kSamples, 2.0);
  std::vector<double> z;
  for (index_t i = 0; i < kSamples; ++i) z.push_back(clouds.values[3 * i] + clouds.y[i]);
  Control control;
  const auto options = tight();
  const auto tube = [&](double epsilon) {
    return [&, epsilon](index_t i, double f) {
      return 2.0 * std::max(0.0, std::abs(z[i] - f) - epsilon);
    };
  };
  const KernelFit svr = train_svr(clouds.view(), z, C, 0.1, kRbf, options, control);
  check(svr, primal(svr, clouds, tube(0.1)));

  const KernelFit nu = train_nu_svr(clouds.view(), z, C, 0.3, kRbf, options, control);
  const double epsilon = nu.model.parts().equivalent[0], sum = 0.3 * 2.0 * kSamples;
  CHECK(epsilon > 0.0);
  check(nu, primal(nu, clouds, tube(epsilon)) + sum * epsilon);

  const KernelFit one = train_one_class(clouds.view(), C, 0.3, kRbf, options, control);
  check(one, primal(one, clouds, [](index_t, double f) { return 2.0 * std::max(0.0, -f); }) -
                 sum * one.model.parts().rho[0]);
}

} // namespace maxmargin::tests
