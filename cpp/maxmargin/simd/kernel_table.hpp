#pragma once

#include "maxmargin/base/types.hpp"

#include <cstdint>

namespace maxmargin::simd {

// What two numbers x and z of a feature contribute to the product of two rows:
// multiply   x z, so that the product is the dot product
// minimum    the smaller magnitude where their signs are the same, else 0:
//            sum |x - z| = sum |x| + sum |z| - 2 product
// harmonic   x z / (x + z) of numbers >= 0, and 0 where both are 0:
//            sum (x - z)^2 / (x + z) = sum x + sum z - 4 product
// With 0 every number contributes 0: rows that are sparse need their non-zeros only. The half norm
// of a row is half the product with itself.
// Sums less twice a product lose the digits of distances that are small for the norms. Where that
// matters, rows meet by what the differences of their numbers take away:
// squares    (x - z)^2
// magnitudes |x - z|
// quotients  (x - z)^2 / (x + z) of numbers >= 0, and 0 where both are 0
enum class Pairing { multiply, minimum, harmonic, squares, magnitudes, quotients };

constexpr Pairing differences_of(Pairing products) {
  return static_cast<Pairing>(static_cast<int>(products) + 3);
}

// The same of one feature.
template <Real T> [[gnu::always_inline]] inline T paired(Pairing pairing, T x, T z) {
  const T difference = x - z;
  switch (pairing) {
  case Pairing::multiply:
    return x * z;
  case Pairing::minimum:
    return x > 0 ? (z > 0 ? (x < z ? x : z) : T(0)) : (z < 0 ? (x < z ? -z : -x) : T(0));
  case Pairing::harmonic:
    return x + z > 0 ? x * z / (x + z) : T(0);
  case Pairing::squares:
    return -difference * difference;
  case Pairing::magnitudes:
    return difference < 0 ? difference : -difference;
  case Pairing::quotients:
    return x + z > 0 ? -difference * difference / (x + z) : T(0);
  }
  return T(0);
}

// What turns a product of two rows into a kernel value:
// identity   scale dot                power  (scale dot + offset)^degree
// exponential exp(scale (dot - half_norm_i - half_norm_j))
// tanh       tanh(scale dot + offset)
// power_sum  x + x^2 + .. + x^degree, x = scale dot
// composed   sums and products of these: the steps of a stack machine, each of which may multiply
//            its result by factors of the two rows
enum class Transform { identity, power, exponential, tanh, power_sum, composed };

template <Real T> struct Leaf {
  Transform transform = Transform::identity;
  int degree = 1;
  T scale = 1;
  T offset = 0;
};

// value puts weight times the leaf's value on the stack; the others replace the two topmost.
enum class StepKind { value, add, multiply };

inline constexpr int kNoFactor = -1;

template <Real T> struct Step {
  StepKind kind = StepKind::value;
  Leaf<T> leaf;
  T weight = 1;
  int factor = kNoFactor; // the number of the factors that both rows give to the result
};

inline constexpr int kMostSteps = 31; // of up to 16 leaves
inline constexpr int kStackDepth = 4;

// How the kernel value of two rows is found: the pairing of their numbers, then the transform. The
// exponentials of a composed one, and half norms, may have another pairing than the other leaves.
template <Real T> struct Epilogue : Leaf<T> {
  Pairing pairing = Pairing::multiply;
  Pairing of_exponentials = Pairing::multiply;
  int n_steps = 0; // of a composed one
  Step<T> steps[kMostSteps];
};

// The products themselves.
template <Real T> inline constexpr Epilogue<T> kProducts{};

// Factors of rows: number f of row i is values[f * stride + i].
template <Real T> struct Factors {
  const T* values = nullptr;
  index_t stride = 0;
};

// One block of kernel values: out[r][column + c] = K(query r, panel column c).
//
// A panel holds kLane<T> rows of the data, feature by feature: `depth` lines of 64 bytes, then one
// line of half norms. Queries come in tiles: a full tile is `tile_rows` rows interleaved
// feature by feature; the rows left over form one last tile whose height is the next number in
// {1, 2, 4, 8, tile_rows} (tile_height), filled up with zero rows.
template <Real T> struct DenseBlock {
  const T* queries = nullptr;
  const T* query_half_norms = nullptr; // one per row, filled up like the tiles
  index_t n_queries = 0;
  index_t depth = 0;
  const T* const* panels = nullptr;
  index_t n_panels = 0;
  const Epilogue<T>* epilogue = &kProducts<T>;
  Factors<T> query_factors;
  Factors<T> column_factors;
  T* const* out = nullptr; // n_queries pointers
  index_t column = 0;
};

// The same for sparse rows. `table` holds kSparseQueries<T> queries as dense columns: line k has
// the values that they have at feature k. What features beyond the table contribute to the products
// stands in `tail`, if there are such: tail[c * kSparseQueries<T> + q] for row rows[c] and query q;
// and to those of which a composed kernel takes exponentials, in exponential_tail, if that differs.
template <Real T> inline constexpr index_t kSparseQueries = 2 * kLane<T>;

template <Real T> struct SparseBlock {
  const T* table = nullptr;
  const T* tail = nullptr;             // may be null
  const T* exponential_tail = nullptr; // may be null
  const T* query_half_norms = nullptr; // kSparseQueries of them
  index_t n_queries = 0;               // at most kSparseQueries
  const T* values = nullptr;
  const std::int32_t* indices = nullptr;
  const std::int64_t* indptr = nullptr;
  const T* half_norms = nullptr; // by row
  const index_t* rows = nullptr; // the rows to evaluate
  index_t n_rows = 0;            // a multiple of kLane<T>
  const Epilogue<T>* epilogue = &kProducts<T>;
  Factors<T> query_factors; // of kSparseQueries
  Factors<T> row_factors;   // of the rows to evaluate, in their order
};

// Rows whose non-zeros are all one number, as the sets of the features that they have. With a
// kernel that is the exponential of a sum over features, the value of two rows is a power of their
// difference, the number of features that one of them has and the other has not:
//
//   value = low[difference % 16] * high[difference / 16]
//
// Line k of the table has 2 in the byte of every column that has feature k, else 0, so that
// difference = |column| + |row| - sum of the lines of the row's features, in bytes.
inline constexpr index_t kSetColumns = 64;
inline constexpr index_t kLargestSet = 127;

template <Real T> struct SetBlock {
  const std::uint8_t* table = nullptr;
  const std::uint8_t* column_sizes = nullptr; // kSetColumns of them
  index_t n_columns = 0;                      // a multiple of kLane<T>, at most kSetColumns
  const std::uint16_t* features = nullptr;
  const std::int64_t* begin = nullptr; // of each row's features, and one more
  const index_t* rows = nullptr;       // the rows to evaluate
  index_t n_rows = 0;
  const T* low = nullptr; // 16 of each
  const T* high = nullptr;
};

// The ends of the optimality interval over a set of variables: up = max -gradient over those that
// may grow, first met at index i; low = min -gradient over those that may fall. n == 0 or no
// candidate: -inf, +inf, i = -1.
struct Violation {
  index_t i = -1;
  double up = 0.0;
  double low = 0.0;
};

// Arrays of one set of variables, as selections among all of them read them.
struct PairView {
  const double* beta = nullptr;
  const double* gradient = nullptr;
  const double* lower = nullptr;
  const double* upper = nullptr;
  index_t n = 0;
};

// The same as pair steps on a block read and write them: bit t % 8 of byte t / 8 is 1 where
// variable t may grow, or fall. Arrays are readable, and their bits 0, up to n rounded up to a line
// of float32 numbers.
struct StepView {
  double* gradient = nullptr;
  const std::uint8_t* may_grow = nullptr;
  const std::uint8_t* may_fall = nullptr;
  index_t n = 0;
};

template <Real T> struct RealTable {
  index_t tile_rows = 0;
  void (*dense_block)(const DenseBlock<T>&) = nullptr;
  // out[r][c] = K(query r, rows[c]) for r < n_queries.
  void (*sparse_block)(const SparseBlock<T>&, T* const* out) = nullptr;
  // out[c] += sum_r coef[r] K(query r, rows[c]), summed in float64 without storing the values; coef
  // has kSparseQueries numbers.
  void (*sparse_add)(const SparseBlock<T>&, const double* coef, double* out) = nullptr;
  // out[r][column + c] = the value of rows[r] and column c; and out[c] += sum_r coef[r] value of
  // both, summed in float64. Null where the instruction set has no fast table look-up.
  void (*set_block)(const SetBlock<T>&, T* const* out, index_t column) = nullptr;
  void (*set_add)(const SetBlock<T>&, const double* coef, double* out) = nullptr;
  // tail[(columns[k] - begin) * kSparseQueries] += what x and values[k] contribute, for the first
  // of the n ascending columns, up to `end`: one feature of one query against the rows that have
  // the feature. Returns how many.
  index_t (*scatter)(Pairing pairing, T x, const T* values, const std::int32_t* columns, index_t n,
                     std::int32_t begin, std::int32_t end, T* tail) = nullptr;
  // The half norms of a panel's rows, summed in the order of dense_block, so that
  // dot(x, x) - 2 half_norm(x) is exactly 0; likewise for one sparse row, of whose values
  // those of the head are summed by sparse_block and the others by scatter.
  void (*panel_half_norms)(Pairing pairing, const T* panel, index_t depth, T* half_norms) = nullptr;
  T (*sparse_half_norm)(Pairing pairing, const T* head, index_t n_head, const T* tail,
                        index_t n_tail) = nullptr;
  // That of one row, as panel_half_norms has it.
  T (*row_half_norm)(Pairing pairing, const T* row, index_t depth) = nullptr;
  // to[c * to_stride + r] = from[r * from_stride + c] for r, c < kLane<T>.
  void (*transpose)(const T* from, index_t from_stride, T* to, index_t to_stride) = nullptr;
  T (*dot)(const T* x, const T* y, index_t n) = nullptr;
  void (*axpy)(T a, const T* x, T* y, index_t n) = nullptr; // y += a x
  // The same against float64 weights: x is widened as it is read, so nothing is rounded to T.
  double (*dot_wide)(const T* x, const double* w, index_t n) = nullptr;
  void (*axpy_wide)(double a, const T* x, double* w, index_t n) = nullptr; // w += a x
  // out[i * n_functions + f] = row i of x with row f of w, both of n numbers, + b[f]; rows of x begin
  // stride numbers apart. The same bits however calls split rows and functions.
  void (*linear_values)(const T* x, index_t n_rows, index_t stride, index_t n, const double* w,
                        const double* b, index_t n_functions, double* out) = nullptr;
  // max |x|; infinite or not a number where an element is.
  T (*largest_magnitude)(const T* x, index_t n) = nullptr;
  // codes[k] = the integer next to x[k] / step, which is at most 127 in magnitude: off by no more
  // than 1/2 + 2^-14. Returns step, which is infinite where an element is too large.
  float (*encode)(const T* x, std::int8_t* codes, index_t n) = nullptr;
  // out[c] += sum_r coef[r] rows[r][c] for c in [begin, end), added in the order of r, so that the
  // result does not depend on how calls split the rows or the columns.
  void (*add_rows)(const T* const* rows, const double* coef, index_t n_rows, double* out,
                   index_t begin, index_t end) = nullptr;
  // gradient += delta (row_i - row_j), then the ends of the interval.
  Violation (*update_pair)(const StepView&, const T* row_i, const T* row_j, double delta) = nullptr;
  // The j that promises the largest decrease of the objective with i (second order, Fan, Chen and
  // Lin 2005), among those that may fall and have -gradient < up; -1 when there is none. The
  // promise is found in the precision of the kernel values.
  index_t (*select_second)(const StepView&, const T* diagonal, const T* row_i, index_t i,
                           const Violation& ends) = nullptr;
  // `steps` rounds of independent multiply-adds in registers, to measure the machine's peak.
  // Returns the number of operations; sink[0] is read and written.
  index_t (*fma_chains)(index_t steps, T* sink) = nullptr;
  // Element by element, for tests of their error bounds: exp(x), 2^-|x|, tanh(x), tanh(-x ln2 / 2).
  void (*exp)(const T* x, T* y, index_t n) = nullptr;
  void (*exp2)(const T* x, T* y, index_t n) = nullptr;
  void (*tanh)(const T* x, T* y, index_t n) = nullptr;
  void (*tanh_of_exponent)(const T* x, T* y, index_t n) = nullptr;
};

inline constexpr index_t kCodeRows = 8, kCodeGrain = 16;
// The step of a row is a little more than a 127th of its largest magnitude. Below the least, all
// codes are 0; above the most, float32 could leave its range.
inline constexpr float kCodeStep = 1.000001F / 127.0F, kLeastCoded = 1e-30F, kMostCoded = 1e30F;

// Rows of integers that stand for so many steps each, and labels, -1 or 1.
struct CodedExamples {
  const std::int8_t* rows[kCodeRows];
  float steps[kCodeRows], labels[kCodeRows];
};
// A linear function of them, and what is asked of it. n is a multiple of kCodeGrain, and the
// magnitudes of the products of a row with w add up to what fits in 32 bits.
struct CodedFunction {
  const std::int16_t* w = nullptr;
  index_t n = 0;
  float offset = 0.0F, error = 0.0F, least = 0.0F;
};

struct KernelTable {
  const char* name = "";
  RealTable<float> f32;
  RealTable<double> f64;

  double (*sum_of_magnitudes)(const double* x, index_t n) = nullptr;
  // rounded[k] = the integer next to w[k] * scale, which must fit.
  void (*round_weights)(const double* w, double scale, std::int16_t* rounded, index_t n) = nullptr;
  // Bit r is set unless labels[r] (steps[r] w.rows[r] + offset) - steps[r] error > least.
  unsigned (*find_undecided)(const CodedExamples&, const CodedFunction&) = nullptr;

  Violation (*select_first)(const PairView&) = nullptr;
  // The places, ascending, of the variables that may grow and have -gradient > up, and of those
  // that may fall and have -gradient < low; returns how many. `places` has room for all n.
  index_t (*find_violators)(const PairView&, double up, double low, std::int32_t* places) = nullptr;
};

// A curvature that is not positive (equal rows, indefinite kernels) counts as this much (LIBSVM).
inline constexpr double kTau = 1e-12;

} // namespace maxmargin::simd
