#include "maxmargin/svm/one_vs_one.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/kernel/kernel_function.hpp"
#include "maxmargin/svm/distinct_rows.hpp"
#include "maxmargin/svm/nu_svc.hpp"
#include "maxmargin/svm/training_samples.hpp"

#include <algorithm>
#include <cmath>

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
constexpr index_t kFewestStored = 3; // pairs
constexpr double kWorthAllRows = 0.2;
constexpr double kWorthStoring = 32.0; // products; cheaper values are computed anew

// Much refinement of many small pairs would cost more than it saves.
constexpr double kTightTol = 1e-4;

// Multiplications that all kernel values take as long as: less, if little, than a fit.
double work_of_all(const MatrixView& X) {
  const auto n = static_cast<double>(n_rows(X));
  return n * (static_cast<double>(n_stored(X)) + n * kFunctionProducts);
}

struct Pair {
  index_t first, second; // classes; the first is the positive one
};

std::vector<std::vector<index_t>> members_of(std::span<const std::int64_t> y, index_t n_classes,
                                             std::span<const double> C) {
  std::vector<std::vector<index_t>> members(static_cast<std::size_t>(n_classes));
  for (std::size_t i = 0; i < y.size(); ++i)
    if (C[i] > 0.0) members[y[i]].push_back(static_cast<index_t>(i));
  for (const auto& rows : members) require(!rows.empty(), "every class needs a row with C > 0");
  return members;
}

class OneVsOne {
 public:
  OneVsOne(const MatrixView& X, std::span<const std::int64_t> y, index_t n_classes,
           std::span<const double> C, const KernelParams& kernel, const SvcOptions& options,
           Control& control)
      : y_(y), options_(options), control_(control),
        loss_(std::isinf(*std::ranges::max_element(C)) ? Loss::hard_margin : options.loss),
        threads_(thread_count_for(options.threads, work_of_all(X))),
        distinct_(X, std::vector<double>(y.begin(), y.end()), C, kernel, threads_),
        samples_(X, members_of(y, n_classes, distinct_.bounds()), kernel, true, threads_, control) {
    for (index_t a = 0; a < n_classes; ++a)
      for (index_t b = a + 1; b < n_classes; ++b) pairs_.push_back({a, b});
    TrainingOptions training = options;
    const bool has_much_refinement = options.solver.tol < kTightTol && pairs_.size() > 1 &&
                                     samples_.products_per_value() > kWorthStoring;
    if (options.precision == Precision::automatic && has_much_refinement)
      training.precision = Precision::float64;
    kernel_ = kernel_options_for(samples_, largest_pair(), distinct_.usual_bound(), training);
  }

  SvcFit run() {
    std::vector<Machine> machines(pairs_.size());
    const index_t n_pairs = static_cast<index_t>(pairs_.size());
    const bool side_by_side =
        n_pairs >= 2 * threads_ && (largest_pair() < kSmallPair || divides_well());
    const int outer = side_by_side ? threads_ : 1;
    const int inner = side_by_side ? 1 : threads_;
    const bool may_store = loss_ == Loss::hinge && n_pairs >= kFewestStored &&
                           largest_pair() < kSmallPair &&
                           samples_.products_per_value() > kWorthStoring && diagonals_fit();
    bool stores_all = false;
    if (may_store) { // the first pair tells how many of the kernel rows the others will ask for
      machines[0] = train(pairs_[0], options_.cache_bytes, threads_, nullptr);
      stores_all = static_cast<double>(machines[0].certificate.kernel_rows) >
                   kWorthAllRows * static_cast<double>(machines[0].beta.size());
    }
    std::vector<KernelOptions::Memory> memory(static_cast<std::size_t>(outer));
    const std::vector<index_t> order = order_of_pairs(may_store ? 1 : 0, outer);
    parallel_for(static_cast<index_t>(order.size()), outer, [&](index_t task, int thread) {
      const Pair& pair = pairs_[order[task]];
      const bool is_stored = stores_all && n_columns(pair) <= kLargestStored;
      machines[order[task]] = train(pair, options_.cache_bytes / static_cast<std::size_t>(outer),
                                    inner, is_stored ? &memory[thread] : nullptr);
    });
    machines[0].certificate.kernel_values += samples_.shared_values();
    return assemble(machines);
  }

 private:
  index_t n_columns(const Pair& pair) const {
    return samples_.n_columns(pair.first) + samples_.n_columns(pair.second);
  }

  index_t largest_pair() const {
    index_t largest = 0;
    for (const Pair& pair : pairs_) largest = std::max(largest, n_columns(pair));
    return largest;
  }

  // About how the work for a pair compares with that for others.
  double work_of(const Pair& pair) const {
    const double n = static_cast<double>(n_columns(pair));
    return n * n;
  }

  bool divides_well() const {
    double largest = 0.0, sum = 0.0;
    for (const Pair& pair : pairs_) {
      largest = std::max(largest, work_of(pair));
      sum += work_of(pair);
    }
    return largest * threads_ <= sum;
  }

