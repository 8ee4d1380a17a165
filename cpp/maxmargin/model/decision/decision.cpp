#include "maxmargin/model/decision/decision.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/model/pair_layout.hpp"
#include "maxmargin/model/votes.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

// Machines that take all support vectors, as of one class.
std::vector<MachinePart> whole_parts(std::span<const double> rho) {
  std::vector<MachinePart> parts;
  for (index_t p = 0; p < std::ssize(rho); ++p) parts.push_back({p, p, 0});
  return parts;
}

std::vector<MachinePart> parts_of(const KernelModelParts& model) {
  if (!is_classifier(model.type)) return whole_parts(model.rho);
  std::vector<MachinePart> parts;
  const std::vector<ClassPair> pairs = pairs_of(model.n_classes());
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto [a, b] = pairs[p];
    parts.push_back({static_cast<index_t>(p), coef_row(a, b), a});
    parts.push_back({static_cast<index_t>(p), coef_row(b, a), b});
  }
  return parts;
}

std::vector<index_t> sizes_of(const KernelModelParts& model) {
  return is_classifier(model.type) ? model.n_support : std::vector{model.n_support_vectors()};
}

// Values of such kernels are within [-1, 1], whatever the sample.
bool is_bounded(const KernelParams& kernel) {
  return kernel.type == KernelType::rbf || kernel.type == KernelType::laplacian ||
         kernel.type == KernelType::chi_squared || kernel.type == KernelType::sigmoid;
}

} // namespace

Decision::Decision(const MatrixView& vectors, std::span<const index_t> n_support,
                   const std::vector<MachinePart>& parts, std::span<const double> dual_coef,
                   std::span<const double> rho, const KernelParams& kernel, bool in_float32,
                   Control& control)
    : n_features_(n_cols(vectors)), columns_(vectors, n_support, control),
      rho_(rho.begin(), rho.end()),
      sums_(columns_, parts, n_machines(), dual_coef, simd::real_table<double>()) {
  if (in_float32 && is_bounded(kernel)) {
    auto& made = kernel_.emplace<CrossKernel<float>>(kernel_with<float>(vectors, kernel, control));
    if (!made.needs_float64()) return;
  }
  kernel_.emplace<CrossKernel<double>>(kernel_with<double>(vectors, kernel, control));
}

Decision::Decision(const KernelModelParts& parts, bool in_float32, Control& control)
    : Decision(view_of(parts.support_vectors), sizes_of(parts), parts_of(parts), parts.dual_coef,
               parts.rho, parts.kernel, in_float32, control) {}

Decision::Decision(const MatrixView& support_vectors, std::span<const double> dual_coef,
                   std::span<const double> rho, const KernelParams& kernel, Control& control)
    : Decision(support_vectors, std::vector{n_rows(support_vectors)}, whole_parts(rho), dual_coef,
               rho, kernel, false, control) {}

template <Real T>
CrossKernel<T> Decision::kernel_with(const MatrixView& vectors, const KernelParams& kernel,
                                     Control& control) const {
  std::vector<index_t> columns = columns_.row;
  if (!columns.empty())
    columns.resize(static_cast<std::size_t>(round_up(columns_.size(), kLane<T>)), columns.back());
  return CrossKernel<T>(vectors, columns, kernel, control);
}

void Decision::evaluate(const MatrixView& X, std::span<const double> factors, double* out,
                        int threads, Control& control) const {
  require(n_cols(X) == n_features_, "X must have as many features as the support vectors");
  for (index_t i = 0; i < n_rows(X); ++i)
    for (index_t p = 0; p < n_machines(); ++p) out[i * n_machines() + p] = -rho_[p];
  threads = thread_count(threads); // once: limits may change at any time
  std::vector<MachineSums::Workspace> workspaces(static_cast<std::size_t>(threads));
  std::get<CrossKernel<double>>(kernel_).for_blocks(
      X, factors, threads, control, [&](const CrossKernel<double>::Block& block, int t) {
        sums_.add(block.values, block.begin, block.end, out + block.first_row * n_machines(),
                  workspaces[t]);
      });
}

void Decision::evaluate_row(const MatrixView& X, std::span<const double> factors, double* out,
                            RowWorkspace& work) const {
  for (index_t p = 0; p < n_machines(); ++p) out[p] = -rho_[p];
  const auto add = [&](const double* values, index_t begin, index_t end) {
    sums_.add({&values, 1}, begin, end, out, work.sums);
  };
  if (const auto* kernel = std::get_if<CrossKernel<double>>(&kernel_))
    return kernel->for_row(X, factors, work.in_float64, add);
  std::get<CrossKernel<float>>(kernel_).for_row(
      X, factors, work.in_float32, [&](const float* values, index_t begin, index_t end) {
        work.values.resize_discard(end - begin);
        std::copy_n(values, end - begin, work.values.data());
        add(work.values.data(), begin, end);
      });
}

double predicted_by(const KernelModelParts& parts, const double* values, std::span<index_t> votes) {
  if (is_regression(parts.type)) return *values;
  if (!is_classifier(parts.type)) return *values >= 0.0 ? 1.0 : -1.0;
  const index_t winner = vote_winner(values, parts.vote_order, votes);
  return parts.labels.empty() ? static_cast<double>(winner)
                              : parts.labels[static_cast<std::size_t>(winner)];
}

} // namespace maxmargin
