#pragma once

// The only numpy code in C++: numpy arrays to views (nothing is copied) and vectors to numpy arrays
// (the memory is handed over). Python validates what users give; what is checked here guards
// memory.

#include "bindings/pybind.hpp"
#include "maxmargin/base/error.hpp"
#include "maxmargin/data/sample_matrix.hpp"
#include "maxmargin/data/views.hpp"

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace maxmargin::bindings {

template <class T> using Array = py::array_t<T, py::array::c_style>;

template <class T> bool holds(const py::handle& object) {
  return py::isinstance<py::array>(object) && Array<T>::check_(object);
}

template <Real T> DenseView<T> dense_view(const py::array& X) {
  require(X.ndim() == 2, "X must have two dimensions");
  return {static_cast<const T*>(X.data()), X.shape(0), X.shape(1)};
}

template <Real T, class I>
CsrView<T, I> csr_view(const py::array& values, const py::array& indices, const py::array& indptr,
                       index_t cols) {
  require(indptr.ndim() == 1 && indptr.shape(0) >= 1, "indptr must have n_samples + 1 elements");
  CsrView<T, I> view;
  view.values = static_cast<const T*>(values.data());
  view.indices = static_cast<const I*>(indices.data());
  view.indptr = static_cast<const I*>(indptr.data());
  view.rows = indptr.shape(0) - 1;
  view.cols = cols;
  require(values.size() >= view.nnz() && indices.size() >= view.nnz(),
          "data and indices are shorter than indptr counts");
  return view;
}

template <Real T>
MatrixView csr_of_type(const py::array& values, const py::tuple& csr, index_t cols) {
  const auto indices = py::cast<py::array>(csr[1]);
  const auto indptr = py::cast<py::array>(csr[2]);
  if (holds<std::int32_t>(indices) && holds<std::int32_t>(indptr))
    return csr_view<T, std::int32_t>(values, indices, indptr, cols);
  if (holds<std::int64_t>(indices) && holds<std::int64_t>(indptr))
    return csr_view<T, std::int64_t>(values, indices, indptr, cols);
  throw py::type_error("indices and indptr must both be contiguous int32 or int64 arrays");
}

// X is a C-contiguous float32 or float64 array, or a tuple (data, indices, indptr, n_cols) of a
// canonical CSR matrix. The view is valid while X is alive.
inline MatrixView matrix_view(const py::object& X) {
  if (holds<float>(X)) return dense_view<float>(py::cast<py::array>(X));
  if (holds<double>(X)) return dense_view<double>(py::cast<py::array>(X));
  if (py::isinstance<py::tuple>(X) && py::len(X) == 4) {
    const auto csr = py::cast<py::tuple>(X);
    const auto values = py::cast<py::array>(csr[0]);
    const auto cols = py::cast<index_t>(csr[3]);
    if (holds<float>(values)) return csr_of_type<float>(values, csr, cols);
    if (holds<double>(values)) return csr_of_type<double>(values, csr, cols);
  }
  throw py::type_error("X must be a C-contiguous float32 or float64 array or a CSR tuple");
}

template <class T> std::span<const T> span_of(const Array<T>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

template <class T> std::span<const T> span_of(const std::optional<Array<T>>& array) {
  return array ? span_of(*array) : std::span<const T>();
}

// Hands the vector's memory to a numpy array of the given shape.
template <class T, class Allocator>
py::array_t<T> to_numpy(std::vector<T, Allocator>&& values, std::vector<py::ssize_t> shape) {
  using Vector = std::vector<T, Allocator>;
  auto owner = std::make_unique<Vector>(std::move(values));
  T* data = owner->data();
  const py::capsule base(owner.release(), [](void* p) { delete static_cast<Vector*>(p); });
  return py::array_t<T>(std::move(shape), data, base);
}
template <class T, class Allocator> py::array_t<T> to_numpy(std::vector<T, Allocator>&& values) {
  const auto size = static_cast<py::ssize_t>(values.size());
  return to_numpy(std::move(values), {size});
}

// A read-only array of what `owner` keeps alive.
template <class T>
py::array_t<T> view_in(const std::vector<T>& values, std::vector<py::ssize_t> shape,
                       const py::object& owner) {
  py::array_t<T> view(std::move(shape), values.data(), owner);
  py::detail::array_proxy(view.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return view;
}

// Likewise, in the form that `matrix_view` takes.
inline py::object matrix_in(const SampleMatrix& samples, const py::object& owner) {
  return std::visit(
      [&](const auto& own) -> py::object {
        if constexpr (is_dense<std::decay_t<decltype(own.view())>>)
          return view_in(own.values, {own.rows, own.cols}, owner);
        else
          return py::make_tuple(view_in(own.values, {std::ssize(own.values)}, owner),
                                view_in(own.indices, {std::ssize(own.indices)}, owner),
                                view_in(own.indptr, {std::ssize(own.indptr)}, owner), own.cols);
      },
      samples);
}

} // namespace maxmargin::bindings
