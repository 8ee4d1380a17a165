// The kernel table. Its bodies are written once and compiled for every instruction set: an ISA file
// sets MAXMARGIN_VEC_BYTES, MAXMARGIN_TILE_PANELS, and what the table is to be, MAXMARGIN_TABLE,
// MAXMARGIN_TARGET and MAXMARGIN_TILE_ROWS, then includes this; the tests' reference has bodies of
// its own. Nothing here may call the standard library: an inline function compiled with these flags
// must not be the one that the linker keeps for everybody.
#include "maxmargin/simd/kernel_table.hpp"

#ifdef MAXMARGIN_VEC_BYTES
#include "maxmargin/simd/block.inc.hpp"
#include "maxmargin/simd/codes.inc.hpp"
#include "maxmargin/simd/selection.inc.hpp"
#include "maxmargin/simd/sets.inc.hpp"
#include "maxmargin/simd/sparse_block.inc.hpp"
#include "maxmargin/simd/vec_exp2.hpp"
#include "maxmargin/simd/vec_math.hpp"
#include "maxmargin/simd/vector_ops.inc.hpp"
#endif

namespace maxmargin::simd {
namespace {

template <Real T> constexpr RealTable<T> real_table() {
  RealTable<T> table;
  table.tile_rows = MAXMARGIN_TILE_ROWS;
  table.dense_block = dense_block<T>;
  table.sparse_block = sparse_block<T>;
  table.sparse_add = sparse_add<T>;
#if defined(__AVX512BW__) || !defined(MAXMARGIN_VEC_BYTES)
  table.set_block = set_block<T>;
  table.set_add = set_add<T>;
#endif
  table.scatter = scatter<T>;
  table.panel_half_norms = panel_half_norms<T>;
  table.sparse_half_norm = sparse_half_norm<T>;
  table.row_half_norm = row_half_norm<T>;
  table.transpose = transpose_square<T>;
  table.dot = dot<T>;
  table.axpy = axpy<T>;
  table.add_rows = add_rows<T>;
  table.update_pair = update_pair<T>;
  table.select_second = select_second<T>;
  table.dot_wide = dot_wide<T>;
  table.axpy_wide = axpy_wide<T>;
  table.linear_values = linear_values<T>;
  table.largest_magnitude = largest_magnitude<T>;
  table.encode = encode<T>;
  table.fma_chains = fma_chains<T>;
  table.exp = exp_array<T>;
  table.exp2 = exp2_array<T>;
  table.tanh = tanh_array<T>;
  table.tanh_of_exponent = tanh_of_exponents<T>;
  return table;
}

} // namespace

// A constant, so that no code of this object runs unless the table is chosen.
extern const KernelTable MAXMARGIN_TABLE;
constexpr KernelTable MAXMARGIN_TABLE = {
    MAXMARGIN_TARGET, real_table<float>(), real_table<double>(), sum_of_magnitudes,
    round_weights,    find_undecided,      select_first,         find_violators};

} // namespace maxmargin::simd
