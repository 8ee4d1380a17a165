#pragma once

#include "model/svc_model.hpp"
#include "model/text.hpp"

#include <string>
#include <string_view>

namespace maxmargin {

// LIBSVM's model files (svm_save_model) for C-SVC with a linear, polynomial, RBF or sigmoid kernel.
// Numbers are written with the fewest digits that give back the same bits, so that a model survives
// the round trip exactly.

// Throws: InvalidArgument, with line number, on anything else. Nothing is allocated on the word of
// a number in the text, and every text that was cut short is refused. Probability estimates (probA,
// probB) are read over. The classes stay in the order of the file.
// n_features -1: as many as the largest index tells, since the format does not say.
SvcModel read_svc_model(std::string_view text, IndexBase base = IndexBase::automatic,
                        index_t n_features = -1);

// Indices count from 1 and zeros are left out, as in LIBSVM's files.
// Throws: InvalidArgument when a label is not a 32-bit integer, a number is not finite or the parts
// do not fit together.
std::string write_svc_model(const SvcModel& model, const std::vector<index_t>& class_order);

} // namespace maxmargin
