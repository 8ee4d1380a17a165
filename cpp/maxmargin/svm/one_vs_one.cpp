#include "maxmargin/svm/one_vs_one.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/kernel/kernel_function.hpp"
#include "maxmargin/svm/distinct_rows.hpp"
#include "maxmargin/svm/formulation.hpp"
#include "maxmargin/svm/nu_svc.hpp"
#include "maxmargin/svm/training_samples.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace maxmargin {
namespace {

// Pairs of classes with fewer rows than this are trained side by side, one thread each. Larger ones
// are where no pair has more than a thread's share of all their work, else one after the other with
// all threads.
constexpr index_t kSmallPair = 6000;

// Pairs of no more rows may have their whole kernel matrix computed beforehand. With the matrices
// of the classes with themselves shared by all pairs, that costs a quarter of a matrix for a pair;
// row by row, it costs the share of the rows that are asked for, and the solver's square blocks.
constexpr index_t kLargestStored = 2048;
constexpr index_t kFewestStored = 3;       // pairs
constexpr double kShareOfStored = 0.2;     // of the rows: beyond, all are computed beforehand
constexpr double kProductsOfStored = 32.0; // of a value: cheaper ones are computed again

// Pairs of no more rows are solved as one block, whose values are all computed. So many classes share
// the values of each with all others, where these take no more than this share of the cache. 1,000
// classes of 3 samples: 4.2 instead of 8.7 microseconds for a pair.
constexpr index_t kSmallestPair = 256;
constexpr index_t kManyClasses = 32;
constexpr double kShareOfStrips = 0.5;

// Much refinement of many small pairs would cost more than it saves.
constexpr double kTightTol = 1e-4;

// Multiplications that all kernel values take as long as: less, if little, than a fit.
double work_of_all(const MatrixView& X) {
  const auto n = static_cast<double>(n_rows(X));
  return n * (static_cast<double>(n_stored(X)) + n * kFunctionProducts);
}

std::vector<std::vector<index_t>> members_of(std::span<const index_t> y, index_t n_classes,
                                             std::span<const double> C) {
  std::vector<std::vector<index_t>> members(static_cast<std::size_t>(n_classes));
  for (std::size_t i = 0; i < y.size(); ++i)
    if (C[i] > 0.0) members[y[i]].push_back(static_cast<index_t>(i));
  for (const auto& rows : members) require(!rows.empty(), "every class needs a row with C > 0");
  return members;
}

class OneVsOne {
 public:
  OneVsOne(const MatrixView& X, std::span<const index_t> y, index_t n_classes,
           std::span<const double> C, const KernelParams& kernel, const SvcOptions& options,
           Control& control)
      : X_(X), y_(y), options_(options), control_(control),
        loss_(std::isinf(*std::ranges::max_element(C)) ? Loss::hard_margin : options.loss),
        threads_(thread_count_for(options.threads, work_of_all(X))),
        distinct_(X, std::vector<double>(y.begin(), y.end()), C, kernel, threads_, control),
        samples_(X, members_of(y, n_classes, distinct_.bounds()), kernel, true, threads_, control),
        params_(kernel), n_classes_(n_classes), certificates_(n_pairs(n_classes)),
        rho_(static_cast<std::size_t>(certificates_.size())),
        equivalent_(options.nu ? rho_.size() : 0), place_(y.size()) {
    TrainingOptions training = options;
    const bool has_much_refinement = options.solver.tol < kTightTol && n_classes > 2 &&
                                     samples_.products_per_value() > kProductsOfStored;
    if (options.precision == Precision::automatic && has_much_refinement)
      training.precision = Precision::float64;
    kernel_ = kernel_options_for(samples_, largest_pair(), distinct_.usual_bound(), training);
    shares_strips_ = strips_fit();
    if (shares_strips_) samples_.share_strips();
    for (const std::vector<index_t>& rows : members_of(y, n_classes, C))
      rows_.insert(rows_.end(), rows.begin(), rows.end());
    for (std::size_t k = 0; k < rows_.size(); ++k) place_[rows_[k]] = static_cast<index_t>(k);
    coef_.resize(static_cast<std::size_t>(n_classes - 1) * rows_.size());
  }

