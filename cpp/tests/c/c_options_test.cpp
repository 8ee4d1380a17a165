// The options of the C interface: what the header says of them, the log, and predictions by them.
#include "c/option_table.hpp"
#include "tests/c/handles.hpp"
#include "tests/clouds.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace maxmargin::tests {
namespace {

using namespace maxmargin::c;

std::string names_of(Owners of) {
  std::string text;
  const auto add = [&](std::string_view name) {
    text += (text.empty() ? "" : ", ") + std::string(name);
  };
  for (const auto& [group, name] : {std::pair{kKernel | kLinear | kOnline, "every estimator"},
                                    {kKernel, "kernel machines"},
                                    {kLinear, "linear machines"}})
    if ((of & group) == group) add(name), of &= ~Owners{group};
  for (std::size_t k = 0; k < kOwners.size(); ++k)
    if ((of >> k & 1U) != 0) add(kOwners[k]);
  return text;
}

// Two lines of the header: the name, what is allowed and the default; the meaning and the owners.
std::string lines_of(std::string_view name, const std::string& allowed,
                     const std::string& otherwise, const std::string& meaning, Owners of) {
  std::string line = " *   " + std::string(name);
  line.resize(24, ' ');
  return line + allowed + "; " + otherwise + "\n *" + std::string(22, ' ') + meaning +
         (meaning.empty() ? "" : " ") + "(" + names_of(of) + ")\n";
}

std::string described_numbers() {
  std::string text;
  for (const NumberOption& option : kNumbers)
    text += lines_of(option.name, range_of(option),
                     std::isnan(option.otherwise) ? "1 / n_features" : text_of(option.otherwise),
                     std::string(option.meaning), option.of);
  return text;
}

std::string described_texts() {
  std::string text;
  for (const TextOption& option : kTexts)
    text += lines_of(option.name, std::string(option.choices), std::string(option.otherwise), "",
                     option.of);
  return text;
}

struct Log {
  std::string text;
  int n_warnings = 0;

  static void write(mm_log_level level, const char* line, void* user) {
    Log& log = *static_cast<Log*>(user);
    log.text += line;
    log.text += '\n';
    log.n_warnings += level == MM_LOG_WARNING;
  }
};

} // namespace

TEST_CASE("maxmargin.h has every option, its range and its default") {
  std::ifstream file(MAXMARGIN_HEADER);
  std::stringstream header;
  header << file.rdbuf();
  CHECK(contains(header.str(), (" * numbers\n" + described_numbers() + " *\n").c_str()));
  CHECK(contains(header.str(), (" * texts\n" + described_texts() + " */\n").c_str()));
  for (const std::string_view owner : kOwners)
    CHECK(contains(header.str(), std::string("\"").append(owner).append("\"").c_str()));
}

TEST_CASE("every number has its range, which messages name") {
  const auto owner_of = [](Owners of) {
    std::size_t k = 0;
    while ((of >> k & 1U) == 0) ++k;
    return std::string(kOwners[k]);
  };
  for (const NumberOption& option : kNumbers) {
    CAPTURE(option.name);
    const auto options = options_of(owner_of(option.of).c_str());
    const std::string name(option.name);
    const auto set = [&](double value) {
      return mm_options_set_number(options.get(), name.c_str(), value);
    };
    if (!std::isnan(option.otherwise)) CHECK(set(option.otherwise) == MM_OK);
    CHECK(set(option.most) == MM_OK);
    CHECK((set(option.least) == MM_OK) == (option.range != Range::above));
    if (option.least > -kAny)
      CHECK(contains(refused(set(option.least - 1.0)), range_of(option).c_str()));
    if (option.most < kInfinity) CHECK(contains(refused(set(kInfinity)), "infinity"));
    if (option.range == Range::integer) CHECK(contains(refused(set(0.5)), "got 0.5"));
    CHECK(contains(refused(set(std::nan(""))), "nan"));
  }
}

