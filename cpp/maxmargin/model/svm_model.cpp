#include "maxmargin/model/svm_model.hpp"

#include "maxmargin/base/error.hpp"

#include <algorithm>
#include <numeric>

namespace maxmargin {
namespace {

void append_row(const SupportVectors& from, index_t row, SupportVectors& to) {
  const index_t begin = from.indptr[static_cast<std::size_t>(row)];
  const index_t end = from.indptr[static_cast<std::size_t>(row) + 1];
  to.values.insert(to.values.end(), from.values.begin() + begin, from.values.begin() + end);
  to.indices.insert(to.indices.end(), from.indices.begin() + begin, from.indices.begin() + end);
  to.indptr.push_back(static_cast<std::int64_t>(to.values.size()));
  ++to.rows;
}

} // namespace

std::vector<index_t> ascending_order(const SvmModel& model) {
  std::vector<index_t> order(model.labels.size());
  std::iota(order.begin(), order.end(), index_t{0});
  std::ranges::sort(order, {},
                    [&](index_t i) { return model.labels[static_cast<std::size_t>(i)]; });
  return order;
}

std::vector<index_t> inverse_order(const std::vector<index_t>& order, index_t n) {
  std::vector<index_t> inverse(order.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    require(order[i] >= 0 && order[i] < n && inverse[static_cast<std::size_t>(order[i])] < 0,
            "a class order must hold every class once");
    inverse[static_cast<std::size_t>(order[i])] = static_cast<index_t>(i);
  }
  require(static_cast<index_t>(order.size()) == n, "a class order must hold every class once");
  return inverse;
}

SvmModel with_class_order(const SvmModel& model, const std::vector<index_t>& order) {
  const index_t n_classes = model.n_classes();
  const auto old_class = [&](index_t i) { return order[static_cast<std::size_t>(i)]; };
  // A machine whose classes change places changes its sign.
  const auto sign = [&](index_t i, index_t j) {
    return (i < j) == (old_class(i) < old_class(j)) ? 1.0 : -1.0;
  };

  SvmModel sorted;
  sorted.type = model.type;
  sorted.kernel = model.kernel;
  for (index_t i = 0; i < n_classes; ++i) {
    const auto old = static_cast<std::size_t>(old_class(i));
    sorted.labels.push_back(model.labels[old]);
    sorted.n_support.push_back(model.n_support[old]);
    for (index_t j = i + 1; j < n_classes; ++j) {
      const index_t first = std::min(old_class(i), old_class(j));
      const index_t second = std::max(old_class(i), old_class(j));
      const auto machine = static_cast<std::size_t>(machine_of(first, second, n_classes));
      sorted.rho.push_back(sign(i, j) * model.rho[machine]);
      if (model.prob_a.empty()) continue;
      sorted.prob_a.push_back(model.prob_a[machine]);
      sorted.prob_b.push_back(sign(i, j) * model.prob_b[machine]);
    }
  }

  const index_t n_vectors = model.support_vectors.rows;
  sorted.dual_coef.resize(model.dual_coef.size());
  sorted.support_vectors.cols = model.support_vectors.cols;
  for (index_t i = 0; i < n_classes; ++i) {
    const auto before = model.n_support.begin() + old_class(i);
    const index_t old_begin = std::accumulate(model.n_support.begin(), before, index_t{0});
    for (index_t old = old_begin; old < old_begin + *before; ++old) {
      const index_t now = sorted.support_vectors.rows;
      append_row(model.support_vectors, old, sorted.support_vectors);
      for (index_t j = 0; j < n_classes; ++j) {
        if (j == i) continue;
        const index_t to = coef_row(i, j) * n_vectors + now;
        const index_t from = coef_row(old_class(i), old_class(j)) * n_vectors + old;
        sorted.dual_coef[static_cast<std::size_t>(to)] =
            sign(i, j) * model.dual_coef[static_cast<std::size_t>(from)];
      }
    }
  }
  return sorted;
}

} // namespace maxmargin