  KernelFit run() {
    const index_t largest = largest_pair(), n_pairs = certificates_.size();
    const bool side_by_side = n_pairs >= 2 * threads_ && (largest < kSmallPair || divides_well());
    const int outer = side_by_side ? threads_ : 1;
    const int inner = side_by_side ? 1 : threads_;
    const std::size_t cache_bytes = options_.cache_bytes / static_cast<std::size_t>(outer);
    std::vector<KernelOptions::Memory> memory(static_cast<std::size_t>(outer));
    if (shares_strips_) {
      parallel_for(n_classes_ - 1, outer, [&](index_t first, int thread) {
        for (index_t second = first + 1; second < n_classes_; ++second)
          train({first, second}, cache_bytes, inner, &memory[thread]);
      });
      return finish();
    }
    const bool may_store = loss_ == Loss::hinge && n_pairs >= kFewestStored &&
                           largest < kSmallPair &&
                           samples_.products_per_value() > kProductsOfStored && diagonals_fit();
    bool stores_all = false;
    std::vector<ClassPair> pairs = pairs_of(n_classes_);
    if (may_store) { // the first pair shows how many kernel rows the others will need
      const ClassPair first = pairs.front();
      train(first, options_.cache_bytes, threads_, nullptr);
      stores_all = static_cast<double>(certificates_[0].kernel_rows) >
                   kShareOfStored * static_cast<double>(n_columns(first));
      pairs.erase(pairs.begin());
    }
    // Where threads share them, the largest first, so that no thread begins it when the others end.
    if (outer > 1)
      std::ranges::stable_sort(pairs, std::ranges::greater(),
                               [&](const ClassPair& pair) { return work_of(pair); });
    parallel_for(std::ssize(pairs), outer, [&](index_t task, int thread) {
      const bool is_stored = stores_all && n_columns(pairs[task]) <= kLargestStored;
      train(pairs[task], cache_bytes, inner, is_stored ? &memory[thread] : nullptr);
    });
    return finish();
  }

 private:
  index_t n_columns(const ClassPair& pair) const {
    return samples_.n_columns(pair.first) + samples_.n_columns(pair.second);
  }

  template <class Visit> void for_each_pair(const Visit& visit) const {
    for (index_t first = 0; first < n_classes_; ++first)
      for (index_t second = first + 1; second < n_classes_; ++second) visit({first, second});
  }

  index_t largest_pair() const {
    index_t largest = 0;
    for_each_pair([&](const ClassPair& pair) { largest = std::max(largest, n_columns(pair)); });
    return largest;
  }

  // About how the work for a pair compares with that for others.
  double work_of(const ClassPair& pair) const {
    const double n = static_cast<double>(n_columns(pair));
    return n * n;
  }

  bool divides_well() const {
    double largest = 0.0, sum = 0.0;
    for_each_pair([&](const ClassPair& pair) {
      largest = std::max(largest, work_of(pair));
      sum += work_of(pair);
    });
    return largest * threads_ <= sum;
  }

  bool strips_fit() const {
    if (loss_ != Loss::hinge || n_classes_ < kManyClasses || kernel_.in_float32) return false;
    if (largest_pair() > kSmallestPair) return false;
    index_t largest = 0, n = 0;
    for (index_t s = 0; s < n_classes_; ++s) {
      largest = std::max(largest, samples_.n_columns(s));
      n += samples_.n_columns(s);
    }
    return static_cast<double>(largest * n * threads_) * sizeof(double) <=
           kShareOfStrips * static_cast<double>(options_.cache_bytes);
  }

  bool diagonals_fit() const {
    std::size_t values = 0;
    for (index_t s = 0; s < n_classes_; ++s)
      values += static_cast<std::size_t>(samples_.n_columns(s) * samples_.n_columns(s));
    return values * (kernel_.in_float32 ? sizeof(float) : sizeof(double)) <=
           options_.cache_bytes / 2;
  }

  void train(const ClassPair& pair, std::size_t cache_bytes, int threads,
             KernelOptions::Memory* whole_matrix) {
    const auto n = static_cast<std::size_t>(n_columns(pair));
    std::vector<double> y, C;
    y.reserve(n);
    C.reserve(n);
    for (const index_t c : {pair.first, pair.second}) {
      for (const index_t row : samples_.segment(c)) C.push_back(distinct_.bounds()[row]);
      y.resize(y.size() + samples_.n_columns(c), c == pair.first ? 1.0 : -1.0);
      C.resize(y.size(), 0.0);
    }
    const index_t segments[] = {pair.first, pair.second};
    KernelOptions kernel = kernel_;
    kernel.cache_bytes = cache_bytes;
    kernel.threads = threads;
    kernel.is_only_machine = n_classes_ == 2;
    kernel.whole_matrix = whole_matrix;
    const KernelSource source{samples_, segments, kernel};
    keep(pair, train_on(source, std::move(y), std::move(C), pair));
  }

  Machine train_on(const KernelSource& source, std::vector<double> y, std::vector<double> C,
                   const ClassPair& pair) {
    if (!options_.nu)
      return maxmargin::train(c_svc(std::move(y), std::move(C), loss_), source, options_.solver,
                              control_);
    return train_nu_svc(source, std::move(y), std::move(C), *options_.nu,
                        samples_.n_columns(pair.first), options_.solver, control_);
  }

