#include "maxmargin/svm/search/svc_search.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/data/equal_rows.hpp"
#include "maxmargin/kernel/kernel_function.hpp"
#include "maxmargin/model/pair_layout.hpp"
#include "maxmargin/simd/dispatch.hpp"
#include "maxmargin/svm/dual_fit.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <utility>

namespace maxmargin {
namespace {

// The rows of a training set without repetitions, by class: of rows that are equal, with equal
// labels, the first stands for all (svm/distinct_rows.hpp).
struct Columns {
  Columns(const MatrixView& X, std::span<const index_t> y, index_t n_classes,
          const KernelParams& kernel, int threads, Control& control)
      : by_class(static_cast<std::size_t>(n_classes)), first(y.size()) {
    std::iota(first.begin(), first.end(), 0);
    if (kernel.type != KernelType::precomputed)
      first = first_equal_rows(X, std::vector<double>(y.begin(), y.end()), threads, control);
    for (std::size_t i = 0; i < y.size(); ++i)
      if (first[i] == static_cast<index_t>(i)) by_class[y[i]].push_back(first[i]);
  }

  std::vector<std::vector<index_t>> by_class;
  std::vector<index_t> first; // by row
};

// Makes the model of a cell from its coefficients, by column of all in the layout of dual_coef.
class CellModels {
 public:
  CellModels(const MatrixView& X, std::span<const index_t> y, index_t n_classes,
             const KernelParams& kernel, const TrainingSamples& samples,
             std::span<const index_t> place)
      : X_(X), y_(y), n_classes_(n_classes), params_(kernel), samples_(samples), place_(place) {}

  // Of rows that are equal, the first that is trained on has the coefficient of all.
  KernelModel model_of(const Fold& fold, std::span<const double> coef, std::span<const double> rho,
                       std::vector<index_t> vote_order) const {
    const index_t n = samples_.n_columns();
    std::vector<index_t> row_of(static_cast<std::size_t>(n), -1), support, columns;
    for (index_t i = std::ssize(y_) - 1; i >= 0; --i)
      if (fold.weight[i] > 0.0) row_of[place_[i]] = i;
    std::vector<index_t> n_support(static_cast<std::size_t>(n_classes_), 0);
    for (index_t column = 0; column < n; ++column) {
      bool is_support = false;
      for (index_t r = 0; r < n_classes_ - 1; ++r) is_support |= coef[r * n + column] != 0.0;
      if (!is_support) continue;
      columns.push_back(column);
      support.push_back(row_of[column]);
      ++n_support[y_[support.back()]];
    }
    KernelModelParts parts = parts_of(SvmType::c_svc, X_, params_, std::move(support));
    parts.n_support = std::move(n_support);
    parts.vote_order = std::move(vote_order);
    for (index_t r = 0; r < n_classes_ - 1; ++r)
      for (const index_t column : columns) parts.dual_coef.push_back(coef[r * n + column]);
    for (const ClassPair& pair : pairs_of(n_classes_))
      parts.rho.push_back(rho[machine_of(pair.first, pair.second, n_classes_)] +
                          centring_correction(pair, columns, parts.support, coef));
    return finished(std::move(parts), Certificates(Certificate())).model;
  }

  std::vector<index_t> predicted_by(const KernelModel& model, std::span<const index_t> rows,
                                    int threads, Control& control) const {
    const SampleMatrix held_out = rows_of(X_, rows);
    std::vector<double> factors;
    std::vector<double> values(rows.size() * static_cast<std::size_t>(n_pairs(n_classes_)));
    for (index_t f = 0; f < n_factors(params_); ++f)
      for (const index_t row : rows)
        factors.push_back(params_.factors[static_cast<std::size_t>(f * n_rows(X_) + row)]);
    model.decision_values(view_of(held_out), factors, values.data(), threads, control);
    return model.vote_winners(values);
  }

