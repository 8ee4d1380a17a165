#include "maxmargin/base/cpu_limits.hpp"

#include "maxmargin/base/error.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace maxmargin {
namespace {

thread_local int limit_by_call = 0;

int processors_in_mask() {
#ifdef __linux__
  // A mask of the fixed size does not hold the processors of the largest machines.
  for (int size = CPU_SETSIZE; size <= 64 * CPU_SETSIZE; size *= 4) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(size));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(size));
    const bool fits = sched_getaffinity(0, bytes, set) == 0;
    const int count = fits ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (fits) return std::max(1, count);
  }
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

struct Variable {
  int threads = 0;
  const char* name = "";
};

// OMP_NUM_THREADS may be a list, by level of nesting, of which the first counts.
int threads_of(std::string_view text) {
  text = text.substr(0, text.find(','));
  const auto begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  if (begin == text.npos) return 0;
  text = text.substr(begin, end - begin + 1);
  int threads = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  return error == std::errc() && rest == text.data() + text.size() ? std::max(0, threads) : 0;
}

Variable read_variables() {
  if (const char* text = std::getenv("MAXMARGIN_NUM_THREADS"); text != nullptr && *text != '\0') {
    const int threads = std::strchr(text, ',') == nullptr ? threads_of(text) : 0;
    require(threads > 0,
            "MAXMARGIN_NUM_THREADS must be an integer >= 1, got '" + std::string(text) + "'");
    return {threads, "MAXMARGIN_NUM_THREADS"};
  }
  const char* text = std::getenv("OMP_NUM_THREADS");
  const int threads = text != nullptr ? threads_of(text) : 0;
  return threads > 0 ? Variable{threads, "OMP_NUM_THREADS"} : Variable{};
}

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// quota / period, 0 where the quota is "max" (version 2) or -1 (version 1).
double ratio(const std::string& quota, const std::string& period) {
  const double q = std::strtod(quota.c_str(), nullptr), p = std::strtod(period.c_str(), nullptr);
  return q > 0.0 && p > 0.0 ? q / p : 0.0;
}

double quota_of_group(const std::string& folder, bool is_version_2) {
  if (!is_version_2)
    return ratio(first_line(folder + "/cpu.cfs_quota_us"),
                 first_line(folder + "/cpu.cfs_period_us"));
  std::istringstream line(first_line(folder + "/cpu.max"));
  std::string quota, period;
  line >> quota >> period;
  return ratio(quota, period);
}

bool holds(const std::string& list, std::string_view item) {
  std::istringstream items(list);
  for (std::string one; std::getline(items, one, ',');)
    if (one == item) return true;
  return false;
}

// Where the hierarchy of the CPU controller is mounted, and which of its groups stands there.
struct Mount {
  std::string group, folder;
};

// A line of mountinfo: id parent device root folder options [optional fields] - type source
// options.
bool read_mount(const std::string& line, bool is_version_2, Mount& mount) {
  std::istringstream fields(line);
  std::string skipped, type, options;
  fields >> skipped >> skipped >> skipped >> mount.group >> mount.folder;
  while (fields >> skipped && skipped != "-") {
  }
  fields >> type >> skipped >> options;
  return is_version_2 ? type == "cgroup2" : type == "cgroup" && holds(options, "cpu");
}

// The smallest quota of a group and those that it is part of.
double quota_on_path(const std::string& root, std::string group, bool is_version_2) {
  std::ifstream mounts(root + "/proc/self/mountinfo");
  Mount mount;
  bool is_found = false;
  for (std::string line; !is_found && std::getline(mounts, line);)
    is_found = read_mount(line, is_version_2, mount);
  if (!is_found) return 0.0;
  // In a container, the group that is mounted is not the first of all.
  if (mount.group != "/" && group.starts_with(mount.group)) group.erase(0, mount.group.size());
  double smallest = 0.0;
  for (;;) {
    const double quota = quota_of_group(root + mount.folder + group, is_version_2);
    if (quota > 0.0) smallest = smallest > 0.0 ? std::min(smallest, quota) : quota;
    const auto slash = group.rfind('/');
    if (group.empty() || slash == group.npos) return smallest;
    group.erase(slash);
  }
}

// What is read once. A variable of a function would be guarded while it is made, by a thread that a
// child forked meanwhile does not have: the child would wait for it for ever.
struct OfProcess {
  double quota = cpu_quota();
  Variable variable = read_variables();
};

const OfProcess& of_process() {
  static constinit std::atomic<const OfProcess*> known{nullptr};
  const OfProcess* found = known.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  auto made = std::make_unique<const OfProcess>();
  return known.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)
             ? *made.release()
             : *found;
}

} // namespace

// A line of /proc/self/cgroup is hierarchy:controllers:group, and 0::group in version 2.
double cpu_quota(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  double smallest = 0.0;
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_version_2 = controllers.empty();
    if (!is_version_2 && !holds(controllers, "cpu")) continue;
    const double quota = quota_on_path(root, line.substr(second + 1), is_version_2);
    if (quota > 0.0) smallest = smallest > 0.0 ? std::min(smallest, quota) : quota;
  }
  return smallest;
}

int CpuLimits::processors() const {
  if (quota <= 0.0) return in_mask;
  return std::clamp(static_cast<int>(std::ceil(std::min(quota, 1e6))), 1, in_mask);
}

int CpuLimits::threads() const {
  if (by_call > 0) return by_call;
  return by_variable > 0 ? by_variable : processors();
}

// A variable sets the default, and may ask for more threads than processors, but takes none away.
int CpuLimits::most_threads() const {
  return by_call > 0 ? by_call : std::max(by_variable, processors());
}

CpuLimits cpu_limits() {
  const OfProcess& process = of_process();
  return {processors_in_mask(), process.quota, process.variable.threads, process.variable.name,
          limit_by_call};
}

void check_thread_variables() {
  of_process();
}

void limit_threads(int limit) {
  require(limit >= 0, "the limit of threads must be >= 0, got " + std::to_string(limit));
  limit_by_call = limit;
}

} // namespace maxmargin
