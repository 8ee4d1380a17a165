#include "maxmargin/dual/block_newton.hpp"

#include "maxmargin/base/sums.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace maxmargin::dual {
namespace {

// Keep equal rows from breaking the factorisation; the first that does is taken.
constexpr double kRelativeRidges[] = {1e-11, 1e-9, 1e-7};
constexpr std::size_t kMostHeld = 128;
constexpr std::size_t kColumnsAtOnce = 16; // which take hardly longer than one
constexpr index_t kMostFree = 4096;        // beyond, a factorisation would take a second
constexpr double kProductsPerPairStep =
    50.0; // and variable of the block, at a factorisation's speed

// Gaussian elimination with partial pivoting, for the few multipliers of the held variables.
bool solve_small(std::vector<std::vector<double>> A, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t p = 0; p < n; ++p) {
    std::size_t best = p;
    for (std::size_t i = p + 1; i < n; ++i)
      if (std::abs(A[i][p]) > std::abs(A[best][p])) best = i;
    if (!(std::abs(A[best][p]) > 0.0)) return false;
    std::swap(A[p], A[best]);
    std::swap(b[p], b[best]);
    for (std::size_t i = p + 1; i < n; ++i) {
      const double factor = A[i][p] / A[p][p];
      for (std::size_t j = p; j < n; ++j) A[i][j] -= factor * A[p][j];
      b[i] -= factor * b[p];
    }
  }
  for (std::size_t p = n; p-- > 0;) {
    for (std::size_t j = p + 1; j < n; ++j) b[p] -= A[p][j] * b[j];
    b[p] /= A[p][p];
  }
  return true;
}

} // namespace

index_t BlockNewton::cost_in_pair_steps(const BlockVariables& block) {
  double n_free = 0.0;
  for (index_t t = 0; t < block.n; ++t)
    n_free += block.beta[t] > block.lower[t] && block.beta[t] < block.upper[t];
  return static_cast<index_t>(n_free * n_free * n_free /
                              (kProductsPerPairStep * static_cast<double>(block.n)));
}

template <Real T> bool BlockNewton::take(BlockProblem<T>& block, int threads) {
  threads_ = threads;
  if (!factor(block)) return false;
  const std::size_t n = free_.size();
  Vector step(n, 0.0), target;
  while (find_target(target)) {
    // Towards the target, up to the first bound.
    double share = 1.0;
    std::size_t blocking = n;
    for (std::size_t k = 0; k < n; ++k) {
      if (is_held_[k]) continue;
      const double move = std::abs(target[k] - step[k]);
      const double room = room_towards(block, k, step, target);
      if (move * share > room) {
        share = room / move;
        blocking = k;
      }
    }
    for (std::size_t k = 0; k < n; ++k)
      if (!is_held_[k]) step[k] += share * (target[k] - step[k]);
    if (blocking == n || held_.size() == kMostHeld) break;
    if (!solved_.contains(blocking)) solve_columns(block, blocking, step, target);
    const index_t t = free_[blocking];
    const bool rises = target[blocking] > step[blocking];
    step[blocking] = (rises ? block.upper[t] : block.lower[t]) - block.beta[t];
    hold(blocking, step[blocking]);
  }
  if (std::all_of(step.begin(), step.end(), [](double d) { return d == 0.0; })) return false;
  settle(block, step);
  balance(block, step);
  // What does not descend is rounding, which a singular K_FF magnifies: alpha and alpha* of one
  // sample, both free, have the same column.
  double slope = 0.0;
  for (std::size_t k = 0; k < n; ++k) slope += step[k] * block.gradient[free_[k]];
  if (!(slope < 0.0)) return false;
  apply(block, step);
  return true;
}

// How far the free variable k may go on towards its target.
double BlockNewton::room_towards(const BlockVariables& block, std::size_t k, const Vector& step,
                                 const Vector& target) const {
  const index_t t = free_[k];
  const double bound = target[k] > step[k] ? block.upper[t] : block.lower[t];
  return std::abs(bound - (block.beta[t] + step[k]));
}

template <Real T> bool BlockNewton::factor(const BlockProblem<T>& block) {
  free_.clear();
  groups_.clear();
  for (const auto [first, last] : block.groups) {
    const index_t begin = static_cast<index_t>(free_.size());
    for (index_t t = first; t < last; ++t)
      if (block.beta[t] > block.lower[t] && block.beta[t] < block.upper[t]) free_.push_back(t);
    const index_t end = static_cast<index_t>(free_.size());
    if (end > begin) groups_.push_back({begin, end});
  }
  const index_t n = static_cast<index_t>(free_.size());
  if (n < 2 || n > kMostFree) return false;
  free_kernel_.resize_discard(n * n);
  double largest = 0.0;
  for (index_t i = 0; i < n; ++i) {
    const T* row = block.kernel + free_[i] * block.stride;
    for (index_t j = 0; j <= i; ++j) free_kernel_[i * n + j] = static_cast<double>(row[free_[j]]);
    largest = std::max(largest, static_cast<double>(row[free_[i]]));
  }
  const auto succeeds = [&](double ridge) {
    return cholesky_.factor(free_kernel_.data(), n, n, ridge * largest, threads_);
  };
  if (!std::ranges::any_of(kRelativeRidges, succeeds)) return false;
  unconstrained_.clear();
  for (const index_t t : free_) unconstrained_.push_back(-block.gradient[t]);
  cholesky_.solve(unconstrained_);
  held_.clear();
  held_at_.clear();
  is_held_.assign(free_.size(), 0);
  columns_.clear();
  column_sums_.clear();
  solved_.clear();
  for (const Group& group : groups_) {
    Vector column(free_.size(), 0.0);
    std::fill(column.begin() + group.begin, column.begin() + group.end, 1.0);
    cholesky_.solve(column);
    add_column(std::move(column));
  }
  return true;
}