  // The pairs from `first` on; where threads share them, the largest first, lest one be left alone
  // with it.
  std::vector<index_t> order_of_pairs(index_t first, int threads) const {
    std::vector<index_t> order;
    for (index_t p = first; p < static_cast<index_t>(pairs_.size()); ++p) order.push_back(p);
    if (threads > 1)
      std::ranges::stable_sort(
          order, [&](index_t a, index_t b) { return work_of(pairs_[a]) > work_of(pairs_[b]); });
    return order;
  }

  bool diagonals_fit() const {
    std::size_t values = 0;
    for (index_t s = 0; s < samples_.n_segments(); ++s)
      values += static_cast<std::size_t>(samples_.n_columns(s) * samples_.n_columns(s));
    return values * (kernel_.in_float32 ? sizeof(float) : sizeof(double)) <=
           options_.cache_bytes / 2;
  }

  Machine train(const Pair& pair, std::size_t cache_bytes, int threads,
                KernelOptions::Memory* whole_matrix) {
    std::vector<double> y, C;
    for (const index_t c : {pair.first, pair.second}) {
      for (const index_t row : samples_.segment(c)) C.push_back(distinct_.bounds()[row]);
      y.resize(y.size() + samples_.n_columns(c), c == pair.first ? 1.0 : -1.0);
      C.resize(y.size(), 0.0);
    }
    const index_t segments[] = {pair.first, pair.second};
    control_.poll();
    KernelOptions kernel = kernel_;
    kernel.cache_bytes = cache_bytes;
    kernel.threads = threads;
    kernel.is_only_machine = pairs_.size() == 1;
    kernel.whole_matrix = whole_matrix;
    const KernelSource source{samples_, segments, kernel};
    Machine machine = train_on(source, y, C, pair);
    machine.rho += samples_.level_shift(segments, machine.beta);
    return machine;
  }

  Machine train_on(const KernelSource& source, std::span<const double> y, std::span<const double> C,
                   const Pair& pair) {
    if (!options_.nu)
      return maxmargin::train(c_svc(y, C, loss_), source, options_.solver, control_);
    return train_nu_svc(source, y, C, *options_.nu, samples_.n_columns(pair.first), options_.solver,
                        control_);
  }

  // A coefficient of one machine, in its line of dual_coef.
  struct Entry {
    index_t row, line;
    double beta;
  };

  SvcFit assemble(const std::vector<Machine>& machines) const {
    SvcFit fit;
    std::vector<Entry> entries;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      fit.rho.push_back(machines[p].rho);
      fit.counterpart.push_back(machines[p].counterpart);
      fit.certificates.push_back(machines[p].certificate);
      append_entries(pairs_[p], machines[p], fit.certificates.back(), entries);
    }
    // A row supports the model when any of its class's machines uses it.
    std::vector<index_t> column(y_.size(), -1); // in dual_coef
    for (const Entry& entry : entries) column[entry.row] = 0;
    std::vector<std::vector<index_t>> support(static_cast<std::size_t>(samples_.n_segments()));
    for (std::size_t row = 0; row < column.size(); ++row)
      if (column[row] == 0) support[y_[row]].push_back(static_cast<index_t>(row));
    for (const std::vector<index_t>& rows : support) {
      fit.n_support.push_back(static_cast<std::int64_t>(rows.size()));
      for (const index_t row : rows) {
        column[row] = static_cast<index_t>(fit.support.size());
        fit.support.push_back(row);
      }
    }
    const auto n_support = static_cast<index_t>(fit.support.size());
    fit.dual_coef.resize((support.size() - 1) * fit.support.size(), 0.0);
    for (const Entry& e : entries) fit.dual_coef[e.line * n_support + column[e.row]] = e.beta;
    return fit;
  }

  void append_entries(const Pair& pair, const Machine& machine, Certificate& certificate,
                      std::vector<Entry>& entries) const {
    const double scale = options_.nu ? machine.counterpart : 1.0;
    index_t begin = 0;
    for (const index_t c : {pair.first, pair.second}) {
      const index_t line = c == pair.first ? pair.second - 1 : pair.first;
      for (std::size_t k = 0; k < samples_.segment(c).size(); ++k)
        distinct_.divide(samples_.segment(c)[k], machine.beta[begin + static_cast<index_t>(k)],
                         scale, loss_ != Loss::hinge, certificate,
                         [&](index_t row, double beta) { entries.push_back({row, line, beta}); });
      begin += samples_.n_columns(c);
    }
  }

  std::span<const std::int64_t> y_;
  const SvcOptions& options_;
  Control& control_;
  Loss loss_;
  int threads_;
  DistinctRows distinct_;
  TrainingSamples samples_;
  std::vector<Pair> pairs_;
  KernelOptions kernel_;
};

} // namespace

SvcFit train_one_vs_one(const MatrixView& X, std::span<const std::int64_t> y, index_t n_classes,
                        std::span<const double> C, const KernelParams& kernel,
                        const SvcOptions& options, Control& control) {
  return OneVsOne(X, y, n_classes, C, kernel, options, control).run();
}

} // namespace maxmargin
