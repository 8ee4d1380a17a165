#pragma once

#include "dropin/libsvm/library.hpp"
#include "maxmargin/model/kernel_model.hpp"

#include <memory>

namespace maxmargin::dropin {

struct FreeModel {
  void operator()(svm_model* model) const { svm_free_and_destroy_model(&model); }
};
using ModelPointer = std::unique_ptr<svm_model, FreeModel>;

// A model whose arrays svm_free_and_destroy_model frees, of all parts but the support vectors, with
// room for these.
ModelPointer model_of(const KernelModelParts& parts, const svm_parameter& param);

// To the caller, with the support vectors that will be packed.
svm_model* released(ModelPointer model);

} // namespace maxmargin::dropin
