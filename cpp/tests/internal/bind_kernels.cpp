// What tests and benchmarks need to see of the inside: every SIMD target, the row cache, the pair
// selection.
#include "bindings/arrays.hpp"
#include "maxmargin/base/random.hpp"
#include "maxmargin/data/packed/packed_csr.hpp"
#include "maxmargin/data/packed/packed_dense.hpp"
#include "maxmargin/dual/inner_smo.hpp"
#include "maxmargin/kernel/kernel_matrix.hpp"
#include "maxmargin/kernel/packed_samples.hpp"
#include "maxmargin/kernel/row_cache.hpp"
#include "maxmargin/kernel/rows/set_kernel_rows.hpp"
#include "maxmargin/kernel/sample_factors.hpp"
#include "maxmargin/optim/cholesky.hpp"
#include "maxmargin/simd/dispatch.hpp"
#include "tests/internal/internal.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace maxmargin::tests {
namespace {

double seconds_of(const auto& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return elapsed.count();
}

// K(A, B) by one target's block code, in the type of A, `repeat` times; (values, seconds of the
// fastest). The factors of the kernel are those of B, the others those of A.
template <Real T>
py::tuple dense_block(const simd::KernelTable& target, const MatrixView& A, const MatrixView& B,
                      const KernelParams& kernel, std::span<const double> factors, int repeat) {
  const simd::RealTable<T>& table = simd::real_table<T>(target);
  Control control;
  const Packing packing(B, kernel, 1.0, is_translation_invariant(kernel), 1, control);
  const simd::Epilogue<T> epilogue = packing.epilogue<T>(kernel);
  const simd::Pairing pairing = epilogue.of_exponentials;
  const PackedDense<T> queries(A, identity_order(n_rows(A)), packing.scaling, pairing, table, 1);
  const PackedDense<T> columns(B, identity_order(n_rows(B)), packing.scaling, pairing, table, 1);
  const std::vector<const T*> panels = columns.panels();
  DenseQueries<T> gathered;
  gathered.gather(queries.panels(), n_cols(A), identity_order(n_rows(A)), table.tile_rows);
  const index_t stride = row_stride<T>(n_rows(B));
  std::vector<T> values(static_cast<std::size_t>(n_rows(A) * stride));
  std::vector<T*> out;
  for (index_t r = 0; r < n_rows(A); ++r) out.push_back(values.data() + r * stride);
  simd::DenseBlock<T> block;
  gathered.describe(0, n_rows(A), panels, block);
  block.epilogue = &epilogue;
  const SampleFactors<T> query_factors(factors, n_factors(kernel), n_rows(A),
                                       identity_order(n_rows(A)));
  const SampleFactors<T> column_factors(kernel.factors, n_factors(kernel), n_rows(B),
                                        identity_order(n_rows(B)));
  block.query_factors = query_factors.from(0);
  block.column_factors = column_factors.from(0);
  block.out = out.data();
  double best = HUGE_VAL;
  for (int k = 0; k < repeat; ++k)
    best = std::min(best, seconds_of([&] { table.dense_block(block); }));
  return py::make_tuple(to_numpy(std::move(values), {n_rows(A), stride}), best);
}

// The same for A in chunks of queries against the rows of B, padded to a line by copies of the
// last; with coefficients, the sums of the rows in place of the values.
template <Real T>
py::tuple sparse_block(const simd::KernelTable& target, const MatrixView& A, const MatrixView& B,
                       const KernelParams& kernel, std::span<const double> factors, int repeat,
                       const std::vector<double>& coef) {
  const simd::RealTable<T>& table = simd::real_table<T>(target);
  Control control;
  const Packing packing(B, kernel, 0.0, false, 1, control);
  std::vector<index_t> rows = identity_order(n_rows(B));
  rows.resize(static_cast<std::size_t>(round_up(n_rows(B), kLane<T>)), n_rows(B) - 1);
  const simd::Epilogue<T> epilogue = packing.epilogue<T>(kernel);
  const auto pack = [&](const MatrixView& X) {
    return PackedCsr<T>(X, identity_order(n_rows(X)), packing.scaling, epilogue.pairing,
                        packing.order, table, 1, control);
  };
  const PackedCsr<T> queries = pack(A), columns = pack(B);
  const index_t width = static_cast<index_t>(rows.size());
  std::vector<T> values(static_cast<std::size_t>(n_rows(A) * width));
  std::vector<double> sums(static_cast<std::size_t>(width), 0.0);
  const std::vector<index_t> numbers = identity_order(n_rows(A));
  TailIndex<T> index;
  index.build(columns, rows);
  const SampleFactors<T> query_factors(factors, n_factors(kernel), n_rows(A), numbers);
  const SampleFactors<T> row_factors(kernel.factors, n_factors(kernel), n_rows(B), rows);
  QueryTable<T> lines;
  double seconds = 0.0;
  for (index_t first = 0; first < n_rows(A); first += QueryTable<T>::kQueries) {
    const index_t n = std::min(QueryTable<T>::kQueries, n_rows(A) - first);
    const std::span chunk = std::span(numbers).subspan(first, n);
    lines.set(queries, chunk, index);
    if (columns.has_tail()) lines.meet_tail(columns, rows, 0, width, epilogue, table);
    std::vector<T*> out;
    for (index_t r = 0; r < n; ++r) out.push_back(values.data() + (first + r) * width);
    simd::SparseBlock<T> block;
    columns.describe(rows, block);
    lines.describe(block);
    block.epilogue = &epilogue;
    block.query_factors = query_factors.from(first);
    block.row_factors = row_factors.from(0);
    double best = HUGE_VAL;
    for (int k = 0; k < repeat; ++k)
      best = std::min(best, seconds_of([&] { table.sparse_block(block, out.data()); }));
    seconds += best;
    if (coef.empty()) continue;
    double padded[QueryTable<T>::kQueries] = {};
    std::copy_n(coef.data() + first, n, padded);
    table.sparse_add(block, padded, sums.data());
  }
  if (!coef.empty()) return py::make_tuple(to_numpy(std::move(sums)), seconds);
  return py::make_tuple(to_numpy(std::move(values), {n_rows(A), width}), seconds);
}

bool is_float32(const MatrixView& X) {
  return std::visit(
      [](const auto& view) {
        return std::is_same_v<typename std::decay_t<decltype(view)>::value_type, float>;
      },
      X);
}

py::tuple kernel_block(const std::string& target, const py::object& A, const py::object& B,
                       const KernelParams& kernel, int repeat,
                       const std::optional<Array<double>>& factors) {
  const simd::KernelTable& table = simd::table_named(target);
  const MatrixView a = matrix_view(A), b = matrix_view(B);
  const std::span<const double> given = span_of(factors);
  if (is_sparse(b))
    return is_float32(a) ? sparse_block<float>(table, a, b, kernel, given, repeat, {})
                         : sparse_block<double>(table, a, b, kernel, given, repeat, {});
  return is_float32(a) ? dense_block<float>(table, a, b, kernel, given, repeat)
                       : dense_block<double>(table, a, b, kernel, given, repeat);
}

// The kernel values of X with itself, padding columns at the end.
template <Real T> py::array kernel_square(const MatrixView& X, const KernelParams& kernel) {
  Control control;
  const std::vector<index_t> rows = identity_order(n_rows(X));
  const PackingPlan plan(X, kernel, false, 1, control);
  const auto samples = pack_samples<T>(plan, {rows}, 2, control);
  const index_t segments[] = {0};
  KernelMatrix<T> matrix(samples(segments, 2), 0, 2, control);
  const index_t width = row_stride<T>(n_rows(X));
  std::vector<T> values(rows.size() * static_cast<std::size_t>(width));
  matrix.square(rows, values.data(), width);
  return to_numpy(std::move(values), {n_rows(X), width});
}

// The values of all sets of X with the first 64, and out of `coef` their sums; none where the
// target has no such functions.
template <Real T>
py::object set_values(const simd::KernelTable& target, const MatrixView& X, double rate,
                      const std::vector<double>& coef) {
  const simd::RealTable<T>& table = simd::real_table<T>(target);
  if (table.set_block == nullptr || table.set_add == nullptr) return py::none();
  const std::vector<index_t> rows = identity_order(n_rows(X));
  Control control;
  const FeatureSets sets(X, rows, 1, control);
  SetTable columns;
  columns.set(sets, std::span(rows).first(std::min(rows.size(), std::size_t{simd::kSetColumns})));
  const PowersOfDifference<T> powers(rate);
  simd::SetBlock<T> block;
  columns.describe(block);
  sets.describe(rows, block);
  block.low = powers.low;
  block.high = powers.high;
  std::vector<T> values(rows.size() * static_cast<std::size_t>(block.n_columns));
  std::vector<T*> out;
  for (const index_t r : rows) out.push_back(values.data() + r * block.n_columns);
  std::vector<double> sums(static_cast<std::size_t>(block.n_columns), 0.0);
  table.set_block(block, out.data(), 0);
  table.set_add(block, coef.data(), sums.data());
  return py::make_tuple(to_numpy(std::move(values), {n_rows(X), block.n_columns}),
                        to_numpy(std::move(sums)));
}

template <Real T>
py::array_t<T> elementwise(const simd::KernelTable& target, const std::string& function,
                           const Array<T>& x) {
  const simd::RealTable<T>& table = simd::real_table<T>(target);
  std::vector<T> y(static_cast<std::size_t>(x.size()));
  const auto run = function == "exp"    ? table.exp
                   : function == "exp2" ? table.exp2
                   : function == "tanh" ? table.tanh
                                        : table.tanh_of_exponent;
  run(x.data(), y.data(), x.size());
  return to_numpy(std::move(y));
}

template <Real T> double fma_peak(const simd::KernelTable& target) {
  const simd::RealTable<T>& table = simd::real_table<T>(target);
  T sink = 1;
  double best = 0.0;
  for (int k = 0; k < 20; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    const auto operations = static_cast<double>(table.fma_chains(100000, &sink));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    best = std::max(best, operations / elapsed.count());
  }
  return best / 1e9;
}

simd::PairView pair_view(const Array<double>& beta, const Array<double>& gradient,
                         const Array<double>& lower, const Array<double>& upper) {
  require(beta.size() % kLane<float> == 0, "arrays must fill whole cache lines");
  return {beta.data(), gradient.data(), lower.data(), upper.data(), beta.size()};
}

dual::BlockVariables block_of(const Array<double>& beta, const Array<double>& gradient,
                              const Array<double>& lower, const Array<double>& upper) {
  dual::BlockVariables block;
  block.resize(beta.size());
  std::copy_n(beta.data(), block.n, block.beta.data());
  std::copy_n(gradient.data(), block.n, block.gradient.data());
  std::copy_n(lower.data(), block.n, block.lower.data());
  std::copy_n(upper.data(), block.n, block.upper.data());
  block.note_bounds();
  return block;
}

} // namespace

