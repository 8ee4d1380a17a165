#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/data/packed/packed_dense.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/simd/kernel_table.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// The order of the support vectors in panels: every class begins on a line. Of those of a class
// that are equal, the first stands for all.
struct ClassColumns {
  ClassColumns(const MatrixView& support_vectors, std::span<const std::int64_t> n_support,
               Control& control);

  index_t size() const { return static_cast<index_t>(row.size()); }

  std::vector<index_t> row;       // of the support vectors, by column
  std::vector<index_t> column;    // by row
  std::vector<index_t> begin;     // first column of every class, then the end
  std::vector<index_t> begin_row; // likewise, the first row
};

// A machine adds up one line of the coefficients over the support vectors of one class.
struct MachinePart {
  index_t machine, line, of_class;
};

// From kernel values with the support vectors to the sums of the machines. Where the support
// vectors of a class serve many machines, the sums are a product of matrices, made in register
// tiles.
class MachineSums {
 public:
  using T = double;

  // `dual_coef` has the lines of the coefficients, one for every support vector.
  MachineSums(const ClassColumns& columns, std::span<const MachinePart> parts, index_t n_machines,
              std::span<const double> dual_coef, const simd::RealTable<T>& table);

  struct Workspace {
    std::vector<const T*> of_class, panels;
    std::vector<T*> rows;
    DenseQueries<T> queries;
    AlignedBuffer<T> products;
  };

  // out[r * n_machines + p] += sum of coef values[r][c - begin] over the columns c of machine p
  // from begin to end, for r < n. What is added does not depend on n.
  void add(std::span<const T* const> values, index_t begin, index_t end, double* out,
           Workspace& work) const;

 private:
  // The machines that use the support vectors of one class.
  struct OfClass {
    index_t begin, end; // columns
    std::vector<MachinePart> parts;
    // A row of coefficients for every part, zero in the padding: as lines where they are few.
    std::vector<T> lines;
    PackedDense<T> coef;

    index_t width() const { return end - begin; }
  };
  void add_block(const OfClass& c, index_t from, index_t to, double* out, Workspace& work) const;

  std::vector<OfClass> classes_;
  index_t n_machines_;
  const simd::RealTable<T>& table_;
};

} // namespace maxmargin
