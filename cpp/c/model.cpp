#include "c/handles.hpp"
#include "maxmargin/base/files.hpp"
#include "maxmargin/model/linear/liblinear_file.hpp"
#include "maxmargin/model/model_io.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

namespace maxmargin::c {
namespace {

constexpr index_t kBlock = index_t{1} << 19; // decision values at a time: 4 MB

const KernelModel& kernel_model(const mm_model& model) {
  const auto* kernel = std::get_if<KernelModel>(&model.model);
  require(kernel != nullptr, "model must be a kernel machine");
  return *kernel;
}

index_t n_functions(const mm_model& model) {
  if (const auto* kernel = std::get_if<KernelModel>(&model.model))
    return kernel->parts().n_machines();
  return std::get<LinearModel>(model.model).parts().n_functions();
}

index_t n_features(const mm_model& model) {
  return std::visit([](const auto& own) { return own.parts().n_features; }, model.model);
}

// By sample; 0: it has none.
index_t n_probabilities(const mm_model& model) {
  const auto* kernel = std::get_if<KernelModel>(&model.model);
  if (kernel == nullptr || !kernel->is_calibrated()) return 0;
  return is_classifier(kernel->parts().type) ? kernel->parts().n_classes() : 2;
}

// Calls work(X, begin, threads, control) with blocks of rows [begin, begin + n_rows(X)).
template <class Work>
void predict_blocks(const mm_model& model, const mm_samples& samples, const mm_options* options,
                    const double* out, const Work& work) {
  const index_t n = n_features(model), n_given = n_cols(samples.view);
  require(n_given == n,
          "X must have " + std::to_string(n) + " features, got " + std::to_string(n_given));
  if (n_rows(samples.view) > 0) not_null(out, "out");
  const int threads = threads_of(options);
  Control control = control_of(options);
  for_blocks(samples,
             [&](const MatrixView& X, index_t begin) { work(X, begin, threads, control); });
}

std::string text_of(const mm_model& model) {
  if (const auto* linear = std::get_if<LinearModel>(&model.model))
    return write_linear_model(*linear, model.labels);
  return write_model(kernel_model(model), model.labels);
}

// The same function of more features, whose weights are 0.
LinearModel widened(const LinearModel& model, index_t n_features) {
  LinearModelParts parts = model.parts();
  const index_t n = std::exchange(parts.n_features, n_features);
  require(n_features >= n, "n_features must be at least " + std::to_string(n) +
                               ", which the model has, got " + std::to_string(n_features));
  parts.coef.assign(static_cast<std::size_t>(parts.n_functions() * n_features), 0.0);
  for (index_t k = 0; k < parts.n_functions(); ++k)
    std::copy_n(model.parts().coef.begin() + k * n, n, parts.coef.begin() + k * n_features);
  return LinearModel(std::move(parts));
}

void check_n_features(index_t n_features) {
  constexpr index_t kMostFeatures = std::numeric_limits<std::int32_t>::max(); // of the formats
  require(n_features >= 0 && n_features <= kMostFeatures,
          "n_features must be at least 0 (those of the text), and at most " +
              std::to_string(kMostFeatures) + ", got " + std::to_string(n_features));
}

// The model of a text, in either format.
void store(std::string_view text, index_t n_features, mm_model** out) {
  const auto take = [&](auto model, std::vector<double> labels) {
    *out = std::make_unique<mm_model>(mm_model{std::move(model), std::move(labels), {}}).release();
  };
  if (is_linear_model(text)) {
    LabelledLinearModel read = read_linear_model(text);
    return take(n_features == 0 ? std::move(read.model) : widened(read.model, n_features),
                std::move(read.labels));
  }
  KernelModel kernel = read_model(text, IndexBase::automatic, n_features == 0 ? -1 : n_features);
  std::vector<double> labels = kernel.parts().labels;
  take(std::move(kernel), std::move(labels));
}

std::span<const double> array_of(const mm_model& model, std::string_view name) {
  if (name == "labels") return model.labels;
  if (const auto* kernel = std::get_if<KernelModel>(&model.model)) {
    if (name == "rho") return kernel->parts().rho;
    require(name == "dual_coef", "name must be labels, rho or dual_coef, got " + quoted(name));
    return kernel->parts().dual_coef;
  }
  const LinearModelParts& parts = std::get<LinearModel>(model.model).parts();
  if (name == "coef") return parts.coef;
  require(name == "intercept", "name must be labels, coef or intercept, got " + quoted(name));
  return parts.intercept;
}

index_t count_of(const mm_model& model, std::string_view name) {
  if (name == "features") return n_features(model);
  if (name == "classes") return std::ssize(model.labels);
  if (name == "functions") return n_functions(model);
  if (name == "probabilities") return n_probabilities(model);
  require(name == "support_vectors",
          "name must be features, classes, functions, probabilities or support_vectors, got " +
              quoted(name));
  return kernel_model(model).parts().n_support_vectors();
}

} // namespace
} // namespace maxmargin::c