double BlockNewton::sum_over(const Group& group, const Vector& v) const {
  return std::accumulate(v.begin() + group.begin, v.begin() + group.end, 0.0);
}

// The columns of K_FF^-1 for the blocking variable and for those that seem to come next: one pass
// over the factor serves them all.
void BlockNewton::solve_columns(const BlockVariables& block, std::size_t blocking,
                                const Vector& step, const Vector& target) {
  std::vector<std::pair<double, std::size_t>> next; // by the share of their way that they may go
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const double move = std::abs(target[k] - step[k]);
    const double room = room_towards(block, k, step, target);
    if (k != blocking && !is_held_[k] && !solved_.contains(k) && move > room)
      next.push_back({room / move, k});
  }
  const std::size_t n_next = std::min(kColumnsAtOnce - 1, next.size());
  std::partial_sort(next.begin(), next.begin() + static_cast<index_t>(n_next), next.end());
  next.resize(n_next);
  next.push_back({0.0, blocking});
  std::vector<Vector> columns(next.size(), Vector(free_.size(), 0.0));
  for (std::size_t c = 0; c < next.size(); ++c) columns[c][next[c].second] = 1.0;
  cholesky_.solve(columns, threads_);
  for (std::size_t c = 0; c < next.size(); ++c)
    solved_.emplace(next[c].second, std::move(columns[c]));
}

void BlockNewton::hold(std::size_t k, double at) {
  held_.push_back(static_cast<index_t>(k));
  held_at_.push_back(at);
  is_held_[k] = 1;
  add_column(std::move(solved_.at(k)));
  solved_.erase(k);
}

void BlockNewton::add_column(Vector column) {
  Vector sums;
  for (const Group& group : groups_) sums.push_back(sum_over(group, column));
  column_sums_.push_back(std::move(sums));
  columns_.push_back(std::move(column));
}

bool BlockNewton::find_target(Vector& target) const {
  // The constraints on the step: its sum over every group, then the held variables.
  const std::size_t n = columns_.size(), n_groups = groups_.size();
  std::vector<Vector> A(n, Vector(n));
  Vector nu(n);
  for (std::size_t g = 0; g < n_groups; ++g) {
    for (std::size_t j = 0; j < n; ++j) A[g][j] = column_sums_[j][g];
    nu[g] = sum_over(groups_[g], unconstrained_);
  }
  for (std::size_t i = n_groups; i < n; ++i) {
    const index_t k = held_[i - n_groups];
    for (std::size_t j = 0; j < n; ++j) A[i][j] = columns_[j][k];
    nu[i] = unconstrained_[k] - held_at_[i - n_groups];
  }
  if (!solve_small(std::move(A), nu)) return false;
  target = unconstrained_;
  const auto axpy = simd::active_table().f64.axpy;
  for (std::size_t j = 0; j < n; ++j)
    axpy(-nu[j], columns_[j].data(), target.data(), static_cast<index_t>(target.size()));
  // Exactly on the constraints, which an ill-conditioned K_FF leaves a little.
  for (std::size_t i = 0; i < held_.size(); ++i) target[held_[i]] = held_at_[i];
  for (const Group& group : groups_) {
    const auto held = std::count(is_held_.begin() + group.begin, is_held_.begin() + group.end, 1);
    const index_t n_loose = std::max<index_t>(1, group.end - group.begin - held);
    const double rest = sum_over(group, target) / static_cast<double>(n_loose);
    for (index_t k = group.begin; k < group.end; ++k)
      if (!is_held_[k]) target[k] -= rest;
  }
  return all_finite(target);
}

// Takes a variable that rounding alone keeps from a bound there.
void BlockNewton::settle(const BlockVariables& block, Vector& step) const {
  const double dust = kBoundTolerance * largest_magnitude(block);
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const index_t t = free_[k];
    const double at = block.beta[t] + step[k];
    if (step[k] < 0.0 && at - block.lower[t] <= dust) step[k] = block.lower[t] - block.beta[t];
    if (step[k] > 0.0 && block.upper[t] - at <= dust) step[k] = block.upper[t] - block.beta[t];
  }
}

// What rounding left of a group's sum goes to the variable with the most room, if one has any.
void BlockNewton::balance(const BlockVariables& block, Vector& step) const {
  for (const Group& group : groups_) {
    index_t widest = -1;
    double most_room = kBoundTolerance * largest_magnitude(block);
    for (index_t k = group.begin; k < group.end; ++k) {
      const index_t t = free_[k];
      const double at = block.beta[t] + step[k];
      const double room = std::min(block.upper[t] - at, at - block.lower[t]);
      if (room > most_room) {
        most_room = room;
        widest = k;
      }
    }
    if (widest >= 0) step[widest] -= sum_over(group, step);
  }
}

template <Real T> void BlockNewton::apply(BlockProblem<T>& block, const Vector& step) const {
  std::vector<const T*> rows;
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const index_t t = free_[k];
    rows.push_back(block.kernel + t * block.stride);
    block.total_step += std::abs(step[k]);
    double& beta = block.beta[t];
    const bool rises_to_bound = step[k] >= block.upper[t] - beta;
    const bool falls_to_bound = step[k] <= block.lower[t] - beta;
    beta = rises_to_bound ? block.upper[t] : falls_to_bound ? block.lower[t] : beta + step[k];
  }
  simd::real_table<T>().add_rows(rows.data(), step.data(), static_cast<index_t>(rows.size()),
                                 block.gradient.data(), 0, block.n);
}

template bool BlockNewton::take(BlockProblem<float>&, int);
template bool BlockNewton::take(BlockProblem<double>&, int);

} // namespace maxmargin::dual
