#include "maxmargin/svm/one_vs_one.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/kernel/kernel_function.hpp"
#include "maxmargin/svm/distinct_rows.hpp"
#include "maxmargin/svm/nu_svc.hpp"
#include "maxmargin/svm/training_samples.hpp"

#include <algorithm>
#include <cmath>
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
        pairs_(pairs_of(n_classes)), params_(kernel), entries_(static_cast<std::size_t>(threads_)) {
    TrainingOptions training = options;
    const bool has_much_refinement = options.solver.tol < kTightTol && pairs_.size() > 1 &&
                                     samples_.products_per_value() > kProductsOfStored;
    if (options.precision == Precision::automatic && has_much_refinement)
      training.precision = Precision::float64;
    kernel_ = kernel_options_for(samples_, largest_pair(), distinct_.usual_bound(), training);
  }

  KernelFit run() {
    std::vector<Part> parts(pairs_.size());
    const index_t n_pairs = static_cast<index_t>(pairs_.size());
    const bool side_by_side =
        n_pairs >= 2 * threads_ && (largest_pair() < kSmallPair || divides_well());
    const int outer = side_by_side ? threads_ : 1;
    const int inner = side_by_side ? 1 : threads_;
    const bool may_store = loss_ == Loss::hinge && n_pairs >= kFewestStored &&
                           largest_pair() < kSmallPair &&
                           samples_.products_per_value() > kProductsOfStored && diagonals_fit();
    bool stores_all = false;
    if (may_store) { // the first pair shows how many kernel rows the others will need
      parts[0] = train(pairs_[0], options_.cache_bytes, threads_, nullptr, 0);
      stores_all = static_cast<double>(parts[0].certificate.kernel_rows) >
                   kShareOfStored * static_cast<double>(n_columns(pairs_[0]));
    }
    std::vector<KernelOptions::Memory> memory(static_cast<std::size_t>(outer));
    const std::vector<index_t> order = order_of_pairs(may_store ? 1 : 0, outer);
    parallel_for(static_cast<index_t>(order.size()), outer, [&](index_t task, int thread) {
      const ClassPair& pair = pairs_[order[task]];
      const bool is_stored = stores_all && n_columns(pair) <= kLargestStored;
      parts[order[task]] = train(pair, options_.cache_bytes / static_cast<std::size_t>(outer),
                                 inner, is_stored ? &memory[thread] : nullptr, thread);
    });
    parts[0].certificate.kernel_values += samples_.shared_values();
    return assemble(parts);
  }

 private:
  struct Entry {
    index_t sample;
    double beta;
  };
  // What is kept of a trained machine: there may be millions. The entries are in the vector of the
  // thread that trained it; each in memory of its own would keep apart what the fits give back.
  struct Part {
    int thread = 0;
    std::size_t begin = 0, end = 0;
    double rho = 0.0, equivalent = 0.0;
    Certificate certificate;
  };

  std::span<const Entry> entries_of(const Part& part) const {
    return std::span(entries_[part.thread]).subspan(part.begin, part.end - part.begin);
  }

  index_t n_columns(const ClassPair& pair) const {
    return samples_.n_columns(pair.first) + samples_.n_columns(pair.second);
  }

  index_t largest_pair() const {
    index_t largest = 0;
    for (const ClassPair& pair : pairs_) largest = std::max(largest, n_columns(pair));
    return largest;
  }

  // About how the work for a pair compares with that for others.
  double work_of(const ClassPair& pair) const {
    const double n = static_cast<double>(n_columns(pair));
    return n * n;
  }

  bool divides_well() const {
    double largest = 0.0, sum = 0.0;
    for (const ClassPair& pair : pairs_) {
      largest = std::max(largest, work_of(pair));
      sum += work_of(pair);
    }
    return largest * threads_ <= sum;
  }

  // The pairs from `first` on; where threads share them, the largest first, so that no thread
  // begins it when the others end.
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

  Part train(const ClassPair& pair, std::size_t cache_bytes, int threads,
             KernelOptions::Memory* whole_matrix, int thread) {
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
    machine.rho += samples_.centring_correction(segments, machine.beta);
    return part_of(pair, machine, thread);
  }

  Machine train_on(const KernelSource& source, std::span<const double> y, std::span<const double> C,
                   const ClassPair& pair) {
    if (!options_.nu)
      return maxmargin::train(c_svc(y, C, loss_), source, options_.solver, control_);
    return train_nu_svc(source, y, C, *options_.nu, samples_.n_columns(pair.first), options_.solver,
                        control_);
  }

  KernelFit assemble(const std::vector<Part>& parts_of_model) const {
    // A sample supports the model when any of its class's machines uses it.
    std::vector<index_t> column(y_.size(), -1); // in dual_coef
    for (const Part& part : parts_of_model)
      for (const Entry& entry : entries_of(part)) column[entry.sample] = 0;
    std::vector<std::vector<index_t>> of_class(static_cast<std::size_t>(samples_.n_segments()));
    for (std::size_t i = 0; i < column.size(); ++i)
      if (column[i] == 0) of_class[y_[i]].push_back(static_cast<index_t>(i));
    std::vector<index_t> support, n_support;
    for (const std::vector<index_t>& rows : of_class) {
      n_support.push_back(std::ssize(rows));
      support.insert(support.end(), rows.begin(), rows.end());
    }
    for (std::size_t k = 0; k < support.size(); ++k) column[support[k]] = static_cast<index_t>(k);

    const SvmType type = options_.nu ? SvmType::nu_svc : SvmType::c_svc;
    KernelModelParts parts = parts_of(type, X_, params_, std::move(support));
    parts.n_support = std::move(n_support);
    parts.vote_order = options_.vote_order.empty() ? first_occurrences() : options_.vote_order;
    const index_t n_vectors = parts.n_support_vectors();
    parts.dual_coef.resize(static_cast<std::size_t>(parts.n_coef_rows() * n_vectors), 0.0);
    std::vector<Certificate> certificates;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const Part& part = parts_of_model[p];
      const auto [first, second] = pairs_[p];
      for (const Entry& e : entries_of(part)) {
        const index_t row =
            y_[e.sample] == first ? coef_row(first, second) : coef_row(second, first);
        parts.dual_coef[row * n_vectors + column[e.sample]] = e.beta;
      }
      parts.rho.push_back(part.rho);
      if (options_.nu) parts.equivalent.push_back(part.equivalent);
      certificates.push_back(part.certificate);
    }
    return finished(std::move(parts), std::move(certificates));
  }

  // The classes as they first occur in y.
  std::vector<index_t> first_occurrences() const {
    std::vector<index_t> order;
    std::vector<bool> is_known(static_cast<std::size_t>(samples_.n_segments()), false);
    for (const index_t c : y_) {
      if (is_known[c]) continue;
      is_known[c] = true;
      order.push_back(c);
    }
    return order;
  }

  Part part_of(const ClassPair& pair, const Machine& machine, int thread) {
    std::vector<Entry>& entries = entries_[thread];
    Part part{thread,      entries.size(),     entries.size(),
              machine.rho, machine.equivalent, machine.certificate};
    const double scale = options_.nu ? machine.equivalent : 1.0;
    index_t begin = 0;
    for (const index_t own : {pair.first, pair.second}) {
      for (std::size_t k = 0; k < samples_.segment(own).size(); ++k)
        distinct_.distribute(
            samples_.segment(own)[k], machine.beta[begin + static_cast<index_t>(k)], scale,
            loss_ != Loss::hinge, part.certificate,
            [&](index_t sample, double beta) { entries.push_back({sample, beta}); });
      begin += samples_.n_columns(own);
    }
    part.end = entries.size();
    return part;
  }

  const MatrixView& X_;
  std::span<const index_t> y_;
  const SvcOptions& options_;
  Control& control_;
  Loss loss_;
  int threads_;
  DistinctRows distinct_;
  TrainingSamples samples_;
  std::vector<ClassPair> pairs_; // the first class is the positive one
  const KernelParams& params_;
  KernelOptions kernel_;
  std::vector<std::vector<Entry>> entries_; // by thread
};

} // namespace

KernelFit train_one_vs_one(const MatrixView& X, std::span<const index_t> y, index_t n_classes,
                           std::span<const double> C, const KernelParams& kernel,
                           const SvcOptions& options, Control& control) {
  return OneVsOne(X, y, n_classes, C, kernel, options, control).run();
}

} // namespace maxmargin
