#pragma once

#include "maxmargin/base/export.hpp"
#include "maxmargin/model/index_base.hpp"
#include "maxmargin/model/kernel_model.hpp"

#include <string>
#include <string_view>

namespace maxmargin {

// LIBSVM's model files (svm_save_model), of every type and kernel that they know.
// Numbers are written with the fewest digits that give back the same bits, so that a model survives
// the round trip exactly.

// The types' names in the files; the second throws InvalidArgument on another name.
MAXMARGIN_API std::string_view name_of(SvmType type);
MAXMARGIN_API SvmType type_named(std::string_view name);

// Throws: InvalidArgument, with line number, on anything else. Nothing is allocated on the word of
// a number in the text, and every text that was cut short is refused. The classes are put in the
// ascending order of their labels; the order of votes is that of the file.
// n_features, which the format does not hold: -1 is the largest index of a support vector, and at
// least 1. The support vectors are sparse if fewer than a tenth of their entries are not zero.
MAXMARGIN_API KernelModel read_model(std::string_view text, IndexBase base = IndexBase::automatic,
                                     index_t n_features = -1);
// The same; `control` is polled.
MAXMARGIN_API KernelModel read_model(std::string_view text, IndexBase base, index_t n_features,
                                     Control& control);

// The classes stand in the order of votes. `labels` are theirs; empty: those of the model. Indices
// count from 1 and zeros are left out, as in LIBSVM's files.
// Throws: InvalidArgument when a label is not a 32-bit integer, or the format does not know the
// kernel.
MAXMARGIN_API std::string write_model(const KernelModel& model, std::vector<double> labels = {});
MAXMARGIN_API std::string write_model(const KernelModel& model, std::vector<double> labels,
                                      Control& control);

// The same of parts as they stand, the classes in their order. Column j has the index
// j + first_index, which is 0 for a precomputed kernel.
MAXMARGIN_API std::string model_text(const KernelModelParts& model, index_t first_index);
MAXMARGIN_API std::string model_text(const KernelModelParts& model, index_t first_index,
                                     Control& control);

} // namespace maxmargin
