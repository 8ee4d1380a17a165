// Cross-validation, with folds by LIBLINEAR's sequence of rand().
#include "dropin/liblinear/library.hpp"
#include "dropin/nodes.hpp"
#include "dropin/shuffle.hpp"
#include "maxmargin/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace maxmargin::dropin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Fold {
  std::vector<feature_node*> x; // of the samples that train
  std::vector<double> y;
  std::vector<index_t> held_out;

  problem training(const problem& all) {
    return {static_cast<int>(x.size()), all.n, y.data(), x.data(), all.bias};
  }
};

std::vector<Fold> drawn_folds(const problem& problem, int n_folds) {
  if (n_folds > problem.l) {
    n_folds = problem.l;
    printer()("WARNING: # folds > # data. Will use # folds = # data instead (i.e., leave-one-out "
              "cross validation)\n");
  }
  require(n_folds >= 2, "there must be two folds or more, of as many samples");
  const auto l = static_cast<std::size_t>(problem.l), k = static_cast<std::size_t>(n_folds);
  std::vector<index_t> order(l);
  std::iota(order.begin(), order.end(), index_t{0});
  shuffle(order);
  std::vector<Fold> folds(k);
  for (std::size_t f = 0; f < k; ++f)
    for (std::size_t i = 0; i < l; ++i) {
      if (begin_of_fold(f, k, l) <= i && i < begin_of_fold(f + 1, k, l)) {
        folds[f].held_out.push_back(order[i]);
      } else {
        folds[f].x.push_back(problem.x[order[i]]);
        folds[f].y.push_back(problem.y[order[i]]);
      }
    }
  return folds;
}

void predict_held_out(const model& model, const Fold& fold, const problem& problem,
                      double* target) {
  for (const index_t i : fold.held_out) target[i] = predict(&model, problem.x[i]);
}

// The share of right classes, or the mean squared error.
double score_of(const problem& problem, bool is_regression, std::span<const double> target) {
  double sum = 0.0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const double miss = target[i] - problem.y[i];
    sum += is_regression ? miss * miss : static_cast<double>(miss == 0.0);
  }
  return sum / static_cast<double>(target.size());
}

// The least C that find_parameters tries.
double first_C(const problem& problem, const parameter& param) {
  double longest = 0.0, targets = 0.0, losses = 0.0;
  for (const feature_node* row : samples_of(problem)) {
    double sum = 0.0;
    for_nodes(row, [&](int, double value) { sum += value * value; });
    longest = std::max(longest, sum);
  }
  for (const double y : targets_of(problem)) {
    const double miss = std::max(std::abs(y) - param.p, 0.0);
    targets += std::abs(y);
    losses += miss * miss;
  }
  double C = 1.0;
  if (param.solver_type == L2R_LR)
    C = 1.0 / (problem.l * longest);
  else if (param.solver_type == L2R_L2LOSS_SVC)
    C = 1.0 / (2 * problem.l * longest);
  else if (param.solver_type == L2R_L2LOSS_SVR)
    C = losses > 0.0 ? 0.01 * losses / (8.0 * targets * targets * longest) : kInfinity;
  return std::pow(2.0, std::floor(std::log(C) / std::log(2.0)));
}

struct Choice {
  double C, score;
};

// Along C = first, 2 first, ..., until the weights of all folds have stayed as they are five times.
Choice best_C(const problem& problem, parameter param, double first, double last,
              std::vector<Fold>& folds) {
  constexpr int kUnchanged = 5;
  const bool is_svr = is_regression(param.solver_type);
  Choice best{first, is_svr ? kInfinity : 0.0};
  std::vector<OwnedModel> before(folds.size());
  std::vector<double> target(static_cast<std::size_t>(problem.l));
  int n_unchanged = 0;
  bool has_changed = false;
  for (param.C = first; param.C <= last; param.C *= 2.0) {
    for (std::size_t f = 0; f < folds.size(); ++f) {
      const double* const start = before[f] ? before[f]->w : nullptr;
      OwnedModel model = trained(folds[f].training(problem), param, start, Reports::none);
      predict_held_out(*model, folds[f], problem, target.data());
      const std::size_t n = n_weights(*model) * static_cast<std::size_t>(n_functions(*model));
      has_changed = has_changed || (before[f] && !std::equal(model->w, model->w + n, before[f]->w));
      before[f] = std::move(model);
    }
    const double score = score_of(problem, is_svr, target);
    if (is_svr ? score < best.score : score > best.score) best = {param.C, score};
    const double log2_C = std::log(param.C) / std::log(2.0);
    if (is_svr)
      printer()("log2c=%7.2f\tp=%7.2f\tMean squared error=%g\n", log2_C, param.p, score);
    else
      printer()("log2c=%7.2f\trate=%g\n", log2_C, 100.0 * score);
    n_unchanged = has_changed ? 0 : n_unchanged + 1;
    has_changed = false;
    if (n_unchanged == kUnchanged) return best;
  }
  printer()("WARNING: maximum C reached.\n");
  return best;
}

struct Found {
  double C, p, score;
};

Found best_parameters(const problem& problem, parameter param, int n_folds, double start_C,
                      double start_p) {
  constexpr double kMostC = 1024.0, kMostRegressionC = 1048576.0;
  constexpr int kWidths = 20;
  std::vector<Fold> folds = drawn_folds(problem, n_folds);
  const auto from = [&](double most) {
    return std::min(start_C > 0.0 ? start_C : first_C(problem, param), most);
  };
  if (!is_regression(param.solver_type)) {
    const Choice best = best_C(problem, param, from(kMostC), kMostC, folds);
    return {best.C, -1.0, best.score};
  }
  double widest = 0.0;
  for (const double y : targets_of(problem)) widest = std::max(widest, std::abs(y));
  Found found{0.0, -1.0, kInfinity};
  const double at = start_p / (widest / kWidths);
  for (int i = start_p > 0.0 && at < kWidths - 1 ? static_cast<int>(at) : kWidths - 1; i >= 0;
       --i) {
    param.p = i * widest / kWidths;
    const Choice best = best_C(problem, param, from(kMostRegressionC), kMostRegressionC, folds);
    if (best.score < found.score) found = {best.C, param.p, best.score};
  }
  return found;
}

} // namespace
} // namespace maxmargin::dropin

using namespace maxmargin::dropin;

void cross_validation(const problem* problem, const parameter* param, int nr_fold, double* target) {
  if (problem != nullptr && target != nullptr)
    std::fill_n(target, std::max(problem->l, 0), kNaN); // what a failure leaves
  reported(0, [&] {
    check(problem, param);
    for (Fold& fold : drawn_folds(*problem, nr_fold))
      predict_held_out(*trained(fold.training(*problem), *param, param->init_sol, Reports::printed),
                       fold, *problem, target);
    return 0;
  });
}

void find_parameters(const problem* problem, const parameter* param, int nr_fold, double start_C,
                     double start_p, double* best_C, double* best_p, double* best_score) {
  *best_C = *best_p = *best_score = -1.0; // what a failure leaves
  reported(0, [&] {
    check(problem, param);
    maxmargin::require(param->solver_type == L2R_LR || param->solver_type == L2R_L2LOSS_SVC ||
                           param->solver_type == L2R_L2LOSS_SVR,
                       "parameters are found for the solvers L2R_LR, L2R_L2LOSS_SVC and "
                       "L2R_L2LOSS_SVR");
    const Found found = best_parameters(*problem, *param, nr_fold, start_C, start_p);
    *best_C = found.C;
    *best_p = found.p;
    *best_score = found.score;
    return 0;
  });
}
