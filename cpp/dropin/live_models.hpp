#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace maxmargin::dropin {

// What a library keeps of the models that it made, by an address within them. A thread that asks
// for the same one again takes no lock, and shares no line of memory that others write, unless a
// model was made or freed in between.
template <class Kept> class LiveModels {
 public:
  void add(const void* key, std::unique_ptr<const Kept> kept) {
    const std::unique_lock lock(mutex_);
    kept_[key] = std::move(kept);
    ++generation_;
  }

  void drop(const void* key) {
    const std::unique_lock lock(mutex_);
    if (kept_.erase(key) != 0) ++generation_;
  }

  // NULL for other models. Valid until that model is freed.
  const Kept* find(const void* key) const {
    thread_local Last last;
    const std::uint64_t generation = generation_.load(std::memory_order_acquire);
    if (last.key == key && last.generation == generation) return last.kept;
    const std::shared_lock lock(mutex_);
    const auto place = kept_.find(key);
    last = {key, generation, place == kept_.end() ? nullptr : place->second.get()};
    return last.kept;
  }

 private:
  struct Last {
    const void* key = nullptr;
    std::uint64_t generation = 0;
    const Kept* kept = nullptr;
  };

  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, std::unique_ptr<const Kept>> kept_;
  std::atomic<std::uint64_t> generation_{1};
};

} // namespace maxmargin::dropin
