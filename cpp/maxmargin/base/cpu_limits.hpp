#pragma once

#include "maxmargin/base/export.hpp"

#include <string>

namespace maxmargin {

// The processors that this process may use, and what limits them.
struct CpuLimits {
  int in_mask = 1;           // processors in the affinity mask of the calling thread
  double quota = 0.0;        // processors by the quotas of control groups; 0: none
  int by_variable = 0;       // threads by an environment variable; 0: none
  const char* variable = ""; // its name
  int by_call = 0;           // threads by limit_threads; 0: none

  // The processors of the mask and the quota, at least 1.
  int processors() const;
  // The number of threads where the caller names none, and the most where it does.
  int threads() const;
  int most_threads() const;
};

// Read anew: the mask and the limit of the calling thread. Read once: the quota, and the variables
// MAXMARGIN_NUM_THREADS, else OMP_NUM_THREADS. Throws InvalidArgument if the former is not a number
// from 1 on.
MAXMARGIN_INSIDE CpuLimits cpu_limits();

// Throws what cpu_limits() would of the variables, at the price of a load.
void check_thread_variables();

// Limits the threads of computations that the calling thread starts; 0 takes the limit away.
MAXMARGIN_INSIDE void limit_threads(int limit);

// The smallest CPU quota of the control groups (version 1 and 2) that the process is in, from the
// files of /proc and /sys below `root`, in processors; 0 if there is none.
MAXMARGIN_INSIDE double cpu_quota(const std::string& root = "");

} // namespace maxmargin
