#include "maxmargin/model/decision/row_predictor.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/kernel/kernel_function.hpp"
#include "maxmargin/model/decision/decision.hpp"
#include "maxmargin/model/decision/given_values.hpp"
#include "maxmargin/model/decision/pair_values.hpp"
#include "maxmargin/model/decision/row_workspace.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <variant>

namespace maxmargin {
namespace {

constexpr index_t kMostFeatures = index_t{1} << 20; // that memory is taken for
// A number that is not 0 in the units of any support vectors.
constexpr double kAnyNumber = 0x1p500;

template <Real T> bool are_finite(const T* values, index_t n) {
  return std::isfinite(simd::real_table<T>().largest_magnitude(values, n));
}

void refuse(const char* what) {
  throw InvalidArgument(what);
}

template <Real T> void check_row(const DenseView<T>& X) {
  if (!are_finite(X.data, X.cols)) refuse("the row holds a number that is not finite");
}

template <Real T, class I> void check_row(const CsrView<T, I>& X) {
  const auto indices = X.row_indices(0);
  std::int64_t least = 0;
  for (const I index : indices) {
    if (index < least) refuse("the indices of the row must ascend strictly from 0");
    least = static_cast<std::int64_t>(index) + 1;
  }
  if (least > X.cols) refuse("the indices of the row must be below the number of features");
  if (!are_finite(X.row_values(0).data(), std::ssize(indices)))
    refuse("the row holds a number that is not finite");
}

} // namespace

struct RowPredictor::Memory::Parts {
  RowWorkspace work;
  std::vector<double> values;
  std::vector<index_t> votes;
};

RowPredictor::Memory::Memory(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
RowPredictor::Memory::~Memory() = default;

class RowPredictor::Impl {
 public:
  explicit Impl(const LinearModel& model) : machines_(model) {}

  Impl(const KernelModel& model, bool in_float32) : parts_(model.parts()) {
    Control control;
    if (parts_.is_precomputed())
      machines_.emplace<GivenValues>(model, true);
    else if (PairValues::serves(parts_))
      machines_.emplace<PairValues>(parts_, control);
    else
      machines_.emplace<Decision>(parts_, in_float32, control);
    parts_.support_vectors = {};
  }

  index_t n_features() const {
    const auto* linear = std::get_if<LinearModel>(&machines_);
    return linear != nullptr ? linear->parts().n_features : parts_.n_features;
  }
  index_t n_functions() const {
    const auto* linear = std::get_if<LinearModel>(&machines_);
    return linear != nullptr ? linear->parts().n_functions() : parts_.n_machines();
  }
  const KernelParams& kernel() const { return parts_.kernel; } // any, of a linear machine
  std::size_t n_classes() const { return static_cast<std::size_t>(parts_.n_classes()); }

  void evaluate(const MatrixView& X, double* out, RowWorkspace& work) const {
    if (const auto* linear = std::get_if<LinearModel>(&machines_))
      linear->values_of_row(X, out);
    else if (const auto* pairs = std::get_if<PairValues>(&machines_))
      pairs->evaluate_row(X, {}, out, work);
    else if (const auto* decision = std::get_if<Decision>(&machines_))
      decision->evaluate_row(X, {}, out, work);
    else
      evaluate_given(X, out);
  }

  double predicted(const double* values, std::span<index_t> votes) const {
    const auto* linear = std::get_if<LinearModel>(&machines_);
    return linear != nullptr ? linear->predicted(values) : predicted_by(parts_, values, votes);
  }

 private:
  void evaluate_given(const MatrixView& X, double* out) const {
    if (is_sparse(X)) refuse("the row must be dense, kernel values with all training samples");
    std::visit(
        [&](const auto& view) {
          if constexpr (is_dense<std::decay_t<decltype(view)>>)
            std::get<GivenValues>(machines_).evaluate_row(view.data, out);
        },
        X);
  }

  KernelModelParts parts_; // of a kernel machine, without its support vectors
  std::variant<std::monostate, LinearModel, GivenValues, PairValues, Decision> machines_;
};

RowPredictor::RowPredictor(const KernelModel& model, bool in_float32)
    : impl_(std::make_unique<Impl>(model, in_float32)) {}
RowPredictor::RowPredictor(const LinearModel& model) : impl_(std::make_unique<Impl>(model)) {}
RowPredictor::RowPredictor(RowPredictor&&) noexcept = default;
RowPredictor::~RowPredictor() = default;

index_t RowPredictor::n_features() const {
  return impl_->n_features();
}
index_t RowPredictor::n_functions() const {
  return impl_->n_functions();
}

std::unique_ptr<RowPredictor::Memory> RowPredictor::memory() const {
  auto parts = std::make_unique<Memory::Parts>();
  parts->values.resize(static_cast<std::size_t>(n_functions()));
  parts->votes.resize(impl_->n_classes());
  // Of a sample that has all features, everything becomes as large as it may.
  const index_t n = std::min(n_features(), kMostFeatures);
  const std::vector<double> numbers(static_cast<std::size_t>(n), kAnyNumber);
  if (n == n_features()) {
    impl_->evaluate(DenseView<double>{numbers.data(), 1, n}, parts->values.data(), parts->work);
  } else {
    std::vector<std::int64_t> indices(numbers.size());
    std::iota(indices.begin(), indices.end(), 0);
    const std::int64_t indptr[] = {0, n};
    impl_->evaluate(
        CsrView<double, std::int64_t>{numbers.data(), indices.data(), indptr, 1, n_features()},
        parts->values.data(), parts->work);
  }
  return std::unique_ptr<Memory>(new Memory(std::move(parts)));
}

double RowPredictor::predict(const MatrixView& X, Memory& memory, double* values) const {
  if (n_cols(X) != n_features())
    throw InvalidArgument("the row must have " + std::to_string(n_features()) + " features, got " +
                          std::to_string(n_cols(X)));
  std::visit([](const auto& view) { check_row(view); }, X);
  check_signs(X, impl_->kernel());
  Memory::Parts& own = *memory.parts_;
  double* const out = values != nullptr ? values : own.values.data();
  impl_->evaluate(X, out, own.work);
  return impl_->predicted(out, own.votes);
}

} // namespace maxmargin
