// Every table entry in the plainest scalar code: what the others are tested against.
#include "maxmargin/simd/kernel_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace maxmargin::simd {
namespace {

template <Real T> T leaf_value(const Leaf<T>& e, T dot, T exponent) {
  switch (e.transform) {
  case Transform::identity:
    return e.scale * dot;
  case Transform::power:
    return static_cast<T>(std::pow(e.scale * dot + e.offset, e.degree));
  case Transform::exponential:
    return std::exp(std::fmin(e.scale * exponent, T(0)));
  case Transform::tanh:
    return std::tanh(e.scale * dot + e.offset);
  case Transform::power_sum: {
    T total = 0;
    for (int k = 1; k <= e.degree; ++k) total += static_cast<T>(std::pow(e.scale * dot, k));
    return total;
  }
  case Transform::composed:
    break;
  }
  return T(0);
}

// factor_of(f): the product of both rows' factors of that number.
template <Real T, class FactorOf>
T value_of(const Epilogue<T>& e, T dot, T exponent, const FactorOf& factor_of) {
  if (e.transform != Transform::composed) return leaf_value(e, dot, exponent);
  T stack[kStackDepth + 1];
  int top = 0;
  for (int s = 0; s < e.n_steps; ++s) {
    const Step<T>& step = e.steps[s];
    if (step.kind == StepKind::value) {
      stack[top++] = step.weight * leaf_value(step.leaf, dot, exponent);
    } else {
      const T second = stack[--top];
      if (step.kind == StepKind::add)
        stack[top - 1] += second;
      else
        stack[top - 1] *= second;
    }
    if (step.factor != kNoFactor) stack[top - 1] *= factor_of(step.factor);
  }
  return stack[0];
}

template <Real T> T factor(const Factors<T>& factors, int f, index_t row) {
  return factors.values[f * factors.stride + row];
}

template <Real T> void dense_block(const DenseBlock<T>& block) {
  for (index_t p = 0; p < block.n_panels; ++p)
    for (index_t lane = 0; lane < kLane<T>; ++lane)
      for (index_t r = 0; r < block.n_queries; ++r) {
        const T* panel = block.panels[p] + lane;
        const auto product = [&](Pairing pairing) {
          T sum = 0;
          for (index_t k = 0; k < block.depth; ++k)
            sum += paired(pairing, block.queries[r * block.depth + k], panel[k * kLane<T>]);
          return sum;
        };
        const Epilogue<T>& e = *block.epilogue;
        const T half_norms = block.query_half_norms[r] + panel[block.depth * kLane<T>];
        const index_t c = p * kLane<T> + lane;
        block.out[r][block.column + c] =
            value_of(e, product(e.pairing), product(e.of_exponentials) - half_norms, [&](int f) {
              return factor(block.query_factors, f, r) * factor(block.column_factors, f, c);
            });
      }
}

template <Real T> T sparse_value(const SparseBlock<T>& block, index_t r, index_t c) {
  const index_t row = block.rows[c];
  T dot = 0;
  for (std::int64_t k = block.indptr[row]; k < block.indptr[row + 1]; ++k)
    dot += paired(block.epilogue->pairing, block.values[k],
                  block.table[block.indices[k] * kSparseQueries<T> + r]);
  const index_t at = c * kSparseQueries<T> + r;
  T of_exponentials = dot;
  if (block.tail != nullptr) of_exponentials = dot + block.tail[at];
  if (block.exponential_tail != nullptr) of_exponentials = dot + block.exponential_tail[at];
  if (block.tail != nullptr) dot += block.tail[at];
  return value_of(
      *block.epilogue, dot, of_exponentials - (block.query_half_norms[r] + block.half_norms[row]),
      [&](int f) { return factor(block.query_factors, f, r) * factor(block.row_factors, f, c); });
}

template <Real T> void sparse_block(const SparseBlock<T>& block, T* const* out) {
  for (index_t c = 0; c < block.n_rows; ++c)
    for (index_t r = 0; r < block.n_queries; ++r) out[r][c] = sparse_value(block, r, c);
}

template <Real T> void sparse_add(const SparseBlock<T>& block, const double* coef, double* out) {
  for (index_t c = 0; c < block.n_rows; ++c) {
    double sum = 0;
    for (index_t r = 0; r < block.n_queries; ++r)
      sum += coef[r] * static_cast<double>(sparse_value(block, r, c));
    out[c] += sum;
  }
}

template <Real T> T set_value(const SetBlock<T>& block, index_t r, index_t c) {
  const std::int64_t begin = block.begin[block.rows[r]], end = block.begin[block.rows[r] + 1];
  index_t difference = block.column_sizes[c] + (end - begin);
  for (std::int64_t k = begin; k < end; ++k)
    difference -= block.table[kSetColumns * index_t{block.features[k]} + c];
  return block.low[difference % 16] * block.high[difference / 16];
}

template <Real T> void set_block(const SetBlock<T>& block, T* const* out, index_t column) {
  for (index_t r = 0; r < block.n_rows; ++r)
    for (index_t c = 0; c < block.n_columns; ++c) out[r][column + c] = set_value(block, r, c);
}

template <Real T> void set_add(const SetBlock<T>& block, const double* coef, double* out) {
  for (index_t c = 0; c < block.n_columns; ++c) {
    double sum = 0;
    for (index_t r = 0; r < block.n_rows; ++r)
      sum += coef[r] * static_cast<double>(set_value(block, r, c));
    out[c] += sum;
  }
}

template <Real T>
index_t scatter(Pairing pairing, T x, const T* values, const std::int32_t* columns, index_t n,
                std::int32_t begin, std::int32_t end, T* tail) {
  index_t k = 0;
  for (; k < n && columns[k] < end; ++k)
    tail[(columns[k] - begin) * kSparseQueries<T>] += paired(pairing, x, values[k]);
  return k;
}

template <Real T>
void panel_half_norms(Pairing pairing, const T* panel, index_t depth, T* half_norms) {
  for (index_t lane = 0; lane < kLane<T>; ++lane) {
    T sum = 0;
    for (index_t k = 0; k < depth; ++k)
      sum += paired(pairing, panel[k * kLane<T> + lane], panel[k * kLane<T> + lane]);
    half_norms[lane] = sum / 2;
  }
}

template <Real T>
T sparse_half_norm(Pairing pairing, const T* head, index_t n_head, const T* tail, index_t n_tail) {
  T sum = 0, rest = 0;
  for (index_t k = 0; k < n_head; ++k) sum += paired(pairing, head[k], head[k]);
  for (index_t k = 0; k < n_tail; ++k) rest += paired(pairing, tail[k], tail[k]);
  return (sum + rest) / 2;
}

template <Real T> T row_half_norm(Pairing pairing, const T* row, index_t depth) {
  T sum = 0;
  for (index_t k = 0; k < depth; ++k) sum += paired(pairing, row[k], row[k]);
  return sum / 2;
}

template <Real T>
void transpose_square(const T* from, index_t from_stride, T* to, index_t to_stride) {
  for (index_t r = 0; r < kLane<T>; ++r)
    for (index_t c = 0; c < kLane<T>; ++c) to[c * to_stride + r] = from[r * from_stride + c];
}

template <Real T> T dot(const T* x, const T* y, index_t n) {
  T sum = 0;
  for (index_t k = 0; k < n; ++k) sum += x[k] * y[k];
  return sum;
}

template <Real T> void axpy(T a, const T* x, T* y, index_t n) {
  for (index_t k = 0; k < n; ++k) y[k] += a * x[k];
}

template <Real T> double dot_wide(const T* x, const double* w, index_t n) {
  double sum = 0;
  for (index_t k = 0; k < n; ++k) sum += static_cast<double>(x[k]) * w[k];
  return sum;
}

template <Real T> void axpy_wide(double a, const T* x, double* w, index_t n) {
  for (index_t k = 0; k < n; ++k) w[k] += a * static_cast<double>(x[k]);
}

template <Real T>
void linear_values(const T* x, index_t n_rows, index_t stride, index_t n, const double* w,
                   const double* b, index_t n_functions, double* out) {
  for (index_t i = 0; i < n_rows; ++i)
    for (index_t f = 0; f < n_functions; ++f)
      out[i * n_functions + f] = dot_wide(x + i * stride, w + f * n, n) + b[f];
}

template <Real T> T largest_magnitude(const T* x, index_t n) {
  T most = 0;
  for (index_t k = 0; k < n; ++k)
    if (!(std::fabs(x[k]) <= most) && !std::isnan(most)) most = std::fabs(x[k]);
  return most;
}

template <Real T> float encode(const T* x, std::int8_t* codes, index_t n) {
  const auto largest = static_cast<double>(largest_magnitude(x, n));
  float step = static_cast<float>(largest) * kCodeStep;
  if (largest < kLeastCoded) step = 2.0F * kLeastCoded;
  if (!(largest <= kMostCoded)) step = std::numeric_limits<float>::infinity();
  const bool has_codes = largest >= kLeastCoded && largest <= kMostCoded;
  for (index_t k = 0; k < n; ++k)
    codes[k] =
        static_cast<std::int8_t>(has_codes ? std::nearbyint(x[k] / static_cast<T>(step)) : 0);
  return step;
}

double sum_of_magnitudes(const double* x, index_t n) {
  double sum = 0.0;
  for (index_t k = 0; k < n; ++k) sum += std::fabs(x[k]);
  return sum;
}

void round_weights(const double* w, double scale, std::int16_t* rounded, index_t n) {
  for (index_t k = 0; k < n; ++k)
    rounded[k] = static_cast<std::int16_t>(std::nearbyint(w[k] * scale));
}

unsigned find_undecided(const CodedExamples& x, const CodedFunction& f) {
  unsigned undecided = 0;
  for (index_t r = 0; r < kCodeRows; ++r) {
    std::int32_t dot = 0;
    for (index_t k = 0; k < f.n; ++k) dot += x.rows[r][k] * f.w[k];
    const float value = x.steps[r] * static_cast<float>(dot) + f.offset;
    if (!(x.labels[r] * value - x.steps[r] * f.error > f.least)) undecided |= 1U << r;
  }
  return undecided;
}

template <Real T> index_t fma_chains(index_t steps, T* sink) {
  T sum = sink[0];
  for (index_t k = 0; k < steps; ++k) sum = sum * T(0.999) + T(0.001);
  sink[0] = sum;
  return 2 * steps;
}

template <Real T>
void add_rows(const T* const* rows, const double* coef, index_t n_rows, double* out, index_t begin,
              index_t end) {
  for (index_t c = begin; c < end; ++c)
    for (index_t r = 0; r < n_rows; ++r) out[c] += coef[r] * static_cast<double>(rows[r][c]);
}

index_t find_violators(const PairView& view, double up, double low, std::int32_t* places) {
  index_t count = 0;
  for (index_t t = 0; t < view.n; ++t) {
    const bool grows = -view.gradient[t] > up && view.beta[t] < view.upper[t];
    const bool falls = -view.gradient[t] < low && view.beta[t] > view.lower[t];
    if (grows || falls) places[count++] = static_cast<std::int32_t>(t);
  }
  return count;
}

Violation select_first(const PairView& view) {
  Violation result{-1, -std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::infinity()};
  for (index_t t = 0; t < view.n; ++t) {
    const double descent = -view.gradient[t];
    if (view.beta[t] < view.upper[t] && descent > result.up) {
      result.up = descent;
      result.i = t;
    }
    if (view.beta[t] > view.lower[t]) result.low = std::fmin(result.low, descent);
  }
  return result;
}

bool has_bit(const std::uint8_t* bits, index_t t) {
  return (bits[t / 8] >> (t % 8) & 1) != 0;
}

template <Real T>
Violation update_pair(const StepView& view, const T* row_i, const T* row_j, double delta) {
  Violation result{-1, -std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::infinity()};
  for (index_t t = 0; t < view.n; ++t) {
    view.gradient[t] += delta * (static_cast<double>(row_i[t]) - static_cast<double>(row_j[t]));
    const double descent = -view.gradient[t];
    if (has_bit(view.may_grow, t) && descent > result.up) {
      result.up = descent;
      result.i = t;
    }
    if (has_bit(view.may_fall, t)) result.low = std::min(result.low, descent);
  }
  return result;
}

template <Real T>
index_t select_second(const StepView& view, const T* diagonal, const T* row_i, index_t i,
                      const Violation& ends) {
  index_t best = -1;
  T best_gain = 0;
  for (index_t t = 0; t < view.n; ++t) {
    const T slope = static_cast<T>((ends.up + view.gradient[t]) * (1.0 / (ends.up - ends.low)));
    if (!has_bit(view.may_fall, t) || !(slope > 0)) continue;
    T curvature = diagonal[i] + diagonal[t] - 2 * row_i[t];
    if (!(curvature > 0)) curvature = static_cast<T>(kTau);
    const T gain = slope * slope / curvature;
    if (gain > best_gain) {
      best_gain = gain;
      best = t;
    }
  }
  return best;
}

template <Real T> void exp_array(const T* x, T* y, index_t n) {
  std::transform(x, x + n, y, [](T v) { return std::exp(v); });
}
template <Real T> void exp2_array(const T* x, T* y, index_t n) {
  std::transform(x, x + n, y, [](T v) { return std::exp2(-std::abs(v)); });
}
template <Real T> void tanh_array(const T* x, T* y, index_t n) {
  std::transform(x, x + n, y, [](T v) { return std::tanh(v); });
}
template <Real T> void tanh_of_exponents(const T* x, T* y, index_t n) {
  std::transform(x, x + n, y, [](T v) { return std::tanh(v * T(-0.5 * std::numbers::ln2)); });
}

} // namespace
} // namespace maxmargin::simd

#define MAXMARGIN_TARGET "reference"
#define MAXMARGIN_TABLE reference_table
#define MAXMARGIN_TILE_ROWS 1
#include "maxmargin/simd/kernels.inc.hpp"