 private:
  double centring_correction(const ClassPair& pair, const std::vector<index_t>& columns,
                             const std::vector<index_t>& support,
                             std::span<const double> coef) const {
    if (!samples_.has_centring_correction()) return 0.0;
    std::vector<index_t> rows;
    std::vector<double> own;
    std::size_t n_first = 0;
    for (const auto [mine, other] : {pair, ClassPair{pair.second, pair.first}}) {
      const index_t begin = coef_row(mine, other) * samples_.n_columns();
      for (std::size_t k = 0; k < columns.size(); ++k) {
        if (y_[support[k]] != mine) continue;
        rows.push_back(support[k]);
        own.push_back(coef[begin + columns[k]]);
      }
      if (mine == pair.first) n_first = rows.size();
    }
    return samples_.centring_correction(rows, own, n_first);
  }

  const MatrixView& X_;
  std::span<const index_t> y_;
  index_t n_classes_;
  const KernelParams& params_;
  const TrainingSamples& samples_;
  std::span<const index_t> place_; // of every row among the columns
};

struct Worker {
  KernelOptions::Memory memory;
  std::vector<std::uint32_t> votes; // by C, place among the rows held out, and class
  std::vector<double> sums;         // K beta at the rows held out
};

// Memory that one kernel after the other is searched in: to get it anew for each took a fifth of the
// time.
struct Room {
  AlignedBuffer<float> float32;
  AlignedBuffer<double> float64;
  AlignedBuffer<double> held_out;
  std::vector<Worker> workers;        // by thread
  std::atomic<index_t> n_trained = 0; // machines, with all kernels so far
};

// The search with one kernel.
class Search {
 public:
  Search(const MatrixView& X, std::span<const index_t> y, index_t n_classes,
         std::span<const double> Cs, const std::vector<Fold>& folds, const KernelParams& kernel,
         index_t n_kernels, const SvcOptions& options, bool keeps_fits, const Columns& columns,
         Room& room, Control& control)
      : X_(X), y_(y), Cs_(Cs), folds_(folds), params_(kernel), options_(options), control_(control),
        threads_(thread_count(options.threads)), columns_(columns), room_(room),
        samples_(X, columns.by_class, kernel, true, threads_, control), n_classes_(n_classes),
        pairs_(pairs_of(n_classes)), begin_{0}, place_(y.size()),
        certificates_(n_cells() * n_pairs()), rho_(static_cast<std::size_t>(certificates_.size())),
        n_in_all_(static_cast<double>(n_kernels * certificates_.size())) {
    for (index_t c = 0; c < n_classes_; ++c)
      for (std::size_t k = 0; k < samples_.segment(c).size(); ++k)
        place_[samples_.segment(c)[k]] = samples_.begin(c) + static_cast<index_t>(k);
    for (std::size_t i = 0; i < place_.size(); ++i) place_[i] = place_[columns_.first[i]];
    for (const Fold& fold : folds)
      begin_.push_back(begin_.back() + round_up(std::ssize(fold.held_out), kSegmentLane));
    weights_.resize(folds.size(), std::vector<double>(static_cast<std::size_t>(n_columns())));
    for (std::size_t f = 0; f < folds.size(); ++f)
      for (std::size_t i = 0; i < y.size(); ++i) weights_[f][place_[i]] += folds[f].weight[i];
    room.workers.resize(static_cast<std::size_t>(std::min<index_t>(threads_, n_tasks())));
    store_values();
    keeps_coef_ = keeps_fits || !has_held_values();
    if (keeps_coef_)
      coef_.resize(static_cast<std::size_t>(n_cells() * (n_classes - 1) * n_columns()));
    for (Worker& worker : room.workers) {
      worker.memory.float64.first = worker.memory.float32.first = -1;
      if (has_held_values())
        worker.votes.assign(static_cast<std::size_t>(n_values() * begin_.back() * n_classes_), 0);
    }
  }