using namespace maxmargin;
using namespace maxmargin::c;

mm_status mm_fit(const mm_options* options, const mm_samples* X, const double* y,
                 const double* weight, mm_model** model) {
  return guarded([&] {
    not_null(model, "model");
    const mm_options& set = not_null(options, "options");
    Control control = control_of(options);
    try {
      require(set.estimator != "prediction",
              "options must be of an estimator, got those of a 'prediction'");
      const auto n = static_cast<std::size_t>(n_rows(not_null(X, "X").view));
      const bool needs_y = set.estimator != "one_class";
      if (needs_y) not_null(y, "y");
      const std::span<const double> targets(y, needs_y ? n : 0), weights(weight, weight ? n : 0);
      SampleMatrix copy;
      *model = std::make_unique<mm_model>(fit(set, whole(*X, copy), targets, weights, control))
                   .release();
    } catch (const std::exception& error) {
      report_failure(set, error, control.seconds());
      throw;
    }
  });
}

void mm_model_free(mm_model* model) {
  delete model;
}

mm_status mm_model_save(const mm_model* model, const char* path) {
  return guarded([&] {
    const std::string name = &not_null(path, "path"), text = text_of(not_null(model, "model"));
    if (!write_file(path, text)) throw FileError(name + ": " + std::strerror(errno));
  });
}

mm_status mm_model_load(const char* path, int64_t n_features, mm_model** model) {
  return guarded([&] {
    not_null(model, "model");
    const std::string name = &not_null(path, "path");
    check_n_features(n_features);
    const std::optional<std::string> text = read_file(path);
    if (!text) throw FileError(name + ": " + std::strerror(errno));
    try {
      store(*text, n_features, model);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(name + ": " + error.what());
    }
  });
}

