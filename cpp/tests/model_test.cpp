// The model that training returns: its predictions, its files, and the parts that it refuses.
#include "maxmargin/base/error.hpp"
#include "maxmargin/model/linear/liblinear_file.hpp"
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

// As LIBLINEAR 2.30 writes a file.
const std::string kLiblinear = "solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias 2\n"
                               "w\n0.25 \n-1 \n0.5 \n";

TEST_CASE("a linear model goes to LIBLINEAR's file and back") {
  for (const index_t n_classes : {0, 2, 3}) {
    const index_t n_functions = n_classes == 3 ? 3 : 1;
    LinearModelParts parts{2, n_classes, {}, {}};
    for (index_t k = 0; k < n_functions; ++k) {
      parts.coef.push_back(0.1 * static_cast<double>(k + 1));
      parts.coef.push_back(-1.0 / 3.0);
      parts.intercept.push_back(1e-300 * static_cast<double>(k));
    }
    const std::vector<double> labels = std::vector<double>{-2.0, 5.0, 7.0};
    const std::string text =
        write_linear_model(LinearModel(parts), {labels.begin(), labels.begin() + n_classes});
    CHECK(is_linear_model(text));
    const LabelledLinearModel read = read_linear_model(text);
    CHECK(read.model.parts().coef == parts.coef);
    CHECK(read.model.parts().intercept == parts.intercept);
    CHECK(read.model.parts().n_classes == n_classes);
    CHECK(std::ssize(read.labels) == n_classes);
    CHECK_THROWS_AS(read_linear_model(text.substr(0, text.size() - 3)), InvalidArgument);
  }
}

TEST_CASE("LIBLINEAR's function is positive for its first label") {
  const LabelledLinearModel read = read_linear_model(kLiblinear);
  CHECK(read.labels == std::vector{1.0, -1.0});
  CHECK(read.model.parts().coef == AlignedVector<double>{-0.25, 1.0});
  CHECK(read.model.parts().intercept == std::vector{-1.0});
  const std::vector<double> X{4.0, 1.0, 0.0, 2.0, 0.0, 1.0};
  Control control;
  const DenseView<double> rows{X.data(), 3, 2};
  CHECK(read.model.predict(rows, 1, control) == std::vector{0.0, 1.0, 1.0}); // 1, -1, and 0 is -1
}

TEST_CASE("what is wrong in a LIBLINEAR file is named") {
  const auto refused = [](const char* from, const char* to) {
    std::string text = kLiblinear;
    text.replace(text.find(from), std::string(from).size(), to);
    try {
      read_linear_model(text);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused("L2R_LR", "L3R_LR") == "line 1: solver_type 'L3R_LR' is none of LIBLINEAR's");
  CHECK(refused("nr_class 2", "nr_class 3") ==
        "line 3: label must have nr_class numbers, at least one");
  CHECK(refused("label 1 -1", "label 1 1") == "line 3: label must not name a class twice");
  CHECK(refused("nr_feature 2", "nr_feature -2") ==
        "line 4: nr_feature must be a number from 0 to 2147483646");
  CHECK(refused("nr_feature 2", "nr_feature 2000000000") ==
        "line 9: the text ends after the weights of 3 of 2000000001 features");
  CHECK(refused("nr_feature 2", "nr_feature 1") == "line 9: more weights than features");
  CHECK(refused("bias 2\n", "") == "line 5: bias is missing before the line 'w'");
  CHECK(refused("0.25", "nan") == "line 7: expected 1 finite weights, got 'nan'");
  CHECK(refused("0.25", "0.25 1") == "line 7: more weights than functions, got '1 '");
  CHECK(refused("w\n", "v\n") == "line 6: not a LIBLINEAR model: unknown keyword, got 'v'");
  CHECK(refused("L2R_LR", "ONECLASS_SVM") != "");
}

} // namespace maxmargin::tests
