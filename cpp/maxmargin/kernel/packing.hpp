#pragma once

#include "maxmargin/data/packed/feature_order.hpp"
#include "maxmargin/data/scaling.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/kernel/kernel_function.hpp"

namespace maxmargin {

// In which form samples are packed for a kernel.
//
// A distance is found from products, as the sum of two norms less twice a product, unless the norms
// are so large that its digits would be lost: then differences are formed before they are squared
// or summed, of all features of dense samples, and of the wide ones of sparse samples. The samples
// decide for all others that meet them: those with larger norms are too far away to matter.
struct Packing {
  Packing() = default;
  Packing(const MatrixView& X, const KernelParams& kernel, double density, bool may_centre,
          int threads, Control& control);

  template <Real T> simd::Epilogue<T> epilogue(const KernelParams& kernel) const {
    simd::Epilogue<T> e = epilogue_of<T>(kernel, scaling, by_differences && !is_sparse);
    // Of sparse samples, narrow features go on to meet by products.
    if (by_differences && is_sparse && !takes_distances_only(kernel))
      e.of_exponentials = simd::differences_of(e.pairing);
    return e;
  }

  bool is_sparse = false;
  bool by_differences = false;
  bool needs_float64 = false; // for differences
  Scaling scaling;
  FeatureOrder order; // of sparse ones
};

} // namespace maxmargin
