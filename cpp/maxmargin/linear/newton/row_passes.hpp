#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/data/weighted_gram.hpp"

#include <functional>
#include <span>
#include <vector>

namespace maxmargin::linear {

// The intercept as the weight of a further feature, `feature` in every sample: b = feature times
// that weight, whose square the penalty counts `ridge` times. No intercept: feature = 0.
struct InterceptFeature {
  double feature = 0.0;
  double ridge = 0.0;

  // As LinearProblem::intercept_scaling has it; without overflow for the largest of scalings.
  static InterceptFeature of(double intercept_scaling);
};

// One reading of all rows of the samples, x~_i = (x_i, feature), a block of them at a time.
struct RowPass {
  // products[i] = x~_i . weights, if there are weights.
  std::span<const double> weights = {};
  std::span<double> products = {};
  // Then this is called for the rows [begin, end) of the given part; it may set the coefficients.
  std::function<void(index_t begin, index_t end, index_t part)> body = {};
  // Then *sum = sum_i coef_i x~_i.
  struct Sum {
    std::span<const double> coef;
    std::vector<double>* result;
  };
  std::vector<Sum> sums = {};
  // And *gram += sum_i gram_weights_i (x~_i - centre) (x~_i - centre)', rows of weight 0 left out.
  std::span<const double> gram_weights = {};
  WeightedGram* gram = nullptr;
};

// Whether Gram matrices are of rows less a centre, where there is an intercept to make up for it.
enum class Centring { dense_rows, none };

// Reads rows on several threads. The rows are cut into parts, whose sums are added up in order: the
// parts depend on the shape of the samples only, and so results on it and not on the threads.
class RowPasses {
 public:
  RowPasses(const MatrixView& X, const InterceptFeature& intercept, int threads, Control& control,
            Centring centring = Centring::dense_rows);

  index_t n_weights() const { return n_weights_; }
  index_t n_parts() const { return n_parts_; }
  // Where rows lie about, in the coordinates of x~: not nearer to 0 than to far-off dense samples.
  const std::vector<double>& centre() const { return centre_; }
  WeightedGram empty_gram() const;

  void run(const RowPass& pass);
  // For passes over the results of others, with the same parts and threads.
  void for_parts(const std::function<void(index_t begin, index_t end, index_t part)>& body) const;

 private:
  struct Part {
    std::vector<std::vector<double>> sums;
    std::vector<WeightedGram> gram; // one or none
  };
  template <class View> void run_part(const View& X, const RowPass& pass, index_t part);
  index_t part_begin(index_t part) const;

  const MatrixView& X_;
  InterceptFeature intercept_;
  int threads_;
  Control& control_;
  index_t n_weights_, n_parts_;
  std::vector<double> centre_;
  std::vector<Part> parts_;
};

} // namespace maxmargin::linear
