#include "maxmargin/online/online_fit.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/sums.hpp"
#include "maxmargin/data/int8_rows.hpp"
#include "maxmargin/data/row_reader.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace maxmargin::online {
namespace {

// The work of training is estimated for so many passes at most.
constexpr index_t kFewPasses = 10;

// Int8 rows pay from so many columns, while the rounding of their sums is small, where there are
// more elements than the caches hold, and passes enough to make up for coding.
constexpr index_t kFewestColumns = 32, kMostColumns = 1 << 16;
constexpr index_t kFewestElements = 1 << 18;
constexpr index_t kFewestPasses = 4;

std::vector<double> slice(std::span<const double> all, std::size_t p, std::size_t n_problems) {
  const std::size_t size = all.size() / n_problems;
  const auto part = all.subspan(p * size, size);
  return {part.begin(), part.end()};
}

int threads_for(const OnlineData& data, index_t n_passes, const OnlineSettings& settings) {
  return thread_count_for(settings.threads, static_cast<double>(data.n_problems() * n_passes) *
                                                static_cast<double>(n_stored(data.X)));
}

void check(const OnlineData& data) {
  require(static_cast<index_t>(data.y.size()) == n_rows(data.X),
          "y must have one element for every row of X");
  const auto n_classes = static_cast<std::int64_t>(data.class_weight.size());
  if (data.is_joint()) {
    require(n_classes >= 2, "class_weight must have one for every class");
    require(std::ranges::all_of(data.y, [&](auto code) { return code >= 0 && code < n_classes; }),
            "y must hold numbers of classes");
  } else {
    require(data.class_weight.size() == 2 * data.positive.size(),
            "class_weight must have those of the rest and of the positive class by problem");
  }
}

// One class against the rest. (From a table: a branch on labels in any order is mispredicted.)
std::vector<std::int8_t> signs_of(std::span<const std::int64_t> codes, std::int64_t positive) {
  static constexpr std::int8_t signs[] = {-1, 1};
  std::vector<std::int8_t> y(codes.size());
  std::ranges::transform(codes, y.begin(),
                         [positive](std::int64_t code) { return signs[code == positive ? 1 : 0]; });
  return y;
}

// Calls work(p, problem p), several problems at the same time.
template <class Work>
void for_problems(const OnlineData& data, int threads, const Int8Rows* int8_rows,
                  const Work& work) {
  parallel_for(data.n_problems(), threads, [&](index_t p, int) {
    OnlineProblem problem{data.X, ClassLabels{data.y, data.class_weight}, data.weight,
                          data.validation_weight, int8_rows};
    std::vector<std::int8_t> signs;
    if (!data.is_joint()) {
      signs = signs_of(data.y, data.positive[p]);
      problem.labels = BinaryLabels{signs, data.class_weight[2 * p], data.class_weight[2 * p + 1]};
    }
    work(p, problem);
  });
}

std::optional<Int8Rows> int8_rows_of(const OnlineData& data, const OnlineSettings& settings,
                                     Control& control) {
  const MatrixView& X = data.X;
  if (data.is_joint() || is_sparse(X) || n_cols(X) < kFewestColumns || n_cols(X) > kMostColumns ||
      n_stored(X) < kFewestElements || settings.passes.max_iter < kFewestPasses ||
      settings.is_mapped || !settings.waits_for_mistakes())
    return std::nullopt;
  return std::visit(
      [&](const auto& view) -> std::optional<Int8Rows> {
        if constexpr (is_dense<std::decay_t<decltype(view)>>)
          return std::optional<Int8Rows>(std::in_place, view, settings.threads, control);
        else
          return std::nullopt;
      },
      X);
}

// Squared distances are at most 4 d max|x|^2.
void require_bounded(const MatrixView& X, const OnlineSettings& settings, Control& control) {
  const double largest =
      std::sqrt(std::numeric_limits<double>::max() / (4.0 * static_cast<double>(n_cols(X))));
  std::visit(
      [&](const auto& view) {
        using T = typename std::decay_t<decltype(view)>::value_type;
        const auto& table = simd::real_table<T>();
        RowReader reader(view, settings.is_mapped, false, control);
        for (index_t begin = 0; begin < view.rows; begin += reader.rows_per_poll()) {
          const index_t end = std::min(view.rows, begin + reader.rows_per_poll());
          for_values(view, begin, end, [&](std::span<const T> values) {
            if (!(table.largest_magnitude(values.data(), std::ssize(values)) <= largest))
              throw NumericError("X holds values that are not finite, or too large");
          });
          reader.note(0, end - begin);
        }
      },
      X);
}

} // namespace

