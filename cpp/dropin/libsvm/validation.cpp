#include "dropin/libsvm/validation.hpp"

#include "dropin/shuffle.hpp"
#include "maxmargin/base/random.hpp"
#include "maxmargin/model/votes.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>

namespace maxmargin::dropin {
namespace {

constexpr std::size_t kCalibrationFolds = 5;

using Rows = std::vector<index_t>;

struct Fold {
  Rows trained, held_out;
};

// Folds of groups that are each divided evenly.
std::vector<Fold> folds_of(const std::vector<Rows>& groups, std::size_t n_folds) {
  std::vector<Fold> folds(n_folds);
  for (std::size_t k = 0; k < n_folds; ++k)
    for (const Rows& group : groups) {
      const auto begin = begin_of_fold(k, n_folds, group.size());
      const auto end = begin_of_fold(k + 1, n_folds, group.size());
      const auto part = std::span(group).subspan(begin, end - begin);
      folds[k].held_out.insert(folds[k].held_out.end(), part.begin(), part.end());
    }
  for (std::size_t k = 0; k < n_folds; ++k)
    for (std::size_t other = 0; other < n_folds; ++other) {
      if (other == k) continue;
      const Rows& rows = folds[other].held_out;
      folds[k].trained.insert(folds[k].trained.end(), rows.begin(), rows.end());
    }
  return folds;
}

std::vector<double> of_rows(std::span<const double> values, const Rows& rows) {
  std::vector<double> some;
  for (const index_t row : rows) some.push_back(values[static_cast<std::size_t>(row)]);
  return some;
}

// What svm_predict, or svm_predict_probability, gives for each row of X.
std::vector<double> predictions(const Machines& machines, const std::vector<Sigmoid>& sigmoids,
                                const SampleMatrix& X, const svm_parameter& param) {
  const auto n = static_cast<std::size_t>(n_rows(view_of(X)));
  const std::vector<int>& labels = machines.classes.labels;
  if (!machines.model) return std::vector<double>(n, labels.empty() ? 0.0 : labels.front());
  std::vector<double> values = machines.values(view_of(X));
  if (param.svm_type == ONE_CLASS)
    for (double& value : values) value = value > 0.0 ? 1.0 : -1.0;
  if (labels.empty()) return values;
  std::vector<double> predicted, a, b;
  const index_t n_classes = std::ssize(labels);
  const Rows order = identity_order(n_classes);
  Rows votes(labels.size());
  for (const Sigmoid& sigmoid : sigmoids) a.push_back(sigmoid.a), b.push_back(sigmoid.b);
  const auto n_machines = static_cast<std::size_t>(n_pairs(n_classes));
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = std::span<const double>(values).subspan(i * n_machines, n_machines);
    index_t best = 0;
    if (sigmoids.empty()) {
      best = vote_winner(row.data(), order, votes);
    } else {
      const std::vector<double> p = pair_probabilities(row, a, b, n_classes);
      best = std::ranges::max_element(p) - p.begin();
    }
    predicted.push_back(labels[static_cast<std::size_t>(best)]);
  }
  return predicted;
}

// The decision values of a pair's machines for the samples of each fold, trained on the others.
// The first n_first rows are the first class.
std::vector<double> held_out_values(const TrainingSet& set, const Rows& rows, std::size_t n_first,
                                    const svm_parameter& param) {
  Rows order = identity_order(std::ssize(rows));
  shuffle(order);
  std::vector<double> y(rows.size(), -1.0), values(rows.size());
  std::fill_n(y.begin(), n_first, 1.0);
  const auto in_set = [&](Rows places) {
    for (index_t& place : places) place = rows[static_cast<std::size_t>(place)];
    return places;
  };
  for (const Fold& fold : folds_of({order}, kCalibrationFolds)) {
    const std::vector<double> targets = of_rows(y, fold.trained);
    const Rows basis = in_set(fold.trained);
    std::vector<double> found(fold.held_out.size(), targets.empty() ? 0.0 : targets.front());
    if (std::ranges::adjacent_find(targets, std::not_equal_to{}) != targets.end())
      found = train(set.subset(basis), targets, param)
                  .values(view_of(set.queries(in_set(fold.held_out), basis)));
    for (std::size_t k = 0; k < found.size(); ++k)
      values[static_cast<std::size_t>(fold.held_out[k])] = found[k];
  }
  return values;
}

} // namespace

std::vector<Sigmoid> calibrated(const TrainingSet& set, const Classes& classes,
                                const svm_parameter& param) {
  svm_parameter of_pair = param;
  int labels[] = {1, -1};
  of_pair.probability = 0;
  of_pair.C = 1.0;
  of_pair.nr_weight = 2;
  of_pair.weight_label = labels;
  std::vector<Sigmoid> sigmoids;
  const std::vector<double> C = bounds_of(classes, param);
  for (const auto [i, j] : pairs_of(std::ssize(classes.labels))) {
    double weights[] = {C[static_cast<std::size_t>(i)], C[static_cast<std::size_t>(j)]};
    of_pair.weight = weights;
    Rows rows = classes.groups[static_cast<std::size_t>(i)];
    const std::size_t n_first = rows.size();
    const Rows& second = classes.groups[static_cast<std::size_t>(j)];
    rows.insert(rows.end(), second.begin(), second.end());
    const std::vector<double> values = held_out_values(set, rows, n_first, of_pair);
    const auto is_first = std::make_unique<bool[]>(rows.size());
    std::fill_n(is_first.get(), n_first, true);
    Control control;
    sigmoids.push_back(fit_sigmoid(values, {is_first.get(), rows.size()},
                                   std::vector<double>(rows.size(), 1.0), control));
  }
  return sigmoids;
}

std::vector<double> cross_validated(const TrainingSet& set, std::span<const double> y,
                                    const svm_parameter& param, int n_folds) {
  const bool is_classifier = param.svm_type == C_SVC || param.svm_type == NU_SVC;
  const auto n = static_cast<int>(y.size());
  std::vector<Rows> groups{identity_order(n)};
  if (is_classifier && n_folds < n) groups = Classes(y).groups;
  for (Rows& group : groups) shuffle(group);
  std::vector<double> predicted(y.size(), std::numeric_limits<double>::quiet_NaN());
  for (const Fold& fold : folds_of(groups, static_cast<std::size_t>(std::clamp(n_folds, 0, n)))) {
    const TrainingSet part = set.subset(fold.trained);
    const std::vector<double> targets = of_rows(y, fold.trained);
    std::vector<Sigmoid> sigmoids;
    if (is_classifier && param.probability != 0)
      sigmoids = calibrated(part, Classes(targets), param);
    const std::vector<double> found = predictions(train(part, targets, param), sigmoids,
                                                  set.queries(fold.held_out, fold.trained), param);
    for (std::size_t k = 0; k < found.size(); ++k)
      predicted[static_cast<std::size_t>(fold.held_out[k])] = found[k];
  }
  return predicted;
}

} // namespace maxmargin::dropin
