#include "maxmargin/model/decision/machine_sums.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/data/equal_rows.hpp"

#include <algorithm>
#include <numeric>

namespace maxmargin {
namespace {

// With fewer machines, as many products of vectors cost less than a tile.
constexpr index_t kFewestInTiles = 4;

} // namespace

ClassColumns::ClassColumns(const MatrixView& support_vectors,
                           std::span<const std::int64_t> n_support, Control& control) {
  require(std::accumulate(n_support.begin(), n_support.end(), index_t{0}) ==
              n_rows(support_vectors),
          "n_support does not add up to the number of support vectors");
  std::vector<double> class_of;
  for (std::size_t c = 0; c < n_support.size(); ++c)
    class_of.resize(class_of.size() + static_cast<std::size_t>(n_support[c]),
                    static_cast<double>(c));
  const std::vector<index_t> first = first_equal_rows(support_vectors, class_of, 1, control);
  column.reserve(first.size());
  for (const std::int64_t n : n_support) {
    begin.push_back(size());
    begin_row.push_back(std::ssize(column));
    for (index_t k = 0; k < n; ++k) {
      const auto i = static_cast<index_t>(column.size());
      column.push_back(first[i] == i ? size() : column[first[i]]);
      if (first[i] == i) row.push_back(i);
    }
    // A class without support vectors has no columns.
    while (size() % kLane<double> != 0) row.push_back(row.back());
  }
  begin.push_back(size());
  begin_row.push_back(std::ssize(column));
}

MachineSums::MachineSums(const ClassColumns& columns, std::span<const MachinePart> parts,
                         index_t n_machines, std::span<const double> dual_coef,
                         const simd::RealTable<T>& table)
    : n_machines_(n_machines), table_(table) {
  const index_t n_vectors = std::ssize(columns.column);
  index_t n_lines = 0, n_named_machines = 0;
  for (std::size_t c = 0; c + 1 < columns.begin.size(); ++c)
    classes_.push_back({columns.begin[c], columns.begin[c + 1], {}, {}, {}});
  for (const MachinePart& part : parts) {
    n_lines = std::max(n_lines, part.line + 1);
    n_named_machines = std::max(n_named_machines, part.machine + 1);
    classes_[part.of_class].parts.push_back(part);
  }
  require(n_machines == n_named_machines && std::ssize(dual_coef) == n_lines * n_vectors,
          "dual_coef and rho do not match the number of classes and support vectors");
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    OfClass& c = classes_[k];
    const index_t n_parts = std::ssize(c.parts);
    c.lines.assign(static_cast<std::size_t>(n_parts * c.width()), 0.0);
    for (index_t p = 0; p < n_parts; ++p)
      for (index_t i = columns.begin_row[k]; i < columns.begin_row[k + 1]; ++i)
        c.lines[p * c.width() + columns.column[i] - c.begin] +=
            dual_coef[c.parts[p].line * n_vectors + i];
    if (n_parts < kFewestInTiles || c.width() == 0) continue;
    std::vector<index_t> order(c.parts.size());
    std::iota(order.begin(), order.end(), 0);
    c.coef = PackedDense<T>(DenseView<T>{c.lines.data(), n_parts, c.width()}, order, {},
                            simd::Pairing::multiply, table, 1);
    c.lines = {};
  }
}

void MachineSums::add(std::span<const T* const> values, index_t begin, index_t end, double* out,
                      Workspace& work) const {
  for (const OfClass& c : classes_) {
    const index_t from = std::max(begin, c.begin), to = std::min(end, c.end);
    if (from >= to) continue;
    work.of_class.clear();
    for (const T* row : values) work.of_class.push_back(row + (from - begin));
    if (c.coef.rows() > 0) {
      add_block(c, from, to, out, work);
      continue;
    }
    for (std::size_t r = 0; r < values.size(); ++r)
      for (std::size_t p = 0; p < c.parts.size(); ++p)
        out[static_cast<index_t>(r) * n_machines_ + c.parts[p].machine] += table_.dot(
            work.of_class[r], c.lines.data() + static_cast<index_t>(p) * c.width() + from - c.begin,
            to - from);
  }
}

void MachineSums::add_block(const OfClass& c, index_t from, index_t to, double* out,
                            Workspace& work) const {
  const index_t n = std::ssize(work.of_class), depth = to - from;
  const index_t stride = c.coef.n_panels() * kLane<T>;
  work.queries.take_rows(work.of_class, depth, table_.tile_rows);
  work.products.resize_discard(n * stride);
  work.panels.clear();
  for (index_t p = 0; p < c.coef.n_panels(); ++p)
    work.panels.push_back(c.coef.panel(p) + (from - c.begin) * kLane<T>);
  work.rows.clear();
  for (index_t r = 0; r < n; ++r) work.rows.push_back(work.products.data() + r * stride);
  simd::DenseBlock<T> block;
  work.queries.describe(0, n, work.panels, block);
  block.out = work.rows.data();
  table_.dense_block(block);
  for (index_t r = 0; r < n; ++r)
    for (std::size_t k = 0; k < c.parts.size(); ++k)
      out[r * n_machines_ + c.parts[k].machine] += work.rows[r][k];
}

} // namespace maxmargin