OnlineStates::OnlineStates(index_t n_problems, index_t n_functions, index_t n_features)
    : n_features_(n_features) {
  OnlineState zero;
  zero.w.resize(static_cast<std::size_t>(n_functions * n_features));
  zero.b.resize(static_cast<std::size_t>(n_functions));
  problems.assign(static_cast<std::size_t>(n_problems), zero);
}

OnlineStates::OnlineStates(index_t n_features, std::span<const double> w, std::span<const double> b,
                           std::span<const double> average_w, std::span<const double> average_b,
                           std::span<const std::int64_t> n_steps,
                           std::span<const std::int64_t> n_averaged, std::span<const double> lost,
                           std::span<const double> due)
    : n_features_(n_features) {
  const std::size_t n = n_steps.size();
  require(n > 0 && n_averaged.size() == n && due.size() == n && !b.empty() && b.size() % n == 0 &&
              w.size() == b.size() * static_cast<std::size_t>(n_features) &&
              (average_b.empty() || average_b.size() == b.size()) &&
              average_w.size() == average_b.size() * static_cast<std::size_t>(n_features) &&
              (lost.empty() || lost.size() == w.size()),
          "the parts of a state of training do not fit together");
  for (const auto part : {w, b, average_w, average_b, lost, due})
    require(all_finite(part), "a state of training must hold finite numbers");
  for (std::size_t p = 0; p < n; ++p)
    problems.push_back({slice(w, p, n), slice(b, p, n), slice(average_w, p, n),
                        slice(average_b, p, n), n_steps[p], n_averaged[p], slice(lost, p, n),
                        due[p]});
}

index_t OnlineStates::n_functions() const {
  return static_cast<index_t>(problems.empty() ? 0 : problems.size() * problems[0].b.size());
}

bool OnlineStates::has_averages() const {
  return !problems.empty() && !problems[0].average_b.empty();
}

std::vector<double> OnlineStates::joined(std::vector<double> OnlineState::* part) const {
  std::vector<double> all;
  for (const OnlineState& state : problems)
    all.insert(all.end(), (state.*part).begin(), (state.*part).end());
  return all;
}

OnlineStates OnlineStates::with_weights(std::span<const double> w,
                                        std::span<const double> b) const {
  const auto n = static_cast<std::size_t>(n_functions());
  require(b.size() == n && w.size() == n * static_cast<std::size_t>(n_features_),
          "the weights must have a row for every function");
  OnlineStates changed = *this;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    changed.problems[p].w = slice(w, p, problems.size());
    changed.problems[p].b = slice(b, p, problems.size());
  }
  return changed;
}

OnlineResult fit_online(const OnlineData& data, const OnlineSettings& settings,
                        const OnlineStates* start, Control& control) {
  check(data);
  OnlineResult result;
  result.states =
      start ? *start : OnlineStates(data.n_problems(), data.n_functions(), n_cols(data.X));
  require(static_cast<index_t>(result.states.problems.size()) == data.n_problems(),
          "the start must have a state for every problem");
  result.records.resize(result.states.problems.size());
  // Coding shows on the way that no value is out of bounds.
  const std::optional<Int8Rows> int8_rows = int8_rows_of(data, settings, control);
  if (!int8_rows || !int8_rows->are_bounded()) require_bounded(data.X, settings, control);
  const int threads = threads_for(data, std::min(settings.passes.max_iter, kFewPasses), settings);
  for_problems(data, threads, int8_rows ? &*int8_rows : nullptr,
               [&](index_t p, const OnlineProblem& problem) {
                 OnlineState& state = result.states.problems[p];
                 OnlineFit fit = train_online(problem, settings, std::move(state), control);
                 state = std::move(fit.state);
                 result.records[p] = std::move(fit.record);
               });
  return result;
}

std::vector<double> online_objectives(const OnlineData& data, const OnlineSettings& settings,
                                      std::span<const double> w, std::span<const double> b,
                                      Control& control) {
  check(data);
  const auto n = static_cast<std::size_t>(data.n_problems());
  require(b.size() == n * static_cast<std::size_t>(data.n_functions()) &&
              w.size() == b.size() * static_cast<std::size_t>(n_cols(data.X)),
          "the weights must have a row for every function");
  std::vector<double> values(n);
  for_problems(
      data, threads_for(data, 1, settings), nullptr, [&](index_t p, const OnlineProblem& problem) {
        values[p] = online_objective(problem, settings, slice(w, p, n), slice(b, p, n), control);
      });
  return values;
}

} // namespace maxmargin::online
