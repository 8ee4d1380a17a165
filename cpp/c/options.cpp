#include "c/handles.hpp"
#include "c/option_table.hpp"
#include "maxmargin/base/cpu_limits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

namespace maxmargin::c {
namespace {

Owners bit_of(std::string_view owner) {
  return 1U << (std::ranges::find(kOwners, owner) - kOwners.begin());
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::string listed(const auto& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

bool has(const auto& table, std::string_view owner, std::string_view name) {
  return std::ranges::any_of(table, [&](const auto& option) {
    return option.name == name && (option.of & bit_of(owner)) != 0;
  });
}

// What the table says of an option of this owner.
template <class Option>
const Option& option_of(std::span<const Option> table, std::string_view owner,
                        std::string_view name) {
  std::vector<std::string_view> names;
  for (const Option& option : table) {
    if ((option.of & bit_of(owner)) == 0) continue;
    if (option.name == name) return option;
    names.push_back(option.name);
  }
  if (has(kNumbers, owner, name))
    throw InvalidArgument(quoted(name) + " is a number: mm_options_set_number");
  if (has(kTexts, owner, name))
    throw InvalidArgument(quoted(name) + " is a text: mm_options_set_text");
  throw InvalidArgument("name: " + std::string(owner) + " has no " + quoted(name) +
                        (names.empty() ? ", nor any text" : "; it has " + listed(names)));
}

// The value that was set, or that of the table.
template <class Set, class Option>
auto value_of(const Set& set, std::span<const Option> table, std::string_view owner,
              std::string_view name) {
  const auto found = set.find(name);
  using Value = decltype(table[0].otherwise);
  return found != set.end() ? Value(found->second) : option_of(table, owner, name).otherwise;
}

void check(const NumberOption& option, double value) {
  const bool is_high = option.range == Range::above ? value > option.least : value >= option.least;
  const bool is_whole = option.range != Range::integer || value == std::trunc(value);
  require(is_high && is_whole && value <= option.most,
          std::string(option.name) + " must be " + range_of(option) + ", got " + text_of(value));
}

} // namespace

std::string text_of(double number) {
  if (std::isinf(number)) return number > 0.0 ? "infinity" : "-infinity";
  if (std::isnan(number)) return "nan"; // of either sign
  char text[32];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, number);
    if (std::strtod(text, nullptr) == number) break;
  }
  return text;
}

std::string range_of(const NumberOption& option) {
  const auto& [name, of, range, least, most, otherwise, meaning] = option;
  if (least == -kAny) return "finite";
  if (range == Range::integer && most == 1.0) return "0 or 1";
  std::string text = range == Range::integer ? "an integer of at least "
                     : range == Range::above ? "above "
                                             : "at least ";
  text += text_of(least);
  if (most == kInfinity) return text + " or infinity";
  if (most == kAny || most == kMostInteger) return text;
  return text + ", at most " + text_of(most);
}

double number_of(const mm_options& options, std::string_view name) {
  return value_of(options.numbers, std::span<const NumberOption>(kNumbers), options.estimator,
                  name);
}

std::string_view word_of(const mm_options& options, std::string_view name) {
  return value_of(options.texts, std::span<const TextOption>(kTexts), options.estimator, name);
}

std::size_t choice_of(const mm_options& options, std::string_view name) {
  const auto words =
      words_of(option_of(std::span<const TextOption>(kTexts), options.estimator, name).choices);
  return static_cast<std::size_t>(std::ranges::find(words, word_of(options, name)) - words.begin());
}

std::string settings_of(const mm_options& options) {
  const Owners owner = bit_of(options.estimator);
  std::vector<std::string> settings;
  const auto add = [&](std::string_view name, std::string_view value) {
    settings.emplace_back(name).append(" ").append(value);
  };
  for (const TextOption& option : kTexts)
    if ((option.of & owner) != 0) add(option.name, word_of(options, option.name));
  for (const NumberOption& option : kNumbers) {
    if ((option.of & owner) == 0) continue;
    const double value = number_of(options, option.name);
    add(option.name, std::isnan(value) ? "1 / n_features" : text_of(value));
  }
  return options.estimator + ": " + listed(settings);
}

int threads_of(const mm_options* options) {
  check_thread_variables();
  return options == nullptr ? 0 : static_cast<int>(number_of(*options, "n_jobs"));
}

void check_numbers(std::string_view name, std::span<const double> numbers, Sign sign,
                   std::string_view place) {
  const bool may_be_any = sign == Sign::any;
  const auto bad = std::ranges::find_if_not(
      numbers, [&](double v) { return std::isfinite(v) && (may_be_any || v >= 0.0); });
  if (bad == numbers.end()) return;
  throw InvalidArgument(std::string(name) + " must hold finite numbers" +
                        (may_be_any ? "" : " of at least 0") + ", got " + text_of(*bad) + " of " +
                        std::string(place) + " " + std::to_string(bad - numbers.begin()));
}

Control control_of(const mm_options* options) {
  if (options == nullptr || options->progress == nullptr) return {};
  return Control([options](const Progress& progress) {
    const bool has_gap = progress.relative_gap >= 0.0;
    const mm_progress now{progress.n_iter, has_gap ? progress.relative_gap : progress.kkt_violation,
                          0.0 - progress.dual_objective, progress.seconds};
    return options->progress(&now, options->progress_user) == 0;
  });
}

void log(const mm_options& options, mm_log_level level, const std::string& text) {
  if (options.log != nullptr) options.log(level, text.c_str(), options.log_user);
}

} // namespace maxmargin::c

