#pragma once

// Marks what the shared library exports; all else stays inside it.
#if defined(MAXMARGIN_EXPORTS)
#define MAXMARGIN_API __attribute__((visibility("default")))
#else
#define MAXMARGIN_API
#endif

// Marks what Python's bindings need of its inside as well, exported for them alone.
#if defined(MAXMARGIN_EXPORTS_INSIDE)
#define MAXMARGIN_INSIDE __attribute__((visibility("default")))
#else
#define MAXMARGIN_INSIDE
#endif