  SvcSearch run() {
    const int outer = static_cast<int>(std::ssize(room_.workers));
    parallel_for(n_tasks(), outer, [&](index_t task, int thread) {
      train_path(pairs_[task / n_folds()], task % n_folds(), room_.workers[thread]);
    });
    Certificate first = certificates_[0];
    first.kernel_values += samples_.shared_values();
    certificates_.set(0, first);
    SvcSearch found{certificates_, {}, {}};
    const CellModels models(X_, y_, n_classes_, params_, samples_, place_);
    for (index_t cell = 0; keeps_coef_ && cell < n_cells(); ++cell)
      found.fits.push_back(models.model_of(
          fold_of(cell), std::span(coef_).subspan(cell * (n_classes_ - 1) * n_columns()),
          std::span(rho_).subspan(cell * n_pairs()), vote_order(cell % n_folds())));
    for (index_t cell = 0; cell < n_cells(); ++cell) {
      const std::vector<index_t> winners =
          has_held_values()
              ? winners_of(cell)
              : models.predicted_by(found.fits[cell], fold_of(cell).held_out, threads_, control_);
      found.classes.insert(found.classes.end(), winners.begin(), winners.end());
    }
    return found;
  }

 private:
  index_t n_values() const { return std::ssize(Cs_); }
  index_t n_folds() const { return std::ssize(folds_); }
  index_t n_pairs() const { return std::ssize(pairs_); }
  index_t n_cells() const { return n_values() * n_folds(); }
  index_t n_tasks() const { return n_pairs() * n_folds(); }
  index_t n_columns() const { return samples_.n_columns(); }
  const Fold& fold_of(index_t cell) const { return folds_[cell % n_folds()]; }
  index_t cell_of(index_t c, index_t fold) const { return c * n_folds() + fold; }
  bool has_held_values() const { return samples_.all_values<double>() != nullptr; }

  // float64 values, where they fit, need no refinement.
  void store_values() {
    const index_t n = n_columns();
    index_t largest = 0, held = 0;
    if (n_classes_ > 2) {
      held = begin_.back();
      for (const auto& [i, j] : pairs_)
        largest = std::max(largest, samples_.n_columns(i) + samples_.n_columns(j));
    }
    const double copies = static_cast<double>(largest * largest) * std::ssize(room_.workers);
    const double values = static_cast<double>(n) * static_cast<double>(n) + copies;
    const double room = static_cast<double>(options_.cache_bytes) / sizeof(double);
    error_ = options_.precision == Precision::float64 ? 0.0 : samples_.float32_error();
    if (options_.precision != Precision::float32 &&
        values + static_cast<double>(n) * static_cast<double>(held) <= room)
      samples_.store_all(room_.float64, threads_);
    else if (options_.precision != Precision::float64 && values <= 2.0 * room)
      samples_.store_all(room_.float32, threads_);
    if (has_held_values() && held > 0) store_held_values();
  }

  // A row of them for every column.
  void store_held_values() {
    room_.held_out.resize_discard(n_columns() * begin_.back());
    const double* const all = samples_.all_values<double>();
    parallel_ranges(n_columns(), 1, threads_, control_, [&](index_t begin, index_t end, int) {
      for (index_t r = begin; r < end; ++r) {
        double* const to = room_.held_out.data() + r * begin_.back();
        std::fill_n(to, begin_.back(), 0.0);
        for (std::size_t f = 0; f < folds_.size(); ++f)
          for (std::size_t k = 0; k < folds_[f].held_out.size(); ++k)
            to[begin_[f] + static_cast<index_t>(k)] =
                all[r * n_columns() + place_[folds_[f].held_out[k]]];
      }
    });
  }

  KernelOptions kernel_options(double C, Worker& worker) const {
    const std::size_t n = room_.workers.size();
    KernelOptions kernel{options_.cache_bytes / n, n > 1 ? 1 : threads_};
    kernel.float32_error = error_;
    kernel.in_float32 = options_.precision == Precision::float32 ||
                        (options_.precision == Precision::automatic && !has_held_values() &&
                         !samples_.needs_float64() && float32_suffices(error_, C, n_columns()));
    if (has_held_values() || samples_.all_values<float>() != nullptr)
      kernel.whole_matrix = &worker.memory;
    return kernel;
  }