TEST_CASE("the log has the settings, and a warning of what did not converge") {
  const Clouds clouds(200, 5, 0.2);
  const auto X = samples_of(clouds.values, clouds.n, 5);
  for (const char* name : {"svc", "nu_svc", "linear_svc", "perceptron", "sgd", "svr", "nu_svr",
                           "linear_svr", "one_class"}) {
    CAPTURE(name);
    const auto options = options_of(name);
    Log log;
    REQUIRE(mm_options_set_log(options.get(), Log::write, &log) == MM_OK);
    fitted(*options, *X, clouds.y.data());
    CHECK(contains(log.text,
                   std::string("200 rows x 5 features, ").append(name).append(":").c_str()));
    CHECK(contains(log.text, "tol 0.0"));
    if (std::string(name) != "perceptron") {
      CHECK(log.n_warnings == 0);
      CHECK(contains(log.text, "1 of 1 functions converged"));
    }
    const auto capped = options_of(name);
    Log warned;
    REQUIRE(mm_options_set_log(capped.get(), Log::write, &warned) == MM_OK);
    REQUIRE(mm_options_set_number(capped.get(), "max_iter", 1.0) == MM_OK);
    fitted(*capped, *X, clouds.y.data());
    double converged = 0.0;
    CHECK(warned.n_warnings ==
          (mm_model_certificate(fitted(*capped, *X, clouds.y.data()).get(), 0, "converged",
                                &converged) == MM_OK &&
                   converged == 0.0
               ? 2 // of both fits
               : 0));
    if (std::string(name) == "svc") {
      CHECK(warned.n_warnings == 2);
      CHECK(contains(warned.text, "did not converge: ended by max_iter; of function 0 the "
                                  "kkt_violation is "));
    }
  }
}

TEST_CASE("the log says what ended a fit: its own option, a limit, the caller or an error") {
  const Clouds clouds(200, 5, 0.2);
  const auto X = samples_of(clouds.values, clouds.n, 5);
  mm_model* none = nullptr;
  for (const char* name : {"perceptron", "sgd"}) {
    CAPTURE(name);
    const auto options = options_of(name);
    Log log;
    REQUIRE(mm_options_set_log(options.get(), Log::write, &log) == MM_OK);
    const auto model = fitted(*options, *X, clouds.y.data());
    double n_iter = 0.0;
    REQUIRE(mm_model_certificate(model.get(), 0, "n_iter", &n_iter) == MM_OK);
    CHECK(log.n_warnings == 0);
    CHECK(contains(log.text, ("1 of 1 functions stopped by n_iter_no_change after " +
                              std::to_string(static_cast<int>(n_iter)) + " passes")
                                 .c_str()));
  }
  const auto limited = options_of("svc");
  Log log;
  REQUIRE(mm_options_set_log(limited.get(), Log::write, &log) == MM_OK);
  REQUIRE(mm_options_set_number(limited.get(), "time_limit", 1e-9) == MM_OK);
  REQUIRE(mm_options_set_number(limited.get(), "C", 1e6) == MM_OK);
  fitted(*limited, *X, clouds.y.data());
  CHECK(contains(log.text, "ended by time_limit"));
  const auto seconds_at = log.text.find("converged, in ") + 14;
  CHECK(log.text.find(" seconds", seconds_at) - seconds_at <= 8); // 1.23e-05

  log = {};
  const std::vector<double> not_finite(200, std::nan(""));
  CHECK(mm_fit(limited.get(), X.get(), not_finite.data(), nullptr, &none) == MM_INVALID_ARGUMENT);
  CHECK(log.n_warnings == 1);
  CHECK(contains(log.text, "failed after "));
  CHECK(contains(log.text, " seconds: y must hold finite numbers"));

  const Clouds many(3000, 20, 0.1);
  const auto Z = samples_of(many.values, many.n, 20);
  REQUIRE(mm_options_set_number(limited.get(), "time_limit", kInfinity) == MM_OK);
  REQUIRE(mm_options_set_number(limited.get(), "gamma", 0.01) == MM_OK);
  const auto stop = [](const mm_progress*, void*) { return 1; };
  REQUIRE(mm_options_set_progress(limited.get(), stop, nullptr) == MM_OK);
  log = {};
  CHECK(mm_fit(limited.get(), Z.get(), many.y.data(), nullptr, &none) == MM_CANCELLED);
  CHECK(contains(log.text, "cancelled after "));
  CHECK(log.n_warnings == 0);
  CHECK(none == nullptr);
}

