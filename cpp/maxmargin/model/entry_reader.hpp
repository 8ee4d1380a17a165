#pragma once

#include "maxmargin/data/sample_matrix.hpp"
#include "maxmargin/model/text.hpp"

#include <limits>
#include <utility>

namespace maxmargin {

// Builds a CSR matrix from rows of "index:value index:value ...", whose indices must ascend
// strictly. Whether an `automatic` base is zero or one is known only after the last row.
template <class I> class EntryReader {
 public:
  // n_features -1: the largest index decides.
  EntryReader(IndexBase base, index_t n_features) : base_(base), n_features_(n_features) {}

  void reserve(std::size_t n_entries) {
    csr_.values.reserve(n_entries);
    csr_.indices.reserve(n_entries);
  }

  // Returns false when an index, or the number of entries, does not fit into I.
  bool read_row(std::string_view rest, index_t line) {
    constexpr auto largest_of_type = static_cast<std::uint64_t>(std::numeric_limits<I>::max());
    std::uint64_t next_allowed = base_ == IndexBase::one ? 1 : 0;
    while (!rest.empty()) {
      const std::string_view from_here = rest;
      std::uint64_t index = 0;
      double value = 0.0;
      if (!take_entry(rest, index, value) || index > kLargest)
        fail_at_entry(line, first_token(from_here));
      if (index < next_allowed) fail_at_index(line, index, first_token(from_here));
      if (index > largest_of_type) return false;
      csr_.indices.push_back(static_cast<I>(index));
      csr_.values.push_back(value);
      has_index_zero_ |= index == 0;
      next_allowed = index + 1;
      skip_blanks(rest);
    }
    if (csr_.indices.size() > largest_of_type) return false;
    csr_.indptr.push_back(static_cast<I>(csr_.indices.size()));
    note_largest(next_allowed, line);
    return true;
  }

  index_t rows() const { return csr_.rows(); }

  // Ends the reading: settles the base and the number of columns.
  CsrSamples<double, I> finish() {
    const bool zero_based =
        base_ == IndexBase::zero || (base_ == IndexBase::automatic && has_index_zero_);
    if (!zero_based)
      for (I& index : csr_.indices) --index;
    const std::uint64_t cols =
        zero_based || after_largest_ == 0 ? after_largest_ : after_largest_ - 1;
    check_columns(cols);
    csr_.cols = n_features_ >= 0 ? n_features_ : static_cast<index_t>(cols);
    return std::move(csr_);
  }

 private:
  // The number of columns, one more than the largest index, must be a 64-bit number too.
  static constexpr auto kLargest =
      static_cast<std::uint64_t>(std::numeric_limits<index_t>::max() - 1);

  [[noreturn]] static void fail_at_entry(index_t line, std::string_view token) {
    const std::size_t n_digits = token.find_first_not_of("0123456789");
    const bool has_index = n_digits > 0 && n_digits == token.find(':') && n_digits < token.size();
    std::string_view rest = token;
    std::uint64_t index = 0;
    if (has_index && (!take_integer(rest, index) || index > kLargest))
      fail_at_line(line, "an index must be at most " + std::to_string(kLargest), token);
    fail_at_line(line, "expected index:value with a finite value", token);
  }

  [[noreturn]] void fail_at_index(index_t line, std::uint64_t index, std::string_view token) const {
    fail_at_line(line,
                 index == 0 && base_ == IndexBase::one
                     ? "indices must start at 1 (zero_based=False)"
                     : "indices must ascend strictly within a line",
                 token);
  }

  // `after_last` is the last index of a row plus one; the last is the largest, as they ascend.
  void note_largest(std::uint64_t after_last, index_t line) {
    if (after_last <= after_largest_) return;
    after_largest_ = after_last;
    line_of_largest_ = line;
    check_columns(after_last - 1); // holds for both bases
  }

  void check_columns(std::uint64_t cols) const {
    if (n_features_ >= 0 && cols > static_cast<std::uint64_t>(n_features_))
      fail_at_line(line_of_largest_, "index " + std::to_string(after_largest_ - 1) +
                                         " is beyond n_features = " + std::to_string(n_features_));
  }

  IndexBase base_;
  index_t n_features_;
  CsrSamples<double, I> csr_;
  bool has_index_zero_ = false;
  std::uint64_t after_largest_ = 0; // largest index in the text plus one, 0 without entries
  index_t line_of_largest_ = 0;
};

} // namespace maxmargin