  void train_path(const ClassPair& pair, index_t fold, Worker& worker) {
    const index_t segments[] = {pair.first, pair.second};
    std::vector<index_t> columns; // of all, by column of the pair
    std::vector<double> y;
    for (const index_t c : segments)
      for (index_t k = 0; k < samples_.n_columns(c); ++k) {
        columns.push_back(samples_.begin(c) + k);
        y.push_back(c == pair.first ? 1.0 : -1.0);
      }
    worker.sums.assign(folds_[fold].held_out.size(), 0.0);
    worker.sums.resize(static_cast<std::size_t>(begin_[fold + 1] - begin_[fold]), 0.0);
    PathPoint point;
    for (index_t c = 0; c < n_values(); ++c, ++room_.n_trained) {
      control_.note_share_done(static_cast<double>(room_.n_trained) / n_in_all_);
      control_.poll();
      const index_t cell = cell_of(c, fold);
      const index_t machine = machine_of(pair.first, pair.second, n_classes_);
      if (dual::is_past(options_.solver.time_limit, control_)) {
        Certificate stopped;
        stopped.stop_reason = optim::StopReason::time_limit;
        certificates_.set(cell * n_pairs() + machine, stopped);
        continue;
      }
      std::vector<double> C;
      for (const index_t column : columns) C.push_back(Cs_[c] * weights_[fold][column]);
      const KernelOptions kernel = kernel_options(*std::ranges::max_element(C), worker);
      dual::SolverOptions solver = options_.solver;
      solver.shrinking = solver.shrinking && kernel.whole_matrix == nullptr;
      const std::vector<double> before = point.beta;
      const Machine found = train(c_svc(y, std::move(C), options_.loss),
                                  {samples_, segments, kernel}, solver, control_, &point);
      certificates_.set(cell * n_pairs() + machine, found.certificate);
      rho_[cell * n_pairs() + machine] = found.rho;
      if (keeps_coef_) keep(pair, cell, columns, found.beta);
      if (has_held_values()) vote(pair, c, fold, columns, before, point, found.rho, worker);
    }
  }

  void keep(const ClassPair& pair, index_t cell, const std::vector<index_t>& columns,
            const std::vector<double>& beta) {
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const bool is_first = static_cast<index_t>(k) < samples_.n_columns(pair.first);
      const index_t row =
          is_first ? coef_row(pair.first, pair.second) : coef_row(pair.second, pair.first);
      coef_[(cell * (n_classes_ - 1) + row) * n_columns() + columns[k]] = beta[k];
    }
  }

  // By the machine's values for the rows held out. Of two classes, they stand in the sums of the
  // solution; else those of the point before change with its coefficients.
  void vote(const ClassPair& pair, index_t c, index_t fold, const std::vector<index_t>& columns,
            const std::vector<double>& before, const PathPoint& point, double rho, Worker& worker) {
    const std::vector<index_t>& held_out = folds_[fold].held_out;
    if (n_classes_ == 2) {
      for (std::size_t k = 0; k < held_out.size(); ++k)
        worker.sums[k] = point.sums[place_[held_out[k]]];
    } else {
      std::vector<const double*> rows;
      std::vector<double> changes;
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const double start = before.empty() ? 0.0 : point.scale * before[k];
        if (point.beta[k] == start) continue;
        rows.push_back(room_.held_out.data() + columns[k] * begin_.back() + begin_[fold]);
        changes.push_back(point.beta[k] - start);
      }
      for (double& sum : worker.sums) sum *= point.scale;
      simd::real_table<double>().add_rows(rows.data(), changes.data(), std::ssize(rows),
                                          worker.sums.data(), 0, std::ssize(worker.sums));
    }
    std::uint32_t* votes = worker.votes.data() + (c * begin_.back() + begin_[fold]) * n_classes_;
    for (std::size_t k = 0; k < held_out.size(); ++k, votes += n_classes_)
      ++votes[worker.sums[k] > rho ? pair.first : pair.second];
  }

