#include "maxmargin/model/model_io.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/model/class_order.hpp"
#include "maxmargin/model/entry_reader.hpp"
#include "maxmargin/model/keyword_lines.hpp"
#include "maxmargin/model/model_names.hpp"
#include "maxmargin/model/votes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace maxmargin {
namespace {

// Support vectors with a smaller share of entries that are not zero are kept sparse.
constexpr double kDenseShare = 0.1;
constexpr double kLargestExact = 9007199254740992.0; // 2^53

constexpr std::array<std::string_view, 13> kKeywords = {
    "svm_type", "kernel_type",        "degree", "gamma", "coef0",
    "nr_class", "total_sv",           "rho",    "label", "probA",
    "probB",    "prob_density_marks", "nr_sv"};

template <class Container> auto found(const Container& items, std::string_view item) {
  return std::find(items.begin(), items.end(), item) - items.begin();
}
template <class Container> bool contains(const Container& items, std::string_view item) {
  return found(items, item) < std::ssize(items);
}

SvmType read_type(const KeywordLines& header) {
  const std::string_view name = header.word("svm_type");
  header.check(contains(kTypeNames, name), "svm_type",
               quoted(name) + " is none of c_svc, nu_svc, one_class, epsilon_svr and nu_svr");
  return static_cast<SvmType>(found(kTypeNames, name));
}

KernelParams read_kernel(const KeywordLines& header) {
  const std::string_view name = header.word("kernel_type");
  const auto kernel_name = std::ranges::find(kKernelNames, name, &KernelName::libsvm);
  header.check(!name.empty() && kernel_name != kKernelNames.end(), "kernel_type",
               quoted(name) + " is none of linear, polynomial, rbf, sigmoid and precomputed");
  KernelParams kernel;
  kernel.type = static_cast<KernelType>(kernel_name - kKernelNames.begin());
  if (uses_gamma(kernel.type)) {
    kernel.gamma = header.number<double>("gamma");
    header.check(kernel.gamma >= 0.0, "gamma", "must be >= 0");
  }
  if (uses_coef0(kernel.type)) kernel.coef0 = header.number<double>("coef0");
  if (uses_degree(kernel.type)) {
    kernel.degree = header.number<int>("degree");
    header.check(kernel.degree >= 0, "degree", "must be >= 0");
  }
  return kernel;
}

// What only classifiers have.
void read_classes(const KeywordLines& header, index_t n_support_vectors, KernelModelParts& model) {
  const auto n_classes = header.number<index_t>("nr_class");
  header.check(n_classes >= 2, "nr_class", "must be >= 2");
  const auto labels = header.numbers<std::int32_t>("label");
  header.check(std::ssize(labels) == n_classes, "label", "must have nr_class numbers");
  header.check(std::set(labels.begin(), labels.end()).size() == labels.size(), "label",
               "must not name a class twice");
  model.labels.assign(labels.begin(), labels.end());
  // The labels bound nr_class by the length of the text, so that this cannot overflow.
  model.rho = header.numbers<double>("rho");
  header.check(std::ssize(model.rho) == n_classes * (n_classes - 1) / 2, "rho",
               "must have nr_class (nr_class - 1) / 2 numbers");

  if (header.has("probA") || header.has("probB")) {
    model.prob_a = header.numbers<double>("probA");
    model.prob_b = header.numbers<double>("probB");
    for (const auto& [keyword, numbers] :
         {std::pair("probA", &model.prob_a), {"probB", &model.prob_b}})
      header.check(numbers->size() == model.rho.size(), keyword, "must have a number for each rho");
  }
  model.n_support = header.numbers<index_t>("nr_sv");
  header.check(std::ssize(model.n_support) == n_classes, "nr_sv", "must have nr_class numbers");
  index_t left = n_support_vectors;
  for (const index_t n : model.n_support) {
    header.check(0 <= n && n <= left, "nr_sv", "must be numbers >= 0 that add up to total_sv");
    left -= n;
  }
  header.check(left == 0, "nr_sv", "must be numbers >= 0 that add up to total_sv");
}

// Everything before the support vectors; returns their number.
index_t read_header(const KeywordLines& header, KernelModelParts& model) {
  model.type = read_type(header);
  model.kernel = read_kernel(header);
  const auto n_support_vectors = header.number<index_t>("total_sv");
  header.check(n_support_vectors >= 0, "total_sv", "must be >= 0");
  if (is_classifier(model.type))
    read_classes(header, n_support_vectors, model);
  else
    model.rho.assign(1, header.number<double>("rho"));
  if (is_regression(model.type) && header.has("probA")) {
    model.noise_scale = header.number<double>("probA");
    header.check(*model.noise_scale >= 0.0, "probA", "must be >= 0");
  }
  if (model.type == SvmType::one_class && header.has("prob_density_marks")) {
    model.density_marks = header.numbers<double>("prob_density_marks");
    header.check(std::ssize(model.density_marks) == kDensityMarks &&
                     std::ranges::is_sorted(model.density_marks),
                 "prob_density_marks", "must have ten numbers in ascending order");
  }
  return n_support_vectors;
}

// Reads the lines after "SV", one for each support vector: its coefficients, then entries.
class SupportVectorReader {
 public:
  SupportVectorReader(TextLines& lines, index_t n_coefs, IndexBase base, index_t n_features,
                      Control& control)
      : lines_(lines), n_coefs_(n_coefs), entries_(base, n_features), control_(control) {}

