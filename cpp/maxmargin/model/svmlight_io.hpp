#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/export.hpp"
#include "maxmargin/data/sample_matrix.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/model/index_base.hpp"

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace maxmargin {

// The svmlight / LIBSVM format of sparse data, one sample per line:
//
//   label [qid:number] index:value index:value ...   # comment
//
// With several labels they are joined by commas, and there may be none.
//
// Indices ascend strictly. Empty lines and lines with nothing but a comment are no samples.

struct SvmlightOptions {
  IndexBase base = IndexBase::automatic;
  index_t n_features = -1; // -1: the largest index decides
  bool wants_query_ids = false;
  bool is_multilabel = false;
};

template <class I> struct SvmlightData {
  CsrSamples<double, I> X;
  std::vector<double> y;
  std::vector<std::int64_t> query_ids; // empty unless asked for
  // Of multilabel data: where the labels of each sample, ascending, end in y.
  std::vector<index_t> label_ends;
};

// 64-bit only where 32 bits cannot hold an index or the number of entries.
using AnySvmlightData = std::variant<SvmlightData<std::int32_t>, SvmlightData<std::int64_t>>;

// Throws: InvalidArgument, with line number and token, on anything that is not of the format, on
// numbers that are not finite or beyond float64, on an index at or beyond n_features, and on a
// sample without qid when they are wanted. Numbers too small for float64 are 0. Memory is bounded
// by a multiple of the size of the text.
MAXMARGIN_API AnySvmlightData read_svmlight(std::string_view text, const SvmlightOptions& options,
                                            Control& control);

// What stands before the entries of the samples.
struct SvmlightTargets {
  std::span<const double> labels;
  std::span<const index_t> label_ends;     // of multilabel data, as in SvmlightData; else empty
  std::span<const std::int64_t> query_ids; // or empty
};

// Appends the samples [begin, end) of X as lines, without zeros, with the fewest digits that give
// the same numbers back. Throws: InvalidArgument on numbers that are not finite, lengths that
// differ, and a sample of which nothing would be written.
MAXMARGIN_API void write_svmlight(const MatrixView& X, const SvmlightTargets& targets,
                                  index_t begin, index_t end, bool zero_based, std::string& text);

} // namespace maxmargin
