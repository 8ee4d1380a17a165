#include "maxmargin/perceptron/support_set.hpp"

#include <algorithm>

namespace maxmargin::perceptron {

index_t SupportSet::find(index_t example) const {
  const auto found = std::ranges::find(examples_, example);
  return found == examples_.end() ? -1 : found - examples_.begin();
}

void SupportSet::begin_block(index_t width, const std::function<const double*(index_t)>& row_of) {
  width_ = width;
  stride_ = round_up(width, kLane<double>);
  rows_.clear();
  for (const index_t i : examples_) rows_.push_back(row_of(i));
  watched_.assign(examples_.size(), -1);
  score_ = AlignedBuffer<double>::zeros(n_outputs() * stride_);
  for (index_t p = 0; p < n_outputs(); ++p)
    table_.add_rows(rows_.data(), coef_[p].data(), size(), score_.data() + p * stride_, 0, width_);
}

void SupportSet::advance(index_t column, double step) {
  from_ = column;
  step_ = step;
}

void SupportSet::append(index_t example, const double* row) {
  examples_.push_back(example);
  rows_.push_back(row);
  watched_.push_back(-1);
  for (auto* numbers : {&coef_, &lag_})
    for (std::vector<double>& of_output : *numbers) of_output.push_back(0.0);
}

void SupportSet::remove(index_t s) {
  for (index_t p = 0; p < n_outputs(); ++p) add(s, {p, -coef_[p][s]});
  make_newest(s);
  examples_.pop_back();
  rows_.pop_back();
  watched_.pop_back();
  for (auto* numbers : {&coef_, &lag_})
    for (std::vector<double>& of_output : *numbers) of_output.pop_back();
}

template <class T> void SupportSet::move_to_end(std::vector<T>& values, index_t s) {
  std::rotate(values.begin() + s, values.begin() + s + 1, values.end());
}

void SupportSet::make_newest(index_t s) {
  move_to_end(examples_, s);
  move_to_end(rows_, s);
  move_to_end(watched_, s);
  for (auto* numbers : {&coef_, &lag_})
    for (std::vector<double>& of_output : *numbers) move_to_end(of_output, s);
}

void SupportSet::add(index_t s, const Change& change) {
  coef_[change.output][s] += change.sign;
  lag_[change.output][s] += change.sign * step_;
  table_.add_rows(&rows_[s], &change.sign, 1, score_.data() + change.output * stride_, from_,
                  width_);
}

void SupportSet::add_combination(std::span<const double> combination, const Change& change) {
  std::vector<double> amounts;
  for (index_t s = 0; s < size(); ++s) {
    amounts.push_back(change.sign * combination[s]);
    coef_[change.output][s] += amounts.back();
    lag_[change.output][s] += amounts.back() * step_;
  }
  table_.add_rows(rows_.data(), amounts.data(), size(), score_.data() + change.output * stride_,
                  from_, width_);
}

void SupportSet::scale(double factor) {
  for (std::vector<double>& of_output : coef_)
    for (double& coef : of_output) coef *= factor;
  for (index_t k = 0; k < score_.size(); ++k) score_[k] *= factor;
}

void SupportSet::write(double* out, index_t n, double steps) const {
  for (index_t p = 0; p < n_outputs(); ++p)
    for (index_t s = 0; s < size(); ++s) {
      const double coef = coef_[p][s];
      out[p * n + examples_[s]] = steps == 0.0 ? coef : (coef * steps - lag_[p][s]) / steps;
    }
}

} // namespace maxmargin::perceptron