TEST_CASE("a fit refuses the options of a prediction") {
  const Clouds clouds(20, 2, 1.0);
  const auto X = samples_of(clouds.values, clouds.n, 2);
  mm_model* none = nullptr;
  CHECK(refused(mm_fit(options_of("prediction").get(), X.get(), clouds.y.data(), nullptr, &none)) ==
        "options must be of an estimator, got those of a 'prediction'");
  CHECK(contains(refused(mm_options_set_class_weight(options_of("prediction").get(), nullptr, 0)),
                 "prediction has no class weights"));
}

// CTest runs it with MAXMARGIN_NUM_THREADS=x.
TEST_CASE("a number of threads that is none fails the smallest calls too" * doctest::skip()) {
  const Clouds clouds(2, 1, 1.0);
  const auto X = samples_of(clouds.values, 2, 1);
  mm_model* read = nullptr;
  double out[2];
  for (const char* name : {"svc", "linear_svc", "perceptron", "sgd", "one_class"}) {
    CAPTURE(name);
    const auto options = options_of(name);
    for (const double n_jobs : {0.0, 1.0}) {
      REQUIRE(mm_options_set_number(options.get(), "n_jobs", n_jobs) == MM_OK);
      CHECK(contains(refused(mm_fit(options.get(), X.get(), clouds.y.data(), nullptr, &read)),
                     "MAXMARGIN_NUM_THREADS must be an integer >= 1, got 'x'"));
    }
  }
  const char text[] = "solver_type L2R_L2LOSS_SVC\nnr_class 2\nlabel 1 -1\nnr_feature 1\nbias -1\n"
                      "w\n1\n";
  REQUIRE(mm_model_from_text(text, sizeof text - 1, 0, &read) == MM_OK);
  const Owned<mm_model> model(read);
  CHECK(contains(refused(mm_predict(read, X.get(), nullptr, out)), "MAXMARGIN_NUM_THREADS"));
  CHECK(
      contains(refused(mm_decision_values(read, X.get(), nullptr, out)), "MAXMARGIN_NUM_THREADS"));
}

TEST_CASE("numbers in messages are as short as they can be") {
  CHECK(text_of(0.017918759999999999) == "0.01791876");
  CHECK(text_of(0.1) == "0.1");
  CHECK(text_of(1.0 / 3.0) == "0.3333333333333333");
  CHECK(text_of(-std::nan("")) == "nan");
}

TEST_CASE("predictions take the options of a call, and end by its progress function") {
  const Clouds clouds(1500, 20, 0.1), many(200000, 20, 0.1);
  const auto X = samples_of(clouds.values, clouds.n, 20);
  const auto options = options_of("prediction");
  CHECK(contains(refused(mm_options_set_number(options.get(), "C", 1.0)), "n_jobs"));
  REQUIRE(mm_options_set_number(options.get(), "n_jobs", 1.0) == MM_OK);
  const auto of_all = options_of("svc"); // every sample supports it, so that 200,000 take long
  REQUIRE(mm_options_set_number(of_all.get(), "C", 1e-6) == MM_OK);
  const auto model = fitted(*of_all, *X, clouds.y.data());
  std::vector<double> all(1500), some(1500), enough(200000);
  REQUIRE(mm_predict(model.get(), X.get(), nullptr, all.data()) == MM_OK);
  REQUIRE(mm_predict(model.get(), X.get(), options.get(), some.data()) == MM_OK);
  CHECK(all == some);
  const auto Z = samples_of(many.values, many.n, 20);
  int n_calls = 0;
  const auto stop = [](const mm_progress* progress, void* user) {
    CHECK(progress->seconds > 0.0);
    return ++*static_cast<int*>(user);
  };
  REQUIRE(mm_options_set_progress(options.get(), stop, &n_calls) == MM_OK);
  CHECK(mm_predict(model.get(), Z.get(), options.get(), enough.data()) == MM_CANCELLED);
  CHECK(mm_decision_values(model.get(), Z.get(), options.get(), enough.data()) == MM_CANCELLED);
  CHECK(n_calls == 2);
}

} // namespace maxmargin::tests
