#include "maxmargin/online/subgradient.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/data/row_reader.hpp"
#include "maxmargin/data/sample_rows.hpp"
#include "maxmargin/online/nonzero_rows.hpp"
#include "maxmargin/online/online_tasks.hpp"
#include "maxmargin/online/quantised_screening.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace maxmargin::online {
namespace {

constexpr index_t kCodesAhead = 64; // int8 rows, which are short

[[noreturn]] void throw_overflow() {
  throw NumericError("the weights overflow");
}
inline void require_finite(double value) {
  if (!std::isfinite(value)) [[unlikely]]
    throw_overflow();
}

template <class View, class Rows, class Task> class Trainer {
 public:
  Trainer(const View& X, Rows rows, Task task, const OnlineProblem& problem,
          const OnlineSettings& settings, OnlineState start, Control& control)
      : rows_(std::move(rows)), task_(task), problem_(problem), settings_(settings),
        reader_(X, settings.is_mapped, settings.passes.shuffle, control), step_size_(settings.step),
        n_steps_(start.n_steps),
        f_(std::move(start),
           {settings.fit_intercept, settings.average_from > 0, settings.penalty.l1 > 0.0}),
        averages_charged_(settings.average_from > 0 && settings.penalty.l1 > 0.0),
        waits_(settings.waits_for_mistakes()),
        screening_(waits_ && Task::is_binary ? problem.int8_rows : nullptr, settings.loss.margin,
                   task.n_examples()) {}

  OnlineFit run() {
    const index_t n = static_cast<index_t>(task_.n_examples());
    for (index_t i = 0; i < n; ++i) n_examples_ += weight(i) != 0.0 ? 1 : 0;
    batch_size_ = settings_.batch_size == 0 ? n_examples_ : settings_.batch_size;
    // All in the given order need no list, which would cost as much memory traffic as short rows.
    std::vector<index_t> order;
    if (settings_.passes.shuffle || n_examples_ < n) {
      order.reserve(static_cast<std::size_t>(n_examples_));
      for (index_t i = 0; i < n; ++i)
        if (weight(i) != 0.0) order.push_back(i);
    }
    std::optional<double> least;
    if (settings_.follows_loss) least = std::numeric_limits<double>::infinity();
    fit_.record = optim::run_passes(
        n_examples_, std::move(order), settings_.passes,
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
  static constexpr index_t kGroup = QuantisedScreening::kGroup;

  double weight(index_t i) const {
    return task_.class_weight(i) * (problem_.weight.empty() ? 1.0 : problem_.weight[i]);
  }

  optim::PassOutcome pass(std::span<const index_t> order) {
    ++n_iter_;
    mistakes_ = 0;
    loss_ = 0.0;
    if (screening_.is_on()) {
      visit_screened(order);
    } else if (order.empty()) {
      for (index_t i = 0; i < n_examples_; ++i) visit(i);
    } else {
      for (std::size_t t = 0; t < order.size(); ++t) {
        if (t + kRowsAhead < order.size()) rows_.fetch(order[t + kRowsAhead]);
        visit(order[t]);
      }
    }
    if (in_batch_ > 0) step();
    screening_.end_pass(n_examples_);
    return outcome();
  }

  void visit_screened(std::span<const index_t> order) {
    const auto example = [&](index_t t) { return order.empty() ? t : order[t]; };
    index_t t = 0;
    for (; t + kGroup <= n_examples_; t += kGroup) {
      index_t group[kGroup];
      for (index_t k = 0; k < kGroup; ++k) {
        group[k] = example(t + k);
        screening_.set_example(k, group[k], task_.label(group[k]));
        if (t + k + kCodesAhead >= n_examples_) continue;
        const index_t later = example(t + k + kCodesAhead);
        screening_.fetch(later); // the processor does not foresee eight rows at once
        if (screening_.was_undecided(later)) rows_.fetch(later);
      }
      visit_undecided(group);
    }
    for (; t < n_examples_; ++t) visit(example(t));
  }

  // The others of the group are no mistakes.
  void visit_undecided(const index_t* group) {
    for (index_t k = 0;; ++k) {
      const index_t next = screening_.next_undecided(k, f_);
      reader_.note(n_iter_, next - k);
      n_steps_ += next - k;
      if (next == kGroup) return;
      k = next;
      screening_.note_undecided(group[k]);
      visit(group[k]);
    }
  }

  void visit(index_t i) {
    reader_.note(n_iter_);
    const double c = weight(i);
    if (c == 0.0) return;
    const MarginLoss& loss = settings_.loss;
    if (settings_.penalty.l1 > 0.0) f_.settle(rows_, i);
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
      screening_.note_change();
      loss_ += c * loss.value(m);
      batch_.push_back(task_.update(i, c * loss.pull(m)));
    }
    if (++in_batch_ == batch_size_) step();
  }

  void step() {
    const LinearPenalty& penalty = settings_.penalty;
    const double eta = step_size_.at(++n_steps_);
    if (penalty.l2 > 0.0) f_.shrink(std::max(0.0, 1.0 - eta * penalty.l2));
    for (const Update& update : batch_) {
      reader_.note(n_iter_);
      const double a = eta * update.amount / static_cast<double>(in_batch_);
      f_.add(rows_, update.row, update.up, a);
      if (update.down >= 0) f_.add(rows_, update.row, update.down, -a);
    }
    if (penalty.l1 > 0.0) f_.charge(eta * penalty.l1);
    for (const index_t i : met_) {
      reader_.note(n_iter_);
      f_.settle(rows_, i);
    }
    met_.clear();
    if (settings_.average_from > 0 && n_steps_ >= settings_.average_from) f_.count();
    batch_.clear();
    in_batch_ = 0;
  }

  optim::PassOutcome outcome() {
    const LinearPenalty& penalty = settings_.penalty;
    const bool is_last = mistakes_ == 0 && penalty.is_none();
    double measure = static_cast<double>(mistakes_);
    const double n = static_cast<double>(n_examples_);
    if (!problem_.validation_weight.empty()) {
      measure = n * misclassified();
    } else if (settings_.follows_loss) {
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

  Rows rows_;
  Task task_;
  const OnlineProblem& problem_;
  const OnlineSettings& settings_;
  RowReader<View> reader_;
  StepSize step_size_;
  index_t n_steps_;
  LazyWeights f_;
  OnlineFit fit_;
  std::vector<Update> batch_;
  std::vector<index_t> met_; // the examples of the step, where an average counts charged weights
  bool averages_charged_;
  bool waits_; // for mistakes
  QuantisedScreening screening_;
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

OnlineFit train_online(const OnlineProblem& problem, const OnlineSettings& settings,
                       OnlineState start, Control& control) {
  require_sizes(problem, start.w.size(), start.b.size());
  require(start.n_averaged == 0 || (start.average_w.size() == start.w.size() &&
                                    start.average_b.size() == start.b.size()),
          "averages must have the shape of the weights");
  require(start.lost.empty() || start.lost.size() == start.w.size(),
          "what weights lost must have the shape of the weights");
  return std::visit(
      [&]<class View>(const View& view, const auto& labels) {
        const auto train = [&](auto rows) {
          return Trainer(view, std::move(rows), task_of(labels), problem, settings,
                         std::move(start), control)
              .run();
        };
        if constexpr (is_dense<View>)
          if (settings.penalty.l1 > 0.0) return train(NonzeroRows<typename View::value_type>(view));
        return train(rows_of(view));
      },
      problem.X, problem.labels);
}

double online_objective(const OnlineProblem& problem, const OnlineSettings& settings,
                        const std::vector<double>& w, const std::vector<double>& b,
                        Control& control) {
  require_sizes(problem, w.size(), b.size());
  const LazyWeights f({w, b, {}, {}, 0, 0, {}, 0.0}, {});
  return std::visit(
      [&](const auto& view, const auto& labels) {
        RowReader reader(view, settings.is_mapped, false, control);
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
          sum += c * settings.loss.value(task.margin(f, rows, i));
        }
        return settings.penalty.l2 / 2.0 * f.squared_norm() + settings.penalty.l1 * f.l1_norm() +
               (n == 0 ? 0.0 : sum / static_cast<double>(n));
      },
      problem.X, problem.labels);
}

} // namespace maxmargin::online