  // Of classes with equal votes, the first in the options' order, or else as they first occur among
  // the rows of a fold.
  std::vector<index_t> vote_order(index_t fold) const {
    if (!options_.vote_order.empty()) return options_.vote_order;
    std::vector<index_t> order;
    std::vector<bool> is_known(static_cast<std::size_t>(n_classes_), false);
    for (std::size_t i = 0; i < y_.size(); ++i) {
      if (folds_[fold].weight[i] == 0.0 || is_known[y_[i]]) continue;
      is_known[y_[i]] = true;
      order.push_back(y_[i]);
    }
    return order;
  }

  std::vector<index_t> winners_of(index_t cell) const {
    const index_t c = cell / n_folds(), fold = cell % n_folds();
    const std::vector<index_t> order = vote_order(fold);
    std::vector<index_t> winners;
    std::vector<std::uint32_t> votes(static_cast<std::size_t>(n_classes_));
    for (index_t k = 0; k < std::ssize(folds_[fold].held_out); ++k) {
      std::ranges::fill(votes, 0);
      const index_t place = (c * begin_.back() + begin_[fold] + k) * n_classes_;
      for (const Worker& worker : room_.workers)
        for (index_t i = 0; i < n_classes_; ++i) votes[i] += worker.votes[place + i];
      winners.push_back(*std::ranges::max_element(order, {}, [&](index_t i) { return votes[i]; }));
    }
    return winners;
  }

  const MatrixView& X_;
  std::span<const index_t> y_;
  std::span<const double> Cs_;
  const std::vector<Fold>& folds_;
  const KernelParams& params_;
  const SvcOptions& options_;
  Control& control_;
  int threads_;
  const Columns& columns_;
  Room& room_;
  TrainingSamples samples_;
  index_t n_classes_;
  std::vector<ClassPair> pairs_;
  std::vector<index_t> begin_; // of the rows held out of every fold, among those of all
  std::vector<index_t> place_; // of every row among the columns
  std::vector<std::vector<double>> weights_; // by fold and column
  double error_ = 0.0;                       // of a float32 value
  bool keeps_coef_ = false;
  // Threads write to different places.
  Certificates certificates_;
  std::vector<double> rho_;
  double n_in_all_;          // machines, with all kernels
  std::vector<double> coef_; // by cell, in the layout of dual_coef with all columns
};

} // namespace

std::vector<SvcSearch> search_svc(const MatrixView& X, std::span<const index_t> y,
                                  index_t n_classes, std::span<const double> Cs,
                                  const std::vector<Fold>& folds,
                                  const std::vector<KernelParams>& kernels,
                                  const SvcOptions& options, bool keeps_fits, Control& control) {
  require(!kernels.empty() && !folds.empty(), "a search needs a kernel and a fold");
  check_classes(X, y, n_classes);
  check_training(X, folds.front().weight, kernels.front(), options, control);
  for (const KernelParams& kernel : kernels) check_kernel(kernel);
  const auto is_row = [&](index_t row) { return row >= 0 && row < n_rows(X); };
  for (const Fold& fold : folds)
    require(std::ssize(fold.weight) == n_rows(X) && std::ranges::min(fold.weight) >= 0.0 &&
                std::ranges::all_of(fold.held_out, is_row),
            "a fold needs a weight >= 0 for every row of X, and rows of it held out");
  std::vector<SvcSearch> found;
  Room room;
  const Columns columns(X, y, n_classes, kernels.at(0), thread_count(options.threads), control);
  for (const KernelParams& kernel : kernels)
    found.push_back(Search(X, y, n_classes, Cs, folds, kernel, std::ssize(kernels), options,
                           keeps_fits, columns, room, control)
                        .run());
  return found;
}

} // namespace maxmargin