mm_status mm_model_to_text(const mm_model* model, char** text, size_t* length) {
  return guarded([&] {
    not_null(text, "text");
    not_null(length, "length");
    const std::string made = text_of(not_null(model, "model"));
    auto* const copy = static_cast<char*>(std::malloc(made.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, made.c_str(), made.size() + 1);
    *text = copy;
    *length = made.size();
  });
}

mm_status mm_model_from_text(const char* text, size_t length, int64_t n_features,
                             mm_model** model) {
  return guarded([&] {
    not_null(model, "model");
    check_n_features(n_features);
    store({&not_null(text, "text"), length}, n_features, model);
  });
}

void mm_text_free(char* text) {
  std::free(text);
}

mm_status mm_model_count(const mm_model* model, const char* name, int64_t* count) {
  return guarded([&] {
    not_null(count, "count") = count_of(not_null(model, "model"), &not_null(name, "name"));
  });
}

mm_status mm_model_array(const mm_model* model, const char* name, const double** values,
                         size_t* length) {
  return guarded([&] {
    not_null(values, "values");
    const std::span<const double> array =
        array_of(not_null(model, "model"), &not_null(name, "name"));
    not_null(length, "length") = array.size();
    *values = array.data();
  });
}

mm_status mm_model_certificate(const mm_model* model, int64_t function, const char* name,
                               double* value) {
  return guarded([&] {
    const std::vector<mm_model::Proof>& proofs = not_null(model, "model").proofs;
    require(!proofs.empty(), "model must come from mm_fit: a file holds no certificate");
    require(function >= 0 && function < std::ssize(proofs),
            "function must be at least 0 and below " + std::to_string(proofs.size()) + ", got " +
                std::to_string(function));
    const auto& proof = proofs[static_cast<std::size_t>(function)].numbers;
    const auto found = proof.find(std::string_view(&not_null(name, "name")));
    std::string known;
    for (const auto& [each, number] : proof) known += (known.empty() ? "" : ", ") + each;
    require(found != proof.end(), "name must be one of " + known + ", got " + quoted(name));
    not_null(value, "value") = found->second;
  });
}

mm_status mm_predict(const mm_model* model, const mm_samples* X, const mm_options* options,
                     double* out) {
  return guarded([&] {
    const mm_model& own = not_null(model, "model");
    const bool are_numbers = predicts_numbers(own);
    const auto work = [&](const MatrixView& rows, index_t begin, int threads, Control& control) {
      const std::vector<double> predicted = std::visit(
          [&](const auto& machine) { return machine.predict(rows, threads, control); }, own.model);
      for (std::size_t i = 0; i < predicted.size(); ++i)
        out[begin + static_cast<index_t>(i)] =
            are_numbers ? own.labels[static_cast<std::size_t>(predicted[i])] : predicted[i];
    };
    predict_blocks(own, not_null(X, "X"), options, out, work);
  });
}

mm_status mm_decision_values(const mm_model* model, const mm_samples* X, const mm_options* options,
                             double* out) {
  return guarded([&] {
    const mm_model& own = not_null(model, "model");
    const index_t n = n_functions(own);
    const auto work = [&](const MatrixView& rows, index_t begin, int threads, Control& control) {
      double* const values = out + begin * n;
      if (const auto* kernel = std::get_if<KernelModel>(&own.model)) {
        kernel->decision_values(rows, {}, values, threads, control);
        if (is_pair(*kernel)) // LIBSVM's sign is positive for the first class
          for (index_t i = 0; i < n_rows(rows); ++i) values[i] = -values[i];
        return;
      }
      std::ranges::copy(std::get<LinearModel>(own.model).decision_values(rows, threads, control),
                        values);
    };
    predict_blocks(own, not_null(X, "X"), options, out, work);
  });
}

mm_status mm_probabilities(const mm_model* model, const mm_samples* X, const mm_options* options,
                           double* out) {
  return guarded([&] {
    const mm_model& own = not_null(model, "model");
    const index_t n = n_probabilities(own);
    require(n > 0, "model must have probabilities, which mm_fit does not give: one from a file of "
                   "LIBSVM's has them by probA and probB, or of one class by prob_density_marks");
    const KernelModel& kernel = kernel_model(own);
    const index_t n_machines = kernel.parts().n_machines(), size = 1 + kBlock / n_machines;
    const auto work = [&](const MatrixView& rows, index_t first, int threads, Control& control) {
      std::vector<double> values;
      for (index_t begin = 0; begin < n_rows(rows); begin += size) {
        const index_t end = std::min(n_rows(rows), begin + size);
        values.resize(static_cast<std::size_t>((end - begin) * n_machines));
        kernel.decision_values(rows_between(rows, begin, end), {}, values.data(), threads, control);
        std::ranges::copy(kernel.probabilities(values), out + (first + begin) * n);
      }
    };
    predict_blocks(own, not_null(X, "X"), options, out, work);
  });
}
