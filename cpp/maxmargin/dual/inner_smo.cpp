#include "maxmargin/dual/inner_smo.hpp"

#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin::dual {
namespace {

// A curvature of no more than this share of the two diagonal elements is rounding.
constexpr double kFlat = 1e-14;

constexpr index_t kPollInterval = 4096; // pair steps between two polls of the caller

} // namespace

void BlockVariables::resize(index_t size) {
  n = size;
  groups = PerGroup<Group>({0, size});
  is_unbounded = false;
  total_step = 0.0;
  const index_t padded = round_up(size, kLane<float>);
  resize_zeros(padded);
  bits_.resize_discard(padded / 4);
  may_grow = bits_.span().first(padded / 8);
  may_fall = bits_.span().last(padded / 8);
}

void BlockVariables::note_bounds() {
  for (std::size_t byte = 0; byte < may_grow.size(); ++byte) {
    unsigned grow = 0, fall = 0;
    for (std::size_t bit = 0; bit < 8; ++bit) {
      const std::size_t t = 8 * byte + bit;
      grow |= static_cast<unsigned>(beta[t] < upper[t]) << bit;
      fall |= static_cast<unsigned>(beta[t] > lower[t]) << bit;
    }
    may_grow[byte] = static_cast<std::uint8_t>(grow);
    may_fall[byte] = static_cast<std::uint8_t>(fall);
  }
}

void BlockVariables::note_bounds(index_t t) {
  const auto note = [t](std::span<std::uint8_t> bits, bool may) {
    const auto bit = static_cast<std::uint8_t>(1U << (t % 8));
    bits[t / 8] = static_cast<std::uint8_t>(may ? bits[t / 8] | bit : bits[t / 8] & ~bit);
  };
  note(may_grow, beta[t] < upper[t]);
  note(may_fall, beta[t] > lower[t]);
}

simd::StepView BlockVariables::step_view(const Group& group) {
  return {gradient.data() + group.begin, may_grow.data() + group.begin / 8,
          may_fall.data() + group.begin / 8, group.end - group.begin};
}

template <Real T> void BlockProblem<T>::resize(index_t size) {
  BlockVariables::resize(size);
  stride = row_stride<T>(size);
  own.resize_discard(n * stride);
  kernel = own.data();
  resize_diagonal();
}

template <Real T> void BlockProblem<T>::resize_diagonal() {
  diagonal.resize_discard(round_up(n, kLane<float>));
  std::fill(diagonal.data() + n, diagonal.data() + diagonal.size(), T(0));
}

template <Real T> void BlockProblem<T>::borrow(const T* matrix, index_t size) {
  BlockVariables::resize(size);
  stride = size;
  kernel = matrix;
  resize_diagonal();
}

double largest_magnitude(const BlockVariables& block) {
  double largest = 0.0;
  for (index_t t = 0; t < block.n; ++t) largest = std::max(largest, std::abs(block.beta[t]));
  return largest;
}

template <Real T>
index_t solve_block(BlockProblem<T>& block, double tol, index_t max_iter, Control& control) {
  const simd::RealTable<T>& table = simd::real_table<T>();
  const std::size_t n_groups = block.groups.size();
  block.note_bounds();
  simd::StepView views[2];
  simd::Violation ends[2];
  for (std::size_t g = 0; g < n_groups; ++g) {
    const auto [begin, end] = block.groups[g];
    views[g] = block.step_view(block.groups[g]);
    ends[g] = simd::active_table().select_first(
        {block.beta.data() + begin, block.gradient.data() + begin, block.lower.data() + begin,
         block.upper.data() + begin, end - begin});
  }
  double* beta = block.beta.data();
  double largest = largest_magnitude(block);
  index_t n_iter = 0;
  while (n_iter < max_iter) {
    const std::size_t worst =
        n_groups == 2 && ends[1].up - ends[1].low > ends[0].up - ends[0].low ? 1 : 0;
    const double up = ends[worst].up;
    if (!(up - ends[worst].low >= tol)) break;
    const index_t begin = block.groups[worst].begin;
    const index_t i = begin + ends[worst].i;
    const T* row_i = block.kernel + i * block.stride;
    const index_t partner = table.select_second(views[worst], block.diagonal.data() + begin,
                                                row_i + begin, i - begin, ends[worst]);
    if (partner < 0) break;
    const index_t j = begin + partner;
    const T* row_j = block.kernel + j * block.stride;
    const double diagonal_i = static_cast<double>(block.diagonal[i]);
    const double diagonal_j = static_cast<double>(block.diagonal[j]);
    double curvature = diagonal_i + diagonal_j - 2.0 * static_cast<double>(row_i[j]);
    const double room_i = block.upper[i] - beta[i], room_j = beta[j] - block.lower[j];
    if (std::isinf(room_i) && std::isinf(room_j)) {
      // Elsewhere than in the hard margin, a ridge keeps curvatures above 0 unless the kernel is
      // indefinite, which float32 values are too inexact to show.
      const double flat = kFlat * (std::abs(diagonal_i) + std::abs(diagonal_j));
      block.is_unbounded = block.may_be_unbounded
                               ? !(curvature > flat)
                               : sizeof(T) == sizeof(double) && curvature < -flat;
      if (block.is_unbounded) break; // the objective has no lower bound along this line
    }
    if (!(curvature > 0.0)) curvature = simd::kTau;
    const double newton = (up + block.gradient[j]) / curvature;
    double step = std::min({newton, room_i, room_j});
    // Exactly on the bound, without a rounding error: the bound decides which set the variable is
    // in. Less than twice the step still lowers the objective.
    const auto lands = [&, least = step](double room) {
      return room - least <= kBoundTolerance * largest && room < 2.0 * least;
    };
    const bool lands_i = lands(room_i), lands_j = lands(room_j);
    if (lands_i != lands_j) step = lands_i ? room_i : room_j;
    const double before_i = beta[i], before_j = beta[j];
    beta[i] = lands_i ? block.upper[i] : before_i + step;
    beta[j] = lands_j ? block.lower[j] : before_j - step;
    largest = std::max({largest, std::abs(beta[i]), std::abs(beta[j])});
    if (beta[i] == before_i && beta[j] == before_j) break;
    block.note_bounds(i);
    block.note_bounds(j);
    block.total_step += 2.0 * std::abs(step);
    for (std::size_t g = 0; g < n_groups; ++g) {
      const index_t first = block.groups[g].begin;
      ends[g] = table.update_pair(views[g], row_i + first, row_j + first, step);
    }
    if (++n_iter % kPollInterval == 0) control.poll();
  }
  return n_iter;
}

template class BlockProblem<float>;
template class BlockProblem<double>;
template index_t solve_block(BlockProblem<float>&, double, index_t, Control&);
template index_t solve_block(BlockProblem<double>&, double, index_t, Control&);

} // namespace maxmargin::dual
