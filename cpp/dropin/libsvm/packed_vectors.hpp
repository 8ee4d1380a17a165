#pragma once

#include "dropin/libsvm/library.hpp"
#include "dropin/live_models.hpp"

#include <array>
#include <memory>
#include <mutex>

namespace maxmargin::dropin {

// The support vectors of a model that this library made, packed by feature when it first predicts.
// What else predictions need is read from the fields of the model, which the caller may have
// changed.
class PackedVectors {
 public:
  explicit PackedVectors(const svm_model& model);
  ~PackedVectors();

  // The kernel values of a sample with all of them. False where they are not the vectors of this
  // model, or these are too long for their distances to be found from products. Of the vectors a
  // few are compared, which shows that their memory came to hold others.
  bool values(const svm_model& model, const svm_node* x, double* out) const;

 private:
  struct Probe {
    const svm_node* vector;
    svm_node first;
  };
  class Packed;
  static Probe probe_of(const svm_model& model, int k);
  bool are_of(const svm_model& model) const;

  static constexpr int kProbes = 8;
  int l_;
  svm_parameter param_;
  std::array<Probe, kProbes> probes_{};

  mutable std::once_flag once_;
  mutable std::unique_ptr<const Packed> packed_;
};

// Of a polynomial kernel.
inline double power(double base, int exponent) {
  double product = 1.0;
  for (; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2 == 1) product *= base;
  return product;
}

// By svm_model::SV, which copies of a model share.
LiveModels<PackedVectors>& live_models();

} // namespace maxmargin::dropin
