#pragma once

#include "maxmargin/base/export.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/model/kernel_model.hpp"
#include "maxmargin/model/linear/linear_model.hpp"

#include <memory>

namespace maxmargin {

// A model packed for samples that come one by one. Immutable; it takes no lock and, for a sample,
// no memory.
class MAXMARGIN_API RowPredictor {
 public:
  // In float64 its values are those of the model. In float32 the support vectors and the kernel's
  // values are rounded to float32, and the values are sums of these in float64: where the values of
  // the kernel are within [-1, 1] (rbf, laplacian, chi_squared and sigmoid) and float32 holds the
  // support vectors; else they are those of the model. The kernel must have no factors.
  RowPredictor(const KernelModel& model, bool in_float32);
  explicit RowPredictor(const LinearModel& model);
  RowPredictor(RowPredictor&&) noexcept;
  ~RowPredictor();

  index_t n_features() const;
  index_t n_functions() const;

  // What the samples of one thread are worked at in, as large as any sample needs (of more than
  // 2^20 features: as one of so many needs; it may grow with longer ones).
  class MAXMARGIN_API Memory {
   public:
    ~Memory();

   private:
    friend class RowPredictor;
    struct Parts;
    explicit Memory(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
  };
  std::unique_ptr<Memory> memory() const;

  // Of the one row of X, what the model's predict() gives; its decision values go to `values`,
  // unless that is null. Throws InvalidArgument where X does not have the features of the model, a
  // number is not finite, or indices do not ascend below n_features().
  double predict(const MatrixView& X, Memory& memory, double* values) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace maxmargin
