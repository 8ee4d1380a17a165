// The options of the C interface: what the header says of them, the log, and predictions by them.
#include "c/option_table.hpp"
#include "tests/c_handles.hpp"
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
  for (const auto& [group, name] :
       {std::pair{kKernel, "kernel machines"}, {kLinear, "linear machines"}})
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
      CHECK(contains(warned.text, "kkt_violation is "));
    }
  }
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
