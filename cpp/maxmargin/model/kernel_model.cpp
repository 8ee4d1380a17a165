#include "maxmargin/model/kernel_model.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/sums.hpp"
#include "maxmargin/kernel/kernel_function.hpp"
#include "maxmargin/model/decision/decision.hpp"
#include "maxmargin/model/decision/given_values.hpp"
#include "maxmargin/model/decision/pair_values.hpp"
#include "maxmargin/model/votes.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

namespace maxmargin {
namespace {

constexpr index_t kGrain = 64; // samples

// Values of the machines that stand in memory together, 64 MB, where classes are what is asked for.
constexpr index_t kMostValues = index_t{1} << 23;

bool is_kernel_finite(const KernelParams& kernel) {
  return std::isfinite(kernel.gamma) && std::isfinite(kernel.coef0) && all_finite(kernel.factors);
}

void check_classes(const KernelModelParts& parts) {
  const index_t n_classes = parts.n_classes();
  if (!is_classifier(parts.type)) {
    require(n_classes == 0 && parts.labels.empty() && parts.vote_order.empty(),
            "only classifiers have classes");
    const bool may_be_many = is_regression(parts.type) && parts.n_machines() > 1;
    require(parts.n_machines() == 1 || may_be_many, "rho must have one element");
    return;
  }
  require(n_classes >= 2, "a classifier needs at least two classes");
  require(std::ranges::min(parts.n_support) >= 0 &&
              std::accumulate(parts.n_support.begin(), parts.n_support.end(), index_t{0}) ==
                  parts.n_support_vectors(),
          "n_support must add up to the number of support vectors");
  require(parts.n_machines() == n_pairs(n_classes),
          "rho must have n_classes (n_classes - 1) / 2 elements");
  require(parts.labels.empty() || std::ssize(parts.labels) == n_classes,
          "labels must have n_classes elements");
  std::vector<index_t> order = parts.vote_order;
  std::ranges::sort(order);
  std::vector<index_t> every(static_cast<std::size_t>(n_classes));
  std::iota(every.begin(), every.end(), index_t{0});
  require(order == every, "vote_order must hold every class once");
}

void check_support_vectors(const KernelModelParts& parts) {
  const MatrixView vectors = view_of(parts.support_vectors);
  check_samples(vectors);
  require(parts.support.empty() || std::ssize(parts.support) == n_rows(vectors),
          "support must have an element for every support vector");
  std::vector<index_t> rows = parts.support;
  std::ranges::sort(rows);
  require((rows.empty() || rows.front() >= 0) && std::ranges::adjacent_find(rows) == rows.end(),
          "support must hold different rows");
  if (!parts.is_precomputed()) {
    require(n_cols(vectors) == parts.n_features, "support_vectors must have n_features columns");
    return;
  }
  const auto* numbers = std::get_if<DenseSamples<double>>(&parts.support_vectors);
  require(numbers != nullptr && numbers->cols == 1 &&
              std::ranges::all_of(numbers->values,
                                  [&](double number) {
                                    return number >= 1.0 && std::trunc(number) == number &&
                                           number <= static_cast<double>(parts.n_features);
                                  }),
          "support_vectors of a precomputed kernel must be numbers of training samples");
}

void check_numbers(const KernelModelParts& parts) {
  require(
      std::ssize(parts.dual_coef) == parts.n_coef_rows() * parts.n_support_vectors(),
      "dual_coef must have a row for every other class, or machine of a regression, and a column "
      "for every support vector");
  require(all_finite(parts.dual_coef), "dual_coef is not finite");
  require(all_finite(parts.rho), "rho is not finite");
  require(is_kernel_finite(parts.kernel), "the numbers of the kernel are not finite");
  const std::size_t n_sigmoids = parts.prob_a.size();
  require(n_sigmoids == parts.prob_b.size() &&
              (n_sigmoids == 0 || (is_classifier(parts.type) && n_sigmoids == parts.rho.size())) &&
              all_finite(parts.prob_a) && all_finite(parts.prob_b),
          "sigmoids must be empty or have a finite element for each rho of a classifier");
  require(parts.equivalent.empty() || parts.equivalent.size() == parts.rho.size(),
          "equivalent must be empty or have an element for each rho");
  require(!parts.noise_scale || (is_regression(parts.type) && std::isfinite(*parts.noise_scale)),
          "noise_scale must be finite, and only a regression has one");
  const auto& marks = parts.density_marks;
  require(marks.empty() ||
              (parts.type == SvmType::one_class && std::ssize(marks) == kDensityMarks &&
               all_finite(marks) && std::ranges::is_sorted(marks)),
          "density_marks must be empty or ten finite numbers, ascending, of a one-class model");
}

} // namespace

struct KernelModel::Packed {
  std::once_flag once;
  std::unique_ptr<Decision> decision;
  std::unique_ptr<PairValues> pairs; // in its place
};

KernelModel::KernelModel(KernelModelParts parts)
    : parts_(std::move(parts)), packed_(std::make_unique<Packed>()) {
  check_classes(parts_);
  check_support_vectors(parts_);
  check_numbers(parts_);
}
KernelModel::KernelModel(KernelModel&&) noexcept = default;
KernelModel::~KernelModel() = default;

KernelModel::Expansion KernelModel::expansion(index_t machine) const {
  require(machine >= 0 && machine < parts_.n_machines(), "there is no such machine");
  Expansion expansion;
  const index_t n = parts_.n_support_vectors();
  const auto take = [&](index_t begin, index_t end, index_t row) {
    for (index_t k = begin; k < end; ++k) {
      expansion.places.push_back(k);
      expansion.beta.push_back(parts_.dual_coef[static_cast<std::size_t>(row * n + k)]);
    }
  };
  if (!is_classifier(parts_.type)) {
    take(0, n, machine);
    return expansion;
  }
  const ClassPair pair = pair_of(machine, parts_.n_classes());
  const auto first = parts_.n_support.begin();
  const auto take_class = [&](index_t own, index_t other) {
    const index_t begin = std::accumulate(first, first + own, index_t{0});
    take(begin, begin + first[own], coef_row(own, other));
  };
  take_class(pair.first, pair.second);
  take_class(pair.second, pair.first);
  return expansion;
}

void KernelModel::decision_values(const MatrixView& X, std::span<const double> factors, double* out,
                                  int threads, Control& control) const {
  if (parts_.is_precomputed()) return given_values(X, out, threads, control);
  require(n_cols(X) == parts_.n_features, "X must have as many features as the support vectors");
  check_signs(X, parts_.kernel);
  std::call_once(packed_->once, [&] {
    if (PairValues::serves(parts_))
      packed_->pairs = std::make_unique<PairValues>(parts_, control);
    else
      packed_->decision = std::make_unique<Decision>(parts_, false, control);
  });
  const auto evaluate = [&](const auto& machines) {
    if (n_rows(X) != 1) return machines.evaluate(X, factors, out, threads, control);
    RowWorkspace work;
    machines.evaluate_row(X, factors, out, work);
  };
  if (packed_->pairs)
    evaluate(*packed_->pairs);
  else
    evaluate(*packed_->decision);
}

void KernelModel::given_values(const MatrixView& X, double* out, int threads,
                               Control& control) const {
  const bool with_all = n_cols(X) == parts_.n_features;
  require(!is_sparse(X) && (with_all || n_cols(X) == parts_.n_support_vectors()),
          "X must be dense, the kernel values with all training samples or all support vectors");
  const GivenValues machines(*this, with_all);
  std::visit(
      [&](const auto& view) {
        if constexpr (is_dense<std::decay_t<decltype(view)>>)
          parallel_ranges(view.rows, kGrain, thread_count(threads),
                          [&](index_t begin, index_t end, int) {
                            for (index_t i = begin; i < end; ++i) {
                              control.poll();
                              machines.evaluate_row(view.row(i), out + i * parts_.n_machines());
                            }
                          });
      },
      X);
}

std::vector<double> KernelModel::predict(const MatrixView& X, int threads, Control& control) const {
  const index_t n = n_rows(X), step = std::max<index_t>(1, kMostValues / parts_.n_machines());
  std::vector<double> predicted, values;
  std::vector<index_t> votes(static_cast<std::size_t>(parts_.n_classes()));
  for (index_t begin = 0; begin < n; begin += step) {
    const MatrixView block = rows_between(X, begin, std::min(begin + step, n));
    values.resize(static_cast<std::size_t>(n_rows(block) * parts_.n_machines()));
    decision_values(block, {}, values.data(), threads, control);
    for (index_t i = 0; i < n_rows(block); ++i)
      predicted.push_back(predicted_by(parts_, values.data() + i * parts_.n_machines(), votes));
  }
  return predicted;
}

std::vector<index_t> KernelModel::vote_winners(std::span<const double> values) const {
  return maxmargin::vote_winners(values, parts_.vote_order);
}

std::vector<double> KernelModel::class_scores(std::span<const double> values) const {
  return maxmargin::class_scores(values, parts_.n_classes());
}

std::vector<double> KernelModel::probabilities(std::span<const double> values) const {
  require(is_calibrated(), "the model is not calibrated, which probabilities need");
  if (!is_classifier(parts_.type)) {
    std::vector<double> probabilities;
    for (const double value : values) {
      const double inside = inside_probability(value, parts_.density_marks);
      probabilities.insert(probabilities.end(), {inside, 1.0 - inside});
    }
    return probabilities;
  }
  return pair_probabilities(values, parts_.prob_a, parts_.prob_b, parts_.n_classes());
}

} // namespace maxmargin