void bind_kernels(py::module_& internal) {
  internal.def(
      "kernel_block", &kernel_block, py::arg("target"), py::arg("A"), py::arg("B"),
      py::arg("kernel"), py::arg("repeat") = 1, py::arg("factors") = py::none(),
      "(K(A, B), seconds) by one target; padding columns stand at the end. The factors are "
      "those of A.");
  internal.def(
      "sparse_add",
      [](const std::string& target, const py::object& A, const py::object& B,
         const KernelParams& kernel, const std::vector<double>& coef,
         const std::optional<Array<double>>& factors) {
        const simd::KernelTable& table = simd::table_named(target);
        const MatrixView a = matrix_view(A), b = matrix_view(B);
        const std::span<const double> given = span_of(factors);
        const py::tuple result = is_float32(a)
                                     ? sparse_block<float>(table, a, b, kernel, given, 1, coef)
                                     : sparse_block<double>(table, a, b, kernel, given, 1, coef);
        return py::object(result[0]);
      },
      py::arg("target"), py::arg("A"), py::arg("B"), py::arg("kernel"), py::arg("coef"),
      py::arg("factors") = py::none());
  internal.def("kernel_square", [](const py::object& X, const KernelParams& kernel) {
    const MatrixView x = matrix_view(X);
    return is_float32(x) ? kernel_square<float>(x, kernel) : kernel_square<double>(x, kernel);
  });
  internal.def("rate_of_difference", [](const py::object& X, const KernelParams& kernel) {
    const MatrixView x = matrix_view(X);
    Control control;
    return PackingPlan(x, kernel, false, 1, control)
        .rate_of_difference; // 0: X does not consist of sets
  });
  internal.def("set_values", [](const std::string& target, const py::object& X, double rate,
                                const std::vector<double>& coef) {
    const simd::KernelTable& table = simd::table_named(target);
    const MatrixView x = matrix_view(X);
    return is_float32(x) ? set_values<float>(table, x, rate, coef)
                         : set_values<double>(table, x, rate, coef);
  });
  internal.def("elementwise",
               [](const std::string& target, const std::string& f, const py::object& x) {
                 const simd::KernelTable& table = simd::table_named(target);
                 if (holds<float>(x))
                   return py::array(elementwise<float>(table, f, py::cast<Array<float>>(x)));
                 return py::array(elementwise<double>(table, f, py::cast<Array<double>>(x)));
               });
  internal.def("fma_peak_gflops", [](const std::string& target, const std::string& dtype) {
    const simd::KernelTable& table = simd::table_named(target);
    require(dtype == "float32" || dtype == "float64", "dtype must be float32 or float64");
    return dtype == "float32" ? fma_peak<float>(table) : fma_peak<double>(table);
  });
  internal.def(
      "dot", [](const std::string& target, const Array<double>& x, const Array<double>& y) {
        return simd::table_named(target).f64.dot(x.data(), y.data(), std::min(x.size(), y.size()));
      });
  internal.def("axpy", [](const std::string& target, double a, const Array<double>& x,
                          Array<double> y) {
    simd::table_named(target).f64.axpy(a, x.data(), y.mutable_data(), std::min(x.size(), y.size()));
  });
  internal.def("linear_values", [](const std::string& target, const py::array& X,
                                   const Array<double>& w, const Array<double>& b) {
    Array<double> out({X.shape(0), w.shape(0)});
    const auto take = [&](const auto* x, const auto& table) {
      const index_t stride = X.strides(0) / X.itemsize();
      table.linear_values(x, X.shape(0), stride, X.shape(1), w.data(), b.data(), w.shape(0),
                          out.mutable_data());
    };
    const simd::KernelTable& table = simd::table_named(target);
    if (X.itemsize() == sizeof(float))
      take(static_cast<const float*>(X.data()), table.f32);
    else
      take(static_cast<const double*>(X.data()), table.f64);
    return out;
  });
  internal.def("add_rows", [](const std::string& target, const Array<double>& rows,
                              const Array<double>& coef, Array<double> out) {
    std::vector<const double*> pointers;
    for (py::ssize_t r = 0; r < rows.shape(0); ++r) pointers.push_back(rows.data(r, 0));
    simd::table_named(target).f64.add_rows(pointers.data(), coef.data(), rows.shape(0),
                                           out.mutable_data(), 0, out.size());
  });
  internal.def("select_first", [](const std::string& target, const Array<double>& beta,
                                  const Array<double>& gradient, const Array<double>& lower,
                                  const Array<double>& upper) {
    const simd::Violation v =
        simd::table_named(target).select_first(pair_view(beta, gradient, lower, upper));
    return py::make_tuple(v.i, v.up, v.low);
  });
  internal.def("find_violators", [](const std::string& target, const Array<double>& beta,
                                    const Array<double>& gradient, const Array<double>& lower,
                                    const Array<double>& upper, double up, double low) {
    const simd::PairView view = pair_view(beta, gradient, lower, upper);
    std::vector<std::int32_t> places(static_cast<std::size_t>(view.n));
    const index_t n = simd::table_named(target).find_violators(view, up, low, places.data());
    places.resize(static_cast<std::size_t>(n));
    return to_numpy(std::move(places));
  });
  const auto def_steps = [&]<Real T>(T) {
    internal.def("update_pair", [](const std::string& target, const Array<double>& beta,
                                   const Array<double>& gradient, const Array<double>& lower,
                                   const Array<double>& upper, const Array<T>& row_i,
                                   const Array<T>& row_j, double delta) {
      dual::BlockVariables block = block_of(beta, gradient, lower, upper);
      const simd::Violation v =
          simd::real_table<T>(simd::table_named(target))
              .update_pair(block.step_view({0, block.n}), row_i.data(), row_j.data(), delta);
      const double* moved = block.gradient.data();
      return py::make_tuple(v.i, v.up, v.low,
                            to_numpy(std::vector<double>(moved, moved + block.n)));
    });
    // Among the first n variables alone.
    internal.def("select_second", [](const std::string& target, const Array<double>& beta,
                                     const Array<double>& gradient, const Array<double>& lower,
                                     const Array<double>& upper, const Array<T>& diagonal,
                                     const Array<T>& row_i, index_t i, double up, double low,
                                     index_t n) {
      dual::BlockVariables block = block_of(beta, gradient, lower, upper);
      return simd::real_table<T>(simd::table_named(target))
          .select_second(block.step_view({0, n}), diagonal.data(), row_i.data(), i, {i, up, low});
    });
  };
  def_steps(float{});
  def_steps(double{});

  internal.def(
      "cholesky_solve",
      [](const Array<double>& A, const std::vector<double>& b, double ridge) -> py::object {
        optim::Cholesky cholesky;
        if (!cholesky.factor(A.data(), A.shape(0), A.shape(1), ridge)) return py::none();
        std::vector<double> x = b;
        cholesky.solve(x);
        return to_numpy(std::move(x));
      });

  py::class_<RowCache<double>>(internal, "RowCache")
      .def(py::init<index_t, index_t, std::size_t>(), py::arg("n_keys"), py::arg("row_length"),
           py::arg("budget_bytes"))
      .def("find",
           [](RowCache<double>& cache, index_t key) -> py::object {
             const double* row = cache.find(key);
             return row == nullptr ? py::object(py::none()) : py::float_(row[0]);
           })
      .def("insert",
           [](RowCache<double>& cache, index_t key, double value) { cache.insert(key)[0] = value; })
      .def("peek",
           [](const RowCache<double>& cache, index_t key) { return cache.peek(key) != nullptr; })
      .def_property_readonly("capacity", &RowCache<double>::capacity)
      .def_property_readonly("hits", &RowCache<double>::hits)
      .def_property_readonly("misses", &RowCache<double>::misses);
}

} // namespace maxmargin::tests
