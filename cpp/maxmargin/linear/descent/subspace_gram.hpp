#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/data/compact_samples.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace maxmargin::linear {

// Products of vectors with the Gram matrix X_F X_F' of some of the samples: a pass that sums rows
// to weights, and one that multiplies rows with these.
//
// Sparse samples are copied, by row and by feature, so that threads may share out both passes: what
// is summed does not depend on how many they are. A feature that only one of the samples has adds
// to the diagonal alone. The others are numbered by falling count, so that most weights that are
// read lie close together, and the processor foresees where the sums end. Values are kept in
// float32, over the largest: reading them is what takes the time.
class SubspaceGram {
 public:
  // Called for every row, as far as the calling thread reads them; ends the work by returning true.
  using Poll = std::function<bool()>;

  SubspaceGram(const AnyRows& rows, index_t n_features, int threads);

  // Return whether poll() did not end it.
  bool choose(std::span<const index_t> samples, const Poll& poll);
  bool multiply(const std::vector<double>& a, std::vector<double>& product, const Poll& poll);

 private:
  struct Element {
    std::int32_t place; // in a vector
    float value;        // what it is multiplied with there
  };

  struct Lists {
    std::vector<index_t> begins, ends;
    AlignedBuffer<Element> elements;

    // Calls use(k, sum, thread) for the sum of every list k over x.
    template <class Use> void for_sums(const std::vector<double>& x, int threads, const Use& use);
  };

  // Of a feature among those that are shared, and of its first element.
  struct Place {
    index_t number = 0, element = 0;
  };

  // Some of the samples, and what a thread finds in them.
  struct Part {
    std::size_t begin = 0, end = 0;
    std::int32_t* count = nullptr; // by feature; at last of this and the parts before
    AlignedBuffer<index_t> next;   // place of an element, by number of its feature
    double largest = 0.0;          // magnitude of a value
  };

  bool multiply_rows(const std::vector<double>& a, std::vector<double>& product, const Poll& poll);
  void divide_samples();
  template <class Work> bool for_parts(const Poll& poll, const Work& work);
  template <class Work> void for_rows(const Part& part, const Poll& poll_row, const Work& work);
  void count(Part& part, const Poll& poll_row);
  void number_features();
  std::vector<Place> places_by_count(const std::int32_t* count);
  void place_rows();
  void copy(Part& part, const Poll& poll_row);

  AnyRows rows_;
  bool is_sparse_;
  std::span<const index_t> samples_;
  std::vector<Part> parts_;
  index_t n_features_;
  AlignedBuffer<std::int32_t> counts_; // of all parts
  std::int32_t* number_ = nullptr;     // of every feature, where the counts of the first part were
  Lists by_row_, by_feature_;
  std::vector<double> diagonal_, w_;
  double scale_ = 1.0, square_of_unit_ = 1.0; // of the values that are kept
  int requested_threads_;
  int threads_ = 1;
};

} // namespace maxmargin::linear
