// SPDX-License-Identifier: Apache-2.0
// A queue that takes no memory while it goes round: engines push and pop millions of entries.
#pragma once

#include <boost/circular_buffer.hpp>
#include <utility>

namespace npulab::systemc {

template <class T>
class Ring : private boost::circular_buffer<T> {
  using Base = boost::circular_buffer<T>;

 public:
  Ring() : Base(kFirst) {}
  using Base::back;
  using Base::begin;
  using Base::clear;
  using Base::empty;
  using Base::end;
  using Base::front;
  using Base::pop_front;
  using Base::size;
  using Base::operator[];

  void push_back(T value) {
    if (Base::full()) Base::set_capacity(2 * Base::capacity());
    Base::push_back(std::move(value));
  }

 private:
  static constexpr std::size_t kFirst = 8;
};

}  // namespace npulab::systemc
