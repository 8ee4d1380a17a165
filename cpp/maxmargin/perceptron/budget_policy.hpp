#pragma once

#include "maxmargin/base/types.hpp"
#include "maxmargin/perceptron/mistake_rule.hpp"

#include <limits>
#include <memory>
#include <span>

namespace maxmargin::perceptron {

class SupportSet;

// How many support vectors each problem may have, and what keeps their number down.
struct Budget {
  enum class Policy { none, random, forgetron, projectron };
  static constexpr index_t kUnlimited = std::numeric_limits<index_t>::max();

  Policy policy = Policy::none;
  index_t size = kUnlimited;
  double eta = 0.0; // of projectron
};

// A mistake on an example, the one at `column` of the present block; `row` has its kernel values
// with all columns. The outputs are those of the problem.
struct Mistake {
  index_t example;
  index_t column;
  const double* row;
  std::span<const Change> changes;
};

// What one problem learns from its mistakes.
class BudgetPolicy {
 public:
  virtual ~BudgetPolicy() = default;
  virtual void learn(SupportSet& set, const Mistake& mistake) = 0;
  // Whether learn() asks for the score of the oldest support vector when the set is full.
  virtual bool watches_oldest() const { return false; }
};

// `largest_square` is the greatest K(x, x). `seed` is that of random choices.
std::unique_ptr<BudgetPolicy> new_policy(const Budget& budget, double largest_square,
                                         std::uint64_t seed);

std::unique_ptr<BudgetPolicy> new_random_policy(index_t budget, std::uint64_t seed);
std::unique_ptr<BudgetPolicy> new_forgetron(index_t budget, double largest_square);
std::unique_ptr<BudgetPolicy> new_projectron(index_t budget, double eta);

} // namespace maxmargin::perceptron
