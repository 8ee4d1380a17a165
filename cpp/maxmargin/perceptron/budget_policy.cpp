// The plain perceptron, and the removal of a support vector at random.
#include "maxmargin/perceptron/budget_policy.hpp"

#include "maxmargin/base/random.hpp"
#include "maxmargin/perceptron/support_set.hpp"

namespace maxmargin::perceptron {
namespace {

// With a budget: Cavallanti, Cesa-Bianchi and Gentile, "Tracking the best hyperplane with a simple
// budget perceptron", Machine Learning 69 (2007). Where a mistake is made and the set is full, a
// support vector, each as likely as the others, gives way to the new one. A mistake on a support
// vector raises its coefficient and takes no room.
class RandomPolicy final : public BudgetPolicy {
 public:
  RandomPolicy(index_t budget, std::uint64_t seed) : budget_(budget), random_(seed) {}

  void learn(SupportSet& set, const Mistake& mistake) override {
    index_t s = set.find(mistake.example);
    if (s < 0) {
      if (set.size() == budget_)
        set.remove(static_cast<index_t>(random_.below(static_cast<std::uint64_t>(set.size()))));
      s = set.size();
      set.append(mistake.example, mistake.row);
    }
    for (const Change& change : mistake.changes) set.add(s, change);
  }

 private:
  index_t budget_;
  Random random_;
};

} // namespace

std::unique_ptr<BudgetPolicy> new_random_policy(index_t budget, std::uint64_t seed) {
  return std::make_unique<RandomPolicy>(budget, seed);
}

std::unique_ptr<BudgetPolicy> new_policy(const Budget& budget, double largest_square,
                                         std::uint64_t seed) {
  switch (budget.policy) {
  case Budget::Policy::forgetron:
    return new_forgetron(budget.size, largest_square);
  case Budget::Policy::projectron:
    return new_projectron(budget.size, budget.eta);
  case Budget::Policy::none:
    return new_random_policy(Budget::kUnlimited, seed);
  case Budget::Policy::random:
    break;
  }
  return new_random_policy(budget.size, seed);
}

} // namespace maxmargin::perceptron
