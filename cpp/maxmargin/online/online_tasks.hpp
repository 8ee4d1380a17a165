#pragma once

#include "maxmargin/online/lazy_weights.hpp"
#include "maxmargin/online/subgradient.hpp"

namespace maxmargin::online {

// What an example asks for: `amount` times its row added to the weights of one function and, with
// several classes, taken from those of another.
struct Update {
  index_t row = 0;
  double amount = 0.0;
  index_t up = 0, down = -1;
};

class BinaryTask {
 public:
  explicit BinaryTask(const BinaryLabels& labels)
      : labels_(labels), by_label_{labels.negative_weight, labels.positive_weight} {}
  static constexpr bool is_binary = true;
  double label(index_t i) const { return labels_.y[i]; }
  index_t n_functions() const { return 1; }
  std::size_t n_examples() const { return labels_.y.size(); }
  double class_weight(index_t i) const { return by_label_[labels_.y[i] > 0 ? 1 : 0]; }
  template <class Rows> double margin(const LazyWeights& f, const Rows& rows, index_t i) {
    return labels_.y[i] * f.value(rows, i, 0);
  }
  // After margin() of the same example.
  Update update(index_t i, double amount) const { return {i, amount * labels_.y[i], 0, -1}; }
  // f = 0 is of the positive class.
  bool is_right(index_t i, double margin) const {
    return margin > 0.0 || (margin == 0.0 && labels_.y[i] > 0);
  }

 private:
  BinaryLabels labels_;
  double by_label_[2]; // no branch, which in any order is guessed wrongly half of the time
};

class ClassTask {
 public:
  explicit ClassTask(const ClassLabels& labels) : labels_(labels) {}
  static constexpr bool is_binary = false;
  double label(index_t) const { return 1.0; }
  index_t n_functions() const { return static_cast<index_t>(labels_.class_weight.size()); }
  std::size_t n_examples() const { return labels_.y.size(); }
  double class_weight(index_t i) const { return labels_.class_weight[labels_.y[i]]; }
  template <class Rows> double margin(const LazyWeights& f, const Rows& rows, index_t i) {
    double own = 0.0, best = 0.0;
    rival_ = -1;
    for (index_t k = 0; k < f.n_functions(); ++k) {
      const double value = f.value(rows, i, k);
      if (k == labels_.y[i]) {
        own = value;
      } else if (rival_ < 0 || value > best) {
        best = value;
        rival_ = k;
      }
    }
    return own - best;
  }
  Update update(index_t i, double amount) const { return {i, amount, labels_.y[i], rival_}; }
  // Of several classes with the greatest f the first is predicted.
  bool is_right(index_t i, double margin) const {
    return margin > 0.0 || (margin == 0.0 && labels_.y[i] < rival_);
  }

 private:
  ClassLabels labels_;
  index_t rival_ = -1; // the greatest of the other classes
};

} // namespace maxmargin::online
