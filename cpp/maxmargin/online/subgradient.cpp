#include "maxmargin/online/subgradient.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/mapped_memory.hpp"
#include "maxmargin/data/sample_rows.hpp"
#include "maxmargin/online/online_tasks.hpp"
#include "maxmargin/online/sure_margins.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace maxmargin::online {
namespace {

// Elements read between two looks at the caller's wishes.
constexpr index_t kPollElements = 1 << 20;
// Elements of a mapped file that are held at a time.
constexpr index_t kHeldElements = 1 << 23;
// Around a row that is read out of the blue, the system maps up to about this much (2 MB).
constexpr index_t kFaultElements = 1 << 18;

// Coded rows pay from so many columns, while the rounding of their sums does not show, where there
// are more elements than the caches hold, and passes enough to make up for coding.
constexpr index_t kFewestCoded = 32, kMostCoded = 1 << 16;
constexpr index_t kFewestCodes = 1 << 18;
constexpr index_t kFewestCodedPasses = 4;
constexpr index_t kCodesAhead = 64; // rows, which are short

[[noreturn]] void throw_overflow() {
  throw NumericError("the weights overflow");
}
inline void require_finite(double value) {
  if (!std::isfinite(value)) [[unlikely]]
    throw_overflow();
}

// A look at the caller's wishes now and then, and the pages of a mapped file given back.
template <class View> class Reader {
 public:
  Reader(const View& X, bool is_mapped, bool is_shuffled, Control& control)
      : X_(X), control_(control), row_elements_(16 + n_stored(X) / std::max<index_t>(1, X.rows)),
        is_mapped_(is_mapped) {
    if (is_mapped && is_shuffled) row_elements_ = std::max(row_elements_, kFaultElements);
    rows_per_poll_ = 1 + kPollElements / row_elements_;
  }
  ~Reader() {
    if (is_mapped_) release(X_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // To be called for every row, or for a few at once.
  void note(index_t n_iter, index_t n_rows = 1) {
    if ((until_poll_ -= n_rows) <= 0) poll(n_iter);
  }
  // What the last pass has reached, for the caller to know.
  void note_measure(double measure) { measure_ = measure; }

 private:
  void poll(index_t n_iter) {
    until_poll_ = rows_per_poll_;
    control_.poll([&] { return Progress{.n_iter = n_iter, .measure = measure_}; });
    held_ += rows_per_poll_ * row_elements_;
    if (!is_mapped_ || held_ < kHeldElements) return;
    release(X_);
    held_ = 0;
  }

  template <Real T> static void release(const DenseView<T>& X) {
    release_mapped(X.data, static_cast<std::size_t>(X.rows * X.cols) * sizeof(T));
  }
  template <Real T, class I> static void release(const CsrView<T, I>& X) {
    release_mapped(X.values, static_cast<std::size_t>(X.nnz()) * sizeof(T));
    release_mapped(X.indices, static_cast<std::size_t>(X.nnz()) * sizeof(I));
  }

  const View& X_;
  Control& control_;
  index_t row_elements_, rows_per_poll_ = 1;
  index_t until_poll_ = 0, held_ = 0;
  std::optional<double> measure_;
  bool is_mapped_;
};

template <class View, class Task> class Trainer {
 public:
  Trainer(const View& X, Task task, const OnlineProblem& problem, const OnlineOptions& options,
          OnlineState start, Control& control)
      : rows_(rows_of(X)), task_(task), problem_(problem), options_(options),
        reader_(X, options.is_mapped, options.passes.shuffle, control), step_size_(options.step),
        n_steps_(start.n_steps),
        f_(std::move(start),
           {problem.fit_intercept, options.average_from > 0, problem.penalty.l1 > 0.0}),
        averages_charged_(options.average_from > 0 && problem.penalty.l1 > 0.0),
        waits_(options.waits_for_mistakes(problem.penalty)),
        sure_(waits_ && Task::is_binary ? problem.coded : nullptr, problem.loss.margin,
              task.n_examples()) {}

  OnlineFit run() {
    const index_t n = static_cast<index_t>(task_.n_examples());
    for (index_t i = 0; i < n; ++i) n_examples_ += weight(i) != 0.0 ? 1 : 0;
    batch_size_ = options_.batch_size == 0 ? n_examples_ : options_.batch_size;
    // All in the given order need no list, which would cost as much memory traffic as short rows.
    std::vector<index_t> order;
    if (options_.passes.shuffle || n_examples_ < n) {
      order.reserve(static_cast<std::size_t>(n_examples_));
      for (index_t i = 0; i < n; ++i)
        if (weight(i) != 0.0) order.push_back(i);
    }
    std::optional<double> least;
    if (options_.follows_loss) least = std::numeric_limits<double>::infinity();
    fit_.record = run_passes(
        n_examples_, std::move(order), options_.passes,
        [&](std::span<const index_t> shuffled) { return pass(shuffled); }, least,
        [&] { return step_size_.slow_down(); });
    f_.settle_all();
    fit_.state = std::move(f_).take(n_steps_);
    for (const auto* values :
         {&fit_.state.w, &fit_.state.b, &fit_.state.average_w, &fit_.state.average_b})
      for (const double value : *values) require_finite(value);
    return std::move(fit_);
  }

 private:
  double weight(index_t i) const {
    return task_.class_weight(i) * (problem_.weight.empty() ? 1.0 : problem_.weight[i]);
  }

  optim::PassOutcome pass(std::span<const index_t> order) {
    ++n_iter_;
    mistakes_ = 0;
    loss_ = 0.0;
    if (sure_.are_known()) {
      visit_coded(order);
    } else if (order.empty()) {
      for (index_t i = 0; i < n_examples_; ++i) visit(i);
    } else {
      for (std::size_t t = 0; t < order.size(); ++t) {
        if (t + kRowsAhead < order.size()) rows_.fetch(order[t + kRowsAhead]);
        visit(order[t]);
      }
    }
    if (in_batch_ > 0) step();
    sure_.end_pass(n_examples_);
    return outcome();
  }

  void visit_coded(std::span<const index_t> order) {
    const auto example = [&](index_t t) { return order.empty() ? t : order[t]; };
    index_t t = 0;
    for (; t + SureMargins::kGroup <= n_examples_; t += SureMargins::kGroup) {
      index_t group[SureMargins::kGroup];
      for (index_t k = 0; k < SureMargins::kGroup; ++k) {
        group[k] = example(t + k);
        sure_.set_example(k, group[k], task_.label(group[k]));
        if (t + k + kCodesAhead >= n_examples_) continue;
        const index_t later = example(t + k + kCodesAhead);
        sure_.fetch(later); // the processor does not see where eight rows at once go
        if (sure_.was_in_doubt(later)) rows_.fetch(later);
      }
      visit_doubts(group);
    }
    for (; t < n_examples_; ++t) visit(example(t));
  }

  // The others of the group are no mistakes.
  void visit_doubts(const index_t* group) {
    for (index_t k = 0;; ++k) {
      const index_t next = sure_.next_in_doubt(k, f_);
      reader_.note(n_iter_, next - k);
      n_steps_ += next - k;
      if (next == SureMargins::kGroup) return;
      k = next;
      sure_.note_doubt(group[k]);
      visit(group[k]);
    }
  }

  void visit(index_t i) {
    reader_.note(n_iter_);
    const double c = weight(i);
    if (c == 0.0) return;
    const MarginLoss& loss = problem_.loss;
    if (problem_.penalty.l1 > 0.0) f_.settle(rows_, i);
    if (averages_charged_) met_.push_back(i);
    const double m = task_.margin(f_, rows_, i);
    require_finite(m);
    if (m > loss.margin) {
      // Most rows of a perceptron.
      if (waits_) {
        ++n_steps_;
        return;
      }
    } else {
      ++mistakes_;
      sure_.note_change();
      loss_ += c * loss.value(m);
      batch_.push_back(task_.update(i, c * loss.pull(m)));
    }
    if (++in_batch_ == batch_size_) step();
  }

  void step() {
    const LinearPenalty& penalty = problem_.penalty;
    const double eta = step_size_.at(++n_steps_);
    if (penalty.l2 > 0.0) f_.shrink(std::max(0.0, 1.0 - eta * penalty.l2));
    for (const Update& update : batch_) {
      reader_.note(n_iter_);
      const double a = eta * update.amount / static_cast<double>(in_batch_);
      f_.add(rows_, update.row, update.up, a);
      if (update.down >= 0) f_.add(rows_, update.row, update.down, -a);
      if (options_.records_updates) {
        fit_.update_rows.push_back(update.row);
        fit_.update_steps.push_back(n_steps_);
      }
    }
    if (std::isfinite(options_.radius)) f_.project(options_.radius);
    if (penalty.l1 > 0.0) f_.charge(eta * penalty.l1);
    for (const index_t i : met_) {
      reader_.note(n_iter_);
      f_.settle(rows_, i);
    }
    met_.clear();
    if (options_.average_from > 0 && n_steps_ >= options_.average_from) f_.count();
    batch_.clear();
    in_batch_ = 0;
  }

  optim::PassOutcome outcome() {
    const LinearPenalty& penalty = problem_.penalty;
    const bool is_last = mistakes_ == 0 && penalty.is_none();
    double measure = static_cast<double>(mistakes_);
    const double n = static_cast<double>(n_examples_);
    if (!problem_.validation_weight.empty()) {
      measure = n * misclassified();
    } else if (options_.follows_loss) {
      f_.settle_all();
      measure = loss_ + n * (penalty.l2 / 2.0 * f_.squared_norm() + penalty.l1 * f_.l1_norm());
      require_finite(measure);
    }
    reader_.note_measure(measure / std::max(1.0, n));
    return {mistakes_, measure, is_last};
  }

  // The share of the validation weight that f gets wrong.
  double misclassified() {
    f_.settle_all();
    double wrong = 0.0, total = 0.0;
    for (index_t i = 0; i < static_cast<index_t>(task_.n_examples()); ++i) {
      reader_.note(n_iter_);
      const double v = problem_.validation_weight[i];
      if (v == 0.0) continue;
      total += v;
      if (!task_.is_right(i, task_.margin(f_, rows_, i))) wrong += v;
    }
    return total > 0.0 ? wrong / total : 0.0;
  }

  decltype(rows_of(std::declval<const View&>())) rows_;
  Task task_;
  const OnlineProblem& problem_;
  const OnlineOptions& options_;
  Reader<View> reader_;
  StepSize step_size_;
  index_t n_steps_;
  LazyWeights f_;
  OnlineFit fit_;
  std::vector<Update> batch_;
  std::vector<index_t> met_; // the examples of the step, where an average counts charged weights
  bool averages_charged_;
  bool waits_; // for mistakes
  SureMargins sure_;
  index_t batch_size_ = 1, in_batch_ = 0;
  index_t n_examples_ = 0, n_iter_ = 0, mistakes_ = 0;
  double loss_ = 0.0;
};

BinaryTask task_of(const BinaryLabels& labels) {
  return BinaryTask(labels);
}
ClassTask task_of(const ClassLabels& labels) {
  return ClassTask(labels);
}

void require_sizes(const OnlineProblem& problem, std::size_t n_weights, std::size_t n_offsets) {
  std::visit(
      [&](const auto& labels) {
        const std::size_t n = labels.y.size();
        require(static_cast<index_t>(n) == n_rows(problem.X) &&
                    (problem.weight.empty() || problem.weight.size() == n) &&
                    (problem.validation_weight.empty() || problem.validation_weight.size() == n),
                "y and weights must have an element for every row");
        const auto n_functions = static_cast<std::size_t>(task_of(labels).n_functions());
        require(n_offsets == n_functions &&
                    n_weights == n_functions * static_cast<std::size_t>(n_cols(problem.X)),
                "the weights must have an element for every function and column");
      },
      problem.labels);
}

} // namespace

OnlineFit train_online(const OnlineProblem& problem, const OnlineOptions& options,
                       OnlineState start, Control& control) {
  require_sizes(problem, start.w.size(), start.b.size());
  require(start.n_averaged == 0 || (start.average_w.size() == start.w.size() &&
                                    start.average_b.size() == start.b.size()),
          "averages must have the shape of the weights");
  require(start.lost.empty() || start.lost.size() == start.w.size(),
          "what weights lost must have the shape of the weights");
  return std::visit(
      [&](const auto& view, const auto& labels) {
        return Trainer(view, task_of(labels), problem, options, std::move(start), control).run();
      },
      problem.X, problem.labels);
}

bool pays_to_code(const MatrixView& X, const LinearPenalty& penalty, const OnlineOptions& options) {
  return !is_sparse(X) && n_cols(X) >= kFewestCoded && n_cols(X) <= kMostCoded &&
         n_stored(X) >= kFewestCodes && options.passes.max_iter >= kFewestCodedPasses &&
         !options.is_mapped && options.waits_for_mistakes(penalty);
}

double online_objective(const OnlineProblem& problem, const std::vector<double>& w,
                        const std::vector<double>& b, bool is_mapped, Control& control) {
  require_sizes(problem, w.size(), b.size());
  const LazyWeights f({w, b, {}, {}, 0, 0, {}, 0.0}, {});
  return std::visit(
      [&](const auto& view, const auto& labels) {
        Reader reader(view, is_mapped, false, control);
        const auto rows = rows_of(view);
        auto task = task_of(labels);
        double sum = 0.0;
        index_t n = 0;
        for (index_t i = 0; i < view.rows; ++i) {
          reader.note(0);
          const double c =
              task.class_weight(i) * (problem.weight.empty() ? 1.0 : problem.weight[i]);
          if (c == 0.0) continue;
          ++n;
          sum += c * problem.loss.value(task.margin(f, rows, i));
        }
        return problem.penalty.l2 / 2.0 * f.squared_norm() + problem.penalty.l1 * f.l1_norm() +
               (n == 0 ? 0.0 : sum / static_cast<double>(n));
      },
      problem.X, problem.labels);
}

} // namespace maxmargin::online
