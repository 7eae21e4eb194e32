// SPDX-License-Identifier: Apache-2.0
// Who touched the bytes of one memory last: the last writer of every byte and the readers since, as far as
// they matter to whoever comes next.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>

namespace npulab::core {

// One access of a stream, which is what hardware keeps in order: an engine of a core, or the stream of a
// core with the vector unit in step.
struct Access {
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::uint32_t stream = kNobody;
  std::uint32_t epoch = 0;  // of the stream: it grows whenever the stream lets others know
  std::uint32_t pc = 0;
  std::uint64_t ps = 0;
  std::uint64_t order = 0;  // instructions that the stream of the core had met by then
  bool write = false;
  friend bool operator==(const Access&, const Access&) = default;
};

class AccessHistory {
 public:
  // Whether the new access is known to come after `before`.
  using Ordered = std::function<bool(const Access& before)>;
  // Called for every access that touches a byte of [first, end) with it, one of the two writing, and that it
  // does not come after.
  using Found = std::function<void(const Access& before, std::uint64_t first, std::uint64_t end)>;

  // `first` < `end`, bytes.
  void add(const Access& access, std::uint64_t first, std::uint64_t end, const Ordered& ordered,
           const Found& found);
  void clear() { stretches_.clear(); }
  // For tests: how many stretches of equal history there are.
  std::size_t stretches() const { return stretches_.size(); }

 private:
  struct Stretch {
    std::uint64_t end = 0;
    Access writer;
    boost::container::small_vector<Access, 2> readers;
    bool same_history(const Stretch& other) const {
      return writer == other.writer && readers == other.readers;
    }
  };
  using Stretches = std::pmr::map<std::uint64_t, Stretch>;  // by first byte, disjoint

  Stretches::iterator cut(std::uint64_t at);
  void cut(Stretches::iterator stretch, std::uint64_t at);
  void join_left(Stretches::iterator stretch);
  static void read(Stretch& stretch, const Access& access, const Ordered& ordered);

  // Stretches come and go with every access: their memory is kept.
  std::unique_ptr<std::pmr::memory_resource> pool_ =
      std::make_unique<std::pmr::unsynchronized_pool_resource>();
  Stretches stretches_{pool_.get()};
};

}  // namespace npulab::core
