// The row cache.
#include "maxmargin/kernel/row_cache.hpp"

#include <doctest/doctest.h>

namespace maxmargin::tests {

TEST_CASE("the least recently used row gives way") {
  RowCache<double> cache(10, 8, 3 * 8 * sizeof(double));
  REQUIRE(cache.capacity() == 3);
  for (const index_t key : {4, 7, 1}) *cache.insert(key) = static_cast<double>(key);
  REQUIRE(cache.find(4) != nullptr); // now 7 is the oldest
  CHECK(*cache.find(4) == 4.0);
  cache.insert(2);
  CHECK(cache.peek(7) == nullptr);
  CHECK(cache.find(7) == nullptr);
  for (const index_t key : {1, 4, 2}) CHECK(cache.peek(key) != nullptr);
  CHECK(cache.hits() == 2);
  CHECK(cache.misses() == 1);
}

} // namespace maxmargin::tests