using namespace maxmargin;
using namespace maxmargin::c;

mm_status mm_options_new(const char* estimator, mm_options** options) {
  return guarded([&] {
    not_null(options, "options");
    const std::string name = &not_null(estimator, "estimator");
    require(std::ranges::find(kOwners, name) != kOwners.end(),
            "estimator must be one of " + listed(kOwners) + ", got '" + name + "'");
    auto made = std::make_unique<mm_options>();
    made->estimator = name;
    *options = made.release();
  });
}

void mm_options_free(mm_options* options) {
  delete options;
}

mm_status mm_options_set_number(mm_options* options, const char* name, double value) {
  return guarded([&] {
    const std::string key = &not_null(name, "name");
    mm_options& set = not_null(options, "options");
    check(option_of(std::span<const NumberOption>(kNumbers), set.estimator, key), value);
    set.numbers[key] = value;
  });
}

mm_status mm_options_set_text(mm_options* options, const char* name, const char* value) {
  return guarded([&] {
    const std::string key = &not_null(name, "name"), text = &not_null(value, "value");
    mm_options& set = not_null(options, "options");
    const auto words =
        words_of(option_of(std::span<const TextOption>(kTexts), set.estimator, key).choices);
    require(std::ranges::find(words, text) != words.end(),
            key + " must be one of " + listed(words) + ", got '" + text + "'");
    set.texts[key] = text;
  });
}

mm_status mm_options_set_class_weight(mm_options* options, const double* weight, size_t n) {
  return guarded([&] {
    mm_options& set = not_null(options, "options");
    require((bit_of(set.estimator) & kWithClassWeights) != 0,
            set.estimator + " has no class weights");
    if (n > 0) not_null(weight, "weight");
    const std::span<const double> given(weight, n);
    check_numbers("weight", given, Sign::not_negative, "class");
    set.class_weight.assign(given.begin(), given.end());
  });
}

mm_status mm_options_set_progress(mm_options* options, mm_progress_function function, void* user) {
  return guarded([&] {
    mm_options& set = not_null(options, "options");
    set.progress = function;
    set.progress_user = user;
  });
}

mm_status mm_options_set_log(mm_options* options, mm_log_function function, void* user) {
  return guarded([&] {
    mm_options& set = not_null(options, "options");
    set.log = function;
    set.log_user = user;
  });
}
