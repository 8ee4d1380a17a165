// Fits a support vector machine, checks its certificate, predicts, saves and loads.
#include "maxmargin/model/model_io.hpp"
#include "maxmargin/svm/one_vs_one.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>

int main() {
  using namespace maxmargin;
  const index_t n = 500;
  std::mt19937 random(0);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  std::vector<index_t> y; // whether a point is far from the origin
  for (index_t i = 0; i < n; ++i) {
    const double a = normal(random), b = normal(random);
    values.insert(values.end(), {a, b});
    y.push_back(a * a + b * b > 1.4 ? 1 : 0);
  }
  const DenseView<double> X{values.data(), n, 2};
  const std::vector<double> C(n, 10.0);
  KernelParams kernel; // RBF
  kernel.gamma = 0.5;
  Control control;
  const KernelFit fit = train_one_vs_one(X, y, 2, C, kernel, {}, control);
  const Certificate& proof = fit.certificates[0];
  const double gap = (proof.primal_objective + proof.dual_objective) / proof.primal_objective;

  std::ofstream("rings.model") << write_model(fit.model);
  std::ifstream file("rings.model");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const KernelModel loaded = read_model(text);

  std::vector<double> f(n), f_loaded(n);
  fit.model.decision_values(X, {}, f.data(), 0, control);
  loaded.decision_values(X, {}, f_loaded.data(), 0, control);
  const std::vector<double> labels = fit.model.predict(X, 0, control);
  index_t n_right = 0;
  for (index_t i = 0; i < n; ++i) n_right += labels[i] == static_cast<double>(y[i]);
  std::printf("gap %.1e of the objective, %td of %td right\n", gap, n_right, n);
  return gap < 1e-3 && n_right > n * 95 / 100 && f == f_loaded ? 0 : 1;
}