  void read(index_t n_support_vectors) {
    std::string_view line;
    while (lines_.next(line)) {
      control_.poll();
      skip_blanks(line);
      if (line.empty()) continue;
      if (entries_.rows() == n_support_vectors)
        fail_at_line(lines_.number(), "more support vectors than total_sv");
      if (!lines_.is_ended()) fail_at_line(lines_.number(), "the text ends within a line");
      take_reals(lines_, line, n_coefs_, "coefficients", coefs_);
      entries_.read_row(line, lines_.number());
    }
    if (entries_.rows() < n_support_vectors)
      fail_at_line(lines_.number(), "the text ends after " + std::to_string(entries_.rows()) +
                                        " of total_sv = " + std::to_string(n_support_vectors) +
                                        " support vectors");
  }

  CsrSamples<double, std::int64_t> take_vectors() { return entries_.finish(); }

  // The file has a row for every support vector, the model one for every other class.
  std::vector<double> dual_coef() const {
    std::vector<double> transposed(coefs_.size());
    const auto cols = static_cast<std::size_t>(n_coefs_);
    const std::size_t rows = coefs_.size() / cols;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < cols; ++j) transposed[j * rows + i] = coefs_[i * cols + j];
    return transposed;
  }

 private:
  TextLines& lines_;
  index_t n_coefs_;
  EntryReader<std::int64_t> entries_;
  Control& control_;
  std::vector<double> coefs_;
};

DenseSamples<double> dense(const CsrSamples<double, std::int64_t>& csr) {
  DenseSamples<double> samples{{}, csr.rows(), csr.cols};
  samples.values.resize(static_cast<std::size_t>(csr.rows() * csr.cols), 0.0);
  for (index_t i = 0; i < csr.rows(); ++i)
    for (auto p = static_cast<std::size_t>(csr.indptr[i]);
         p < static_cast<std::size_t>(csr.indptr[i + 1]); ++p)
      samples.values[static_cast<std::size_t>(i * csr.cols + csr.indices[p])] = csr.values[p];
  return samples;
}

void take_vectors(CsrSamples<double, std::int64_t>&& csr, index_t n_features,
                  KernelModelParts& model) {
  if (csr.cols == 0) {
    require(csr.rows() == 0,
            "all support vectors are zero: pass n_features, which the file does not hold");
    csr.cols = std::max<index_t>(n_features, 1);
  }
  model.n_features = csr.cols;
  const double n_entries = static_cast<double>(csr.rows()) * static_cast<double>(csr.cols);
  if (static_cast<double>(csr.values.size()) < kDenseShare * n_entries)
    model.support_vectors = std::move(csr);
  else
    model.support_vectors = dense(csr);
}

// The numbers, from 1, of the training samples that support a precomputed kernel.
void take_row_numbers(const CsrSamples<double, std::int64_t>& csr, index_t n_features,
                      KernelModelParts& model) {
  DenseSamples<double> numbers{dense(csr).values, csr.rows(), 1};
  numbers.values.resize(static_cast<std::size_t>(csr.rows()), 0.0); // without a single entry
  require(std::ranges::all_of(numbers.values,
                              [](double number) {
                                return number >= 1.0 && number < kLargestExact &&
                                       number == std::trunc(number);
                              }),
          "support vectors of a precomputed kernel must be row numbers, 0:1 for the first");
  model.n_features = std::max<index_t>(n_features, 1);
  for (const double number : numbers.values)
    model.n_features = std::max(model.n_features, static_cast<index_t>(number));
  model.support_vectors = std::move(numbers);
}

} // namespace

std::string_view name_of(SvmType type) {
  return kTypeNames[static_cast<std::size_t>(type)];
}

SvmType type_named(std::string_view name) {
  require(contains(kTypeNames, name), "unknown type of model " + quoted(name));
  return static_cast<SvmType>(found(kTypeNames, name));
}

KernelModel read_model(std::string_view text, IndexBase base, index_t n_features) {
  Control control;
  return read_model(text, base, n_features, control);
}

KernelModel read_model(std::string_view text, IndexBase base, index_t n_features,
                       Control& control) {
  TextLines lines(text);
  const KeywordLines header(lines, "LIBSVM", kKeywords, "SV");
  KernelModelParts model;
  const index_t n_support_vectors = read_header(header, model);
  const bool is_precomputed = model.is_precomputed(); // then the entries are 0:number
  SupportVectorReader reader(lines, model.n_coef_rows(), is_precomputed ? IndexBase::zero : base,
                             is_precomputed ? 1 : n_features, control);
  reader.read(n_support_vectors);
  model.dual_coef = reader.dual_coef();
  if (is_precomputed)
    take_row_numbers(reader.take_vectors(), n_features, model);
  else
    take_vectors(reader.take_vectors(), n_features, model);
  if (!is_classifier(model.type)) return KernelModel(std::move(model));
  model.vote_order.resize(model.labels.size());
  std::iota(model.vote_order.begin(), model.vote_order.end(), index_t{0});
  std::vector<index_t> ascending = model.vote_order;
  std::ranges::sort(ascending, {}, [&](index_t i) { return model.labels[i]; });
  return KernelModel(with_class_order(model, ascending));
}

} // namespace maxmargin
