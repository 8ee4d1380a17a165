#pragma once

#include "maxmargin/data/sample_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

namespace maxmargin::dropin {

// Samples as both libraries have them: for each an array of nodes {int index; double value}, which
// one with index -1 ends.

template <class Node, class Visit> void for_nodes(const Node* row, const Visit& visit) {
  for (; row->index != -1; ++row) visit(row->index, row->value);
}

// Why samples cannot be trained on, or NULL.
template <class Node> const char* fault_in(std::span<Node* const> rows) {
  for (const Node* row : rows) {
    if (row == nullptr) return "a sample is NULL";
    bool is_negative = false, is_finite = true;
    for_nodes(row, [&](int index, double value) {
      is_negative = is_negative || index < 0;
      is_finite = is_finite && std::isfinite(value);
    });
    if (is_negative) return "an index is negative";
    if (!is_finite) return "a value is not finite";
  }
  return nullptr;
}

// Column j holds the entries with index j + base. Sparse rows whose indices do not ascend are put in
// order.
struct NodeMatrix {
  CsrSamples<double, std::int64_t> rows;
  int base = 1; // 0 where that index occurs
};

// Of an index that a row has several times LIBLINEAR adds up the values, in LIBSVM the first counts.
enum class Repeated { added, first };

template <Repeated repeated, class Node> NodeMatrix matrix_of(std::span<Node* const> rows) {
  NodeMatrix X;
  std::int64_t n_stored = 0, n_columns = 1;
  for (const Node* row : rows)
    for_nodes(row, [&](int index, double value) {
      if (index == 0) X.base = 0;
      if (value != 0.0) ++n_stored;
      n_columns = std::max<std::int64_t>(n_columns, std::int64_t{index} + 1);
    });
  auto& [values, indices, indptr, cols] = X.rows;
  cols = std::max<std::int64_t>(1, n_columns - X.base);
  values.reserve(static_cast<std::size_t>(n_stored));
  indices.reserve(static_cast<std::size_t>(n_stored));
  indptr.reserve(rows.size() + 1);
  std::vector<std::pair<std::int64_t, double>> entries;
  for (const Node* row : rows) {
    entries.clear();
    for_nodes(row, [&](int index, double value) {
      if (value != 0.0) entries.emplace_back(std::int64_t{index} - X.base, value);
    });
    const auto first = &std::pair<std::int64_t, double>::first;
    if (!std::ranges::is_sorted(entries, std::ranges::less_equal{}, first) ||
        std::ranges::adjacent_find(entries, {}, first) != entries.end()) {
      std::ranges::stable_sort(entries, {}, first);
      auto last = entries.begin();
      for (const auto& entry : entries)
        if (last == entries.begin() || std::prev(last)->first != entry.first)
          *last++ = entry;
        else if (repeated == Repeated::added)
          std::prev(last)->second += entry.second;
      entries.erase(last, entries.end());
    }
    for (const auto& [index, value] : entries) {
      indices.push_back(index);
      values.push_back(value);
    }
    indptr.push_back(static_cast<std::int64_t>(values.size()));
  }
  return X;
}

} // namespace maxmargin::dropin
