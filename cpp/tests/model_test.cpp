// The model that training returns: its predictions, its files, and the parts that it refuses.
#include "maxmargin/base/error.hpp"
#include "maxmargin/model/model_io.hpp"
#include "maxmargin/svm/linear/linear_training.hpp"
#include "maxmargin/svm/one_vs_one.hpp"
#include "tests/clouds.hpp"

#include <doctest/doctest.h>

namespace maxmargin::tests {
namespace {

constexpr index_t kSamples = 90;
const KernelParams kRbf{KernelType::rbf, 0.3, 0.0, 3, {}};

// Of three classes: the first cloud, and the halves of the other.
KernelFit three_classes(const Clouds& clouds, std::vector<index_t>& y) {
  for (index_t i = 0; i < kSamples; ++i)
    y.push_back(clouds.y[i] < 0.0 ? 0 : (clouds.values[3 * i] > 1.0 ? 1 : 2));
  const std::vector<double> C(kSamples, 10.0);
  Control control;
  return train_one_vs_one(clouds.view(), y, 3, C, kRbf, {}, control);
}

std::vector<double> values_of(const KernelModel& model, const Clouds& clouds) {
  std::vector<double> values(static_cast<std::size_t>(kSamples * model.parts().n_machines()));
  Control control;
  model.decision_values(clouds.view(), {}, values.data(), 1, control);
  return values;
}

} // namespace

TEST_CASE("decision values are sums over the expansions, and classes have most votes") {
  const Clouds clouds(kSamples, 3, 3.0);
  std::vector<index_t> y;
  const KernelFit fit = three_classes(clouds, y);
  const KernelModelParts& parts = fit.model.parts();
  const std::vector<double> values = values_of(fit.model, clouds);
  for (index_t p = 0; p < 3; ++p) {
    const KernelModel::Expansion machine = fit.model.expansion(p);
    for (index_t i = 0; i < kSamples; ++i) {
      double f = -parts.rho[p];
      for (std::size_t k = 0; k < machine.places.size(); ++k)
        f += machine.beta[k] * clouds.rbf(i, parts.support[machine.places[k]], 0.3);
      CHECK(values[3 * i + p] == doctest::Approx(f).epsilon(1e-9));
    }
  }
  Control control;
  const std::vector<double> predicted = fit.model.predict(clouds.view(), 2, control);
  index_t n_right = 0;
  for (index_t i = 0; i < kSamples; ++i) n_right += predicted[i] == static_cast<double>(y[i]);
  CHECK(n_right > kSamples * 9 / 10);
}

TEST_CASE("a model goes to a file and back, with its labels and probabilities") {
  const Clouds clouds(kSamples, 3, 3.0);
  std::vector<index_t> y;
  KernelModelParts parts = three_classes(clouds, y).model.parts();
  parts.prob_a.assign(3, -2.0);
  parts.prob_b.assign(3, 0.25);
  const KernelModel model(std::move(parts));
  const KernelModel loaded = read_model(write_model(model, {5.0, -7.0, 9.0}));
  CHECK(loaded.parts().labels == std::vector<double>{-7.0, 5.0, 9.0});
  const double label[] = {5.0, -7.0, 9.0};
  Control control;
  const std::vector<double> of_file = loaded.predict(clouds.view(), 1, control);
  const std::vector<double> classes = model.predict(clouds.view(), 1, control);
  const std::vector<double> p = model.probabilities(values_of(model, clouds));
  for (index_t i = 0; i < kSamples; ++i) {
    CHECK(of_file[i] == label[static_cast<int>(classes[i])]);
    CHECK(p[3 * i] + p[3 * i + 1] + p[3 * i + 2] == doctest::Approx(1.0));
  }
}

TEST_CASE("parts that do not fit together are refused") {
  const Clouds clouds(kSamples, 3, 3.0);
  std::vector<index_t> y;
  const KernelModelParts good = three_classes(clouds, y).model.parts();
  const auto refuses = [&](const auto& spoil) {
    KernelModelParts parts = good;
    spoil(parts);
    CHECK_THROWS_AS(KernelModel(std::move(parts)), InvalidArgument);
  };
  refuses([](KernelModelParts& parts) { parts.rho.pop_back(); });
  refuses([](KernelModelParts& parts) { parts.n_support[0] += 1; });
  refuses([](KernelModelParts& parts) { parts.dual_coef[0] = HUGE_VAL; });
  refuses([](KernelModelParts& parts) { parts.vote_order = {0, 1, 1}; });
  refuses([](KernelModelParts& parts) { parts.n_features = 4; });
  refuses([](KernelModelParts& parts) { parts.type = SvmType::one_class; });
}

TEST_CASE("a linear model's values are products with its weights, and the greatest one wins") {
  const Clouds clouds(kSamples, 3, 6.0);
  std::vector<index_t> y;
  for (index_t i = 0; i < kSamples; ++i) y.push_back(i % 2);
  const std::vector<double> weight(kSamples, 1.0), class_weight(2, 1.0), C{0.1, 1.0};
  Control control;
  const MatrixView X = clouds.view();
  const linear::ClassSamples samples{X, y, weight, class_weight, {}};
  const auto trained = train_linear_classifier(samples, C, {}, {}, control);
  REQUIRE(trained.size() == 2);
  CHECK(trained[1].outcomes.front().stop_reason == optim::StopReason::converged);
  const LinearModelParts& parts = trained[1].model.parts();
  const std::vector<double> f = trained[1].model.decision_values(X, 2, control);
  const std::vector<double> predicted = trained[1].model.predict(X, 1, control);
  for (index_t i = 0; i < kSamples; ++i) {
    CHECK(f[i] == doctest::Approx(clouds.dot(i, parts.coef) + parts.intercept[0]));
    CHECK(predicted[i] == static_cast<double>(y[i]));
  }

  LinearModelParts three{3, 3, {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}, {0.0, 0.0, 0.0}};
  const std::vector<double> rows{1.0, 2.0, 2.0, 0.0, -1.0, -1.0};
  CHECK(LinearModel(three).predict(DenseView<double>{rows.data(), 2, 3}, 1, control) ==
        std::vector<double>{1.0, 0.0});
  const auto refuses = [&](const auto& spoil) {
    LinearModelParts other = three;
    spoil(other);
    CHECK_THROWS_AS(LinearModel(std::move(other)), InvalidArgument);
  };
  refuses([](LinearModelParts& spoiled) { spoiled.coef.pop_back(); });
  refuses([](LinearModelParts& spoiled) { spoiled.coef[1] = NAN; });
  refuses([](LinearModelParts& spoiled) { spoiled.intercept.push_back(0.0); });
  refuses([](LinearModelParts& spoiled) { spoiled.n_classes = 2; });
  refuses([](LinearModelParts& spoiled) { spoiled.n_features = -1; });
}

} // namespace maxmargin::tests
