#include "maxmargin/data/equal_rows.hpp"

#include "maxmargin/base/parallel.hpp"

#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace maxmargin {
namespace {

constexpr double kWorkOfElement = 2.0; // multiplications that reading one takes as long as
constexpr index_t kGrain = 256;        // rows that a thread reads at the least

using Hash = std::uint64_t;
constexpr Hash kLabel = ~Hash{0}; // the place of the label
constexpr index_t kRowsPerPoll = 4096;

// Small integers have their bits at the upper end.
Hash mixed(Hash h) {
  h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9;
  return h ^ (h >> 32);
}

// A value adds mixed(bits ^ key of its place) to the hash of its row: terms can be added up in any
// order, and several at a time. Keys are others in every call, lest rows be made to collide.
class Keys {
 public:
  Hash operator()(Hash place) const { return mixed(seed_ + place * 0x9e3779b97f4a7c15); }

 private:
  Hash seed_ = mixed(std::bit_cast<std::uintptr_t>(this)) +
               static_cast<Hash>(std::chrono::steady_clock::now().time_since_epoch().count());
};

template <Real T> Hash bits_of(T value) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(value);
}

// Those of the features, which every row asks for.
template <Real T> std::vector<Hash> keys_of(const DenseView<T>& X, const Keys& key) {
  std::vector<Hash> keys(static_cast<std::size_t>(X.cols));
  for (std::size_t j = 0; j < keys.size(); ++j) keys[j] = key(j);
  return keys;
}
template <Real T, class I> const Keys& keys_of(const CsrView<T, I>&, const Keys& key) {
  return key;
}

template <Real T> Hash hash_of(const DenseView<T>& X, index_t i, const std::vector<Hash>& keys) {
  const T* row = X.row(i);
  Hash h = 0;
  for (index_t j = 0; j < X.cols; ++j) h += mixed(bits_of(row[j]) ^ keys[j]);
  return h;
}

template <Real T, class I> Hash hash_of(const CsrView<T, I>& X, index_t i, const Keys& key) {
  const auto values = X.row_values(i);
  const auto columns = X.row_indices(i);
  Hash h = values.size();
  for (std::size_t e = 0; e < values.size(); ++e)
    h += mixed(bits_of(values[e]) ^ key(static_cast<Hash>(columns[e])));
  return h;
}

template <class V> bool are_equal(std::span<const V> a, std::span<const V> b) {
  // memcmp may not be given the null pointers of empty spans.
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}
template <Real T> bool are_equal(const DenseView<T>& X, index_t i, index_t j) {
  return are_equal(X.row_values(i), X.row_values(j));
}
template <Real T, class I> bool are_equal(const CsrView<T, I>& X, index_t i, index_t j) {
  return are_equal(X.row_indices(i), X.row_indices(j)) &&
         are_equal(X.row_values(i), X.row_values(j));
}

template <class View>
std::vector<index_t> first_equal(const View& X, std::span<const double> labels, int threads,
                                 Control& control) {
  const index_t n = X.rows;
  std::vector<Hash> hash(static_cast<std::size_t>(n));
  const Keys key;
  const auto& keys = keys_of(X, key);
  const Hash label_key = key(kLabel);
  parallel_ranges(n, kGrain, threads, control, [&](index_t begin, index_t end, int) {
    for (index_t i = begin; i < end; ++i) {
      const Hash of_label = labels.empty() ? 0 : mixed(bits_of(labels[i]) ^ label_key);
      // Sums of few different terms lie close together: their upper bits are mixed in once more.
      hash[i] = mixed(hash_of(X, i, keys) + of_label);
    }
  });

  // A table with a place for every row that is the first of its kind, at its hash or after it.
  constexpr index_t kEmpty = -1;
  const std::size_t last = std::bit_ceil(2 * static_cast<std::size_t>(n) + 1) - 1;
  std::vector<index_t> table(last + 1, kEmpty), first(static_cast<std::size_t>(n));
  const auto is_same = [&](index_t i, index_t j) {
    return hash[i] == hash[j] && (labels.empty() || labels[i] == labels[j]) && are_equal(X, i, j);
  };
  for (index_t i = 0; i < n; ++i) {
    if (i % kRowsPerPoll == kRowsPerPoll - 1) control.poll();
    std::size_t place = hash[i] & last;
    while (table[place] != kEmpty && !is_same(i, table[place])) place = (place + 1) & last;
    if (table[place] == kEmpty) table[place] = i;
    first[i] = table[place];
  }
  return first;
}

} // namespace

std::vector<index_t> first_equal_rows(const MatrixView& X, std::span<const double> labels,
                                      int threads, Control& control) {
  threads = thread_count_for(threads, kWorkOfElement * static_cast<double>(n_stored(X)));
  return std::visit([&](const auto& view) { return first_equal(view, labels, threads, control); },
                    X);
}

} // namespace maxmargin
