#pragma once

#include "maxmargin/model/svm_model.hpp"
#include "maxmargin/model/text.hpp"

#include <string>
#include <string_view>

namespace maxmargin {

// LIBSVM's model files (svm_save_model), of every type and kernel that they know.
// Numbers are written with the fewest digits that give back the same bits, so that a model survives
// the round trip exactly.

// The types' names in the files; the second throws InvalidArgument on another name.
std::string_view name_of(SvmType type);
SvmType type_named(std::string_view name);

// Throws: InvalidArgument, with line number, on anything else. Nothing is allocated on the word of
// a number in the text, and every text that was cut short is refused. The probability estimates of
// one-class models are read over. The classes stay in the order of the file.
// n_features -1: as many as the largest index tells, since the format does not say.
SvmModel read_model(std::string_view text, IndexBase base = IndexBase::automatic,
                    index_t n_features = -1);

// Indices count from 1 and zeros are left out, as in LIBSVM's files.
// The class order is that of the labels in the file; empty where there are no classes.
// Throws: InvalidArgument when a label is not a 32-bit integer, a number is not finite or the parts
// do not fit together.
std::string write_model(const SvmModel& model, const std::vector<index_t>& class_order);

} // namespace maxmargin