  void keep(const ClassPair& pair, const Machine& machine) {
    Certificate certificate = machine.certificate;
    const double scale = options_.nu ? machine.equivalent : 1.0;
    const bool is_centred = samples_.has_centring_correction();
    std::vector<index_t> support; // where samples are centred, and how many are of the first class
    std::vector<double> coef;
    std::size_t n_first = 0;
    index_t begin = 0;
    for (const auto [own, other] : {pair, ClassPair{pair.second, pair.first}}) {
      double* const row = coef_.data() + coef_row(own, other) * std::ssize(rows_);
      for (std::size_t k = 0; k < samples_.segment(own).size(); ++k)
        distinct_.distribute(samples_.segment(own)[k],
                             machine.beta[begin + static_cast<index_t>(k)], scale,
                             loss_ != Loss::hinge, certificate, [&](index_t sample, double beta) {
                               row[place_[sample]] = beta;
                               if (!is_centred) return;
                               support.push_back(sample);
                               coef.push_back(beta);
                             });
      if (own == pair.first) n_first = coef.size();
      begin += samples_.n_columns(own);
    }
    const index_t number = machine_of(pair.first, pair.second, n_classes_);
    rho_[number] = machine.rho + samples_.centring_correction(support, coef, n_first);
    if (options_.nu) equivalent_[number] = machine.equivalent;
    certificates_.set(number, certificate);
  }

  KernelFit finish() {
    Certificate first = certificates_[0];
    first.kernel_values += samples_.shared_values();
    certificates_.set(0, first);
    std::vector<index_t> n_support, columns = support_columns(), support;
    n_support.resize(static_cast<std::size_t>(n_classes_), 0);
    for (const index_t column : columns) {
      support.push_back(rows_[column]);
      ++n_support[y_[support.back()]];
    }
    const SvmType type = options_.nu ? SvmType::nu_svc : SvmType::c_svc;
    KernelModelParts parts = parts_of(type, X_, params_, std::move(support));
    parts.n_support = std::move(n_support);
    parts.vote_order = options_.vote_order.empty() ? first_occurrences() : options_.vote_order;
    parts.dual_coef = coef_of(columns);
    parts.rho = std::move(rho_);
    parts.equivalent = std::move(equivalent_);
    return finished(std::move(parts), std::move(certificates_));
  }

  // A sample supports the model when any of its class's machines uses it.
  std::vector<index_t> support_columns() const {
    const std::size_t n = rows_.size();
    std::vector<char> is_support(n, 0);
    for (std::size_t k = 0; k < coef_.size(); ++k)
      if (coef_[k] != 0.0) is_support[k % n] = 1;
    std::vector<index_t> columns;
    for (std::size_t c = 0; c < n; ++c)
      if (is_support[c] != 0) columns.push_back(static_cast<index_t>(c));
    return columns;
  }

  // In the memory of all, unless few are left.
  std::vector<double> coef_of(const std::vector<index_t>& columns) {
    const auto n = std::ssize(rows_);
    auto to = coef_.begin();
    for (auto row = coef_.begin(); row != coef_.end(); row += n)
      for (const index_t column : columns) *to++ = row[column];
    coef_.erase(to, coef_.end());
    if (2 * coef_.size() < coef_.capacity()) coef_.shrink_to_fit();
    return std::move(coef_);
  }

  // The classes as they first occur in y.
  std::vector<index_t> first_occurrences() const {
    std::vector<index_t> order;
    std::vector<bool> is_known(static_cast<std::size_t>(n_classes_), false);
    for (const index_t c : y_) {
      if (is_known[c]) continue;
      is_known[c] = true;
      order.push_back(c);
    }
    return order;
  }

  const MatrixView& X_;
  std::span<const index_t> y_;
  const SvcOptions& options_;
  Control& control_;
  Loss loss_;
  int threads_;
  DistinctRows distinct_;
  TrainingSamples samples_;
  const KernelParams& params_;
  KernelOptions kernel_;
  bool shares_strips_ = false;
  index_t n_classes_;
  // By machine; threads write to different places.
  Certificates certificates_;
  std::vector<double> rho_, equivalent_;
  std::vector<index_t> rows_, place_; // those with C > 0, by class; the place of a row among them
  std::vector<double> coef_;          // of all of these, in the layout of dual_coef
};

} // namespace

KernelFit train_one_vs_one(const MatrixView& X, std::span<const index_t> y, index_t n_classes,
                           std::span<const double> C, const KernelParams& kernel,
                           const SvcOptions& options, Control& control) {
  check_training(X, C, kernel, options, control);
  check_classes(X, y, n_classes);
  if (options.nu) check_nu(*options.nu);
  return OneVsOne(X, y, n_classes, C, kernel, options, control).run();
}

} // namespace maxmargin
