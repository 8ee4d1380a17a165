#include "maxmargin/model/svmlight_io.hpp"

#include "maxmargin/model/entry_reader.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace maxmargin {
namespace {

constexpr std::size_t kBytesPerPoll = std::size_t{1} << 18;

// Reads a text whose indices and number of entries fit into I.
template <class I> class Parser {
 public:
  Parser(std::string_view text, const SvmlightOptions& options)
      : lines_(text), options_(options), entries_(options.base, options.n_features) {
    // Every entry has a colon of its own, so that nothing grows while parsing.
    entries_.reserve(static_cast<std::size_t>(std::ranges::count(text, ':')));
  }

  // Nothing when an index or the number of entries does not fit into I.
  std::optional<SvmlightData<I>> parse(Control& control) {
    std::string_view line;
    std::size_t unpolled = 0; // bytes
    while (lines_.next(line)) {
      unpolled += line.size();
      if (unpolled >= kBytesPerPoll) {
        control.poll();
        unpolled = 0;
      }
      line = line.substr(0, line.find('#'));
      skip_blanks(line);
      if (line.empty()) continue;
      if (options_.is_multilabel)
        read_labels(line);
      else
        read_label(line);
      read_query_id(line);
      if (!entries_.read_row(line, lines_.number())) return std::nullopt;
    }
    data_.X = entries_.finish();
    return std::move(data_);
  }

 private:
  void read_label(std::string_view& rest) {
    const std::string_view from_here = rest;
    double label = 0.0;
    if (!take_real(rest, label) || !at_token_end(rest))
      fail_at_line(lines_.number(), "label must be a finite number", first_token(from_here));
    data_.y.push_back(label);
    skip_blanks(rest);
  }

  void read_labels(std::string_view& rest) {
    const std::string_view token = first_token(rest);
    const auto begin = std::ssize(data_.y);
    if (token.find(':') == std::string_view::npos) {
      for (std::size_t from = 0; from <= token.size();) {
        const std::size_t end = std::min(token.find(',', from), token.size());
        std::string_view label = token.substr(from, end - from);
        data_.y.push_back(0.0);
        if (!take_real(label, data_.y.back()) || !label.empty())
          fail_at_line(lines_.number(), "labels must be finite numbers, joined by commas", token);
        from = end + 1;
      }
      rest.remove_prefix(token.size());
    }
    std::sort(data_.y.begin() + begin, data_.y.end());
    data_.label_ends.push_back(std::ssize(data_.y));
    skip_blanks(rest);
  }

  void read_query_id(std::string_view& rest) {
    const std::string_view from_here = rest;
    constexpr std::string_view prefix = "qid:";
    if (!rest.starts_with(prefix)) {
      if (options_.wants_query_ids)
        fail_at_line(lines_.number(), "expected qid:number after the label",
                     first_token(from_here));
      return;
    }
    rest.remove_prefix(prefix.size());
    std::int64_t query_id = 0;
    if (!take_integer(rest, query_id) || !at_token_end(rest))
      fail_at_line(lines_.number(), "qid must be an integer", first_token(from_here));
    if (options_.wants_query_ids) data_.query_ids.push_back(query_id);
    skip_blanks(rest);
  }

  TextLines lines_;
  SvmlightOptions options_;
  EntryReader<I> entries_;
  SvmlightData<I> data_;
};

void append_label(std::string& text, double label) {
  constexpr double largest_exact = 9007199254740992.0; // 2^53
  const bool is_integer = std::trunc(label) == label && std::abs(label) <= largest_exact;
  const bool is_negative_zero = label == 0.0 && std::signbit(label);
  if (is_integer && !is_negative_zero) {
    append_integer(text, static_cast<std::int64_t>(label));
  } else {
    append_real(text, label);
  }
}

void append_entry(std::string& text, index_t row, index_t shown_index, double value) {
  if (!std::isfinite(value))
    throw InvalidArgument("X must be finite, row " + std::to_string(row) + " holds " +
                          std::to_string(value));
  text += ' ';
  append_integer(text, shown_index);
  text += ':';
  append_real(text, value);
}

} // namespace

AnySvmlightData read_svmlight(std::string_view text, const SvmlightOptions& options,
                              Control& control) {
  if (auto data = Parser<std::int32_t>(text, options).parse(control)) return std::move(*data);
  return std::move(*Parser<std::int64_t>(text, options).parse(control));
}

void write_svmlight(const MatrixView& X, const SvmlightTargets& targets, index_t begin, index_t end,
                    bool zero_based, std::string& text) {
  const auto [labels, label_ends, query_ids] = targets;
  const index_t n = n_rows(X);
  const bool is_multilabel = !label_ends.empty();
  require((is_multilabel ? std::ssize(label_ends) : std::ssize(labels)) == n,
          "X and y must have the same length");
  require(!is_multilabel || (label_ends.front() >= 0 && std::ranges::is_sorted(label_ends) &&
                             label_ends.back() <= std::ssize(labels)),
          "label_ends must be places in labels");
  require(query_ids.empty() || std::ssize(query_ids) == n,
          "X and query_id must have the same length");
  require(0 <= begin && begin <= end && end <= n, "rows must lie within X");
  for (index_t i = begin; i < end; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const std::size_t line = text.size();
    const index_t first = is_multilabel ? (i > 0 ? label_ends[row - 1] : 0) : i;
    const index_t last = is_multilabel ? label_ends[row] : i + 1;
    for (index_t l = first; l < last; ++l) {
      const double label = labels[static_cast<std::size_t>(l)];
      if (!std::isfinite(label))
        throw InvalidArgument("y must be finite, row " + std::to_string(i) + " holds " +
                              std::to_string(label));
      if (l > first) text += ',';
      append_label(text, label);
    }
    if (!query_ids.empty()) {
      text += " qid:";
      append_integer(text, query_ids[row]);
    }
    for_nonzeros(X, i, [&](index_t j, double value) {
      append_entry(text, i, zero_based ? j : j + 1, value);
    });
    require(text.size() > line, "row " + std::to_string(i) +
                                    " has neither labels nor features, which no line can show");
    text += '\n';
  }
}

} // namespace maxmargin
