#include "maxmargin/model/class_order.hpp"

#include <algorithm>
#include <numeric>

namespace maxmargin {

std::vector<index_t> inverse_order(const std::vector<index_t>& order) {
  std::vector<index_t> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<std::size_t>(order[i])] = static_cast<index_t>(i);
  return inverse;
}

KernelModelParts with_class_order(const KernelModelParts& parts,
                                  const std::vector<index_t>& order) {
  const index_t n_classes = parts.n_classes(), n_vectors = parts.n_support_vectors();
  const auto old_class = [&](index_t i) { return order[static_cast<std::size_t>(i)]; };
  const auto sign = [&](index_t i, index_t j) {
    return (i < j) == (old_class(i) < old_class(j)) ? 1.0 : -1.0;
  };
  const std::vector<index_t> inverse = inverse_order(order);

  KernelModelParts sorted;
  sorted.type = parts.type;
  sorted.kernel = parts.kernel;
  sorted.n_features = parts.n_features;
  for (const index_t c : parts.vote_order)
    sorted.vote_order.push_back(inverse[static_cast<std::size_t>(c)]);
  std::vector<index_t> vectors; // in their new order
  for (index_t i = 0; i < n_classes; ++i) {
    const auto old = static_cast<std::size_t>(old_class(i));
    if (!parts.labels.empty()) sorted.labels.push_back(parts.labels[old]);
    sorted.n_support.push_back(parts.n_support[old]);
    const auto first = parts.n_support.begin();
    const index_t begin = std::accumulate(first, first + old_class(i), index_t{0});
    for (index_t k = begin; k < begin + parts.n_support[old]; ++k) vectors.push_back(k);
    for (index_t j = i + 1; j < n_classes; ++j) {
      const auto [low, high] = std::minmax({old_class(i), old_class(j)});
      const auto machine = static_cast<std::size_t>(machine_of(low, high, n_classes));
      sorted.rho.push_back(sign(i, j) * parts.rho[machine]);
      if (!parts.equivalent.empty()) sorted.equivalent.push_back(parts.equivalent[machine]);
      if (parts.prob_a.empty()) continue;
      sorted.prob_a.push_back(parts.prob_a[machine]);
      sorted.prob_b.push_back(sign(i, j) * parts.prob_b[machine]);
    }
  }

  sorted.support_vectors = rows_of(view_of(parts.support_vectors), vectors);
  sorted.dual_coef.resize(parts.dual_coef.size());
  std::size_t now = 0;
  for (index_t i = 0; i < n_classes; ++i)
    for (index_t k = 0; k < sorted.n_support[static_cast<std::size_t>(i)]; ++k, ++now) {
      const auto old = static_cast<std::size_t>(vectors[now]);
      if (!parts.support.empty()) sorted.support.push_back(parts.support[old]);
      for (index_t j = 0; j < n_classes; ++j) {
        if (j == i) continue;
        const auto to = static_cast<std::size_t>(coef_row(i, j) * n_vectors);
        const auto from =
            static_cast<std::size_t>(coef_row(old_class(i), old_class(j)) * n_vectors);
        sorted.dual_coef[to + now] = sign(i, j) * parts.dual_coef[from + old];
      }
    }
  return sorted;
}

} // namespace maxmargin
