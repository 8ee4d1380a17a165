#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/perceptron/mistake_rule.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <functional>
#include <span>
#include <vector>

namespace maxmargin::perceptron {

// The support vectors of one problem, oldest first, their coefficients in its outputs, and the
// scores that follow for the examples of the present block: whatever changes a coefficient changes
// the scores. A block is a list of columns; every support vector has a row of kernel values with
// them.
class SupportSet {
 public:
  explicit SupportSet(index_t n_outputs)
      : coef_(static_cast<std::size_t>(n_outputs)), lag_(static_cast<std::size_t>(n_outputs)) {}

  index_t size() const { return static_cast<index_t>(examples_.size()); }
  index_t n_outputs() const { return static_cast<index_t>(coef_.size()); }
  std::span<const index_t> examples() const { return examples_; }
  double coef(index_t s, index_t output) const { return coef_[output][s]; }
  // The place of an example, -1 where it is no support vector.
  index_t find(index_t example) const;

  // Begins a block of `width` columns; row_of(example) is the row of a support vector.
  void begin_block(index_t width, const std::function<const double*(index_t)>& row_of);
  // Scores of the columns before `column` are needed no more. `step` examples went before.
  void advance(index_t column, double step);
  double score(index_t output, index_t column) const { return score_[output * stride_ + column]; }
  std::span<const double* const> rows() const { return rows_; }

  // The column at which a support vector is itself scored in this block, -1 where it is not.
  void watch(index_t s, index_t column) { watched_[s] = column; }
  index_t watched(index_t s) const { return watched_[s]; }

  // A support vector of coefficient 0, the newest.
  void append(index_t example, const double* row);
  void remove(index_t s);
  void make_newest(index_t s);
  void add(index_t s, const Change& change);
  // Adds change.sign times combination[s] to every s.
  void add_combination(std::span<const double> combination, const Change& change);
  void scale(double factor);

  // out[p * n + i] is the coefficient of example i in output p; where `steps` is not 0, its mean
  // over so many examples: a change made after `step` of them stood after steps - step.
  void write(double* out, index_t n, double steps) const;

 private:
  template <class T> static void move_to_end(std::vector<T>& values, index_t s);

  const simd::RealTable<double>& table_ = simd::active_table().f64;
  std::vector<index_t> examples_;
  std::vector<std::vector<double>> coef_, lag_; // by output
  std::vector<const double*> rows_;
  std::vector<index_t> watched_;
  AlignedBuffer<double> score_;
  index_t width_ = 0, stride_ = 0;
  index_t from_ = 0; // the first column whose score is needed
  double step_ = 0.0;
};

} // namespace maxmargin::perceptron
