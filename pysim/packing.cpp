// SPDX-License-Identifier: Apache-2.0
// Sparse operands of sparse_gemm from dense arrays, and back.
#include <pybind11/numpy.h>

#include <string>
#include <vector>

#include "isa/dtype.hpp"
#include "pysim/bindings.hpp"
#include "sim/values/matrix_sparse.hpp"

namespace npulab::python {

namespace {

using Bytes = py::array_t<std::uint8_t, py::array::c_style>;

Bytes to_array(const std::vector<std::byte>& bytes) {
  return Bytes(static_cast<py::ssize_t>(bytes.size()), reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

const std::byte* data_of(const Bytes& array) {
  return reinterpret_cast<const std::byte*>(array.data());
}

// The Python half passes known types and arrays of the right size.
values::MatrixForm rows_of(const std::string& type, std::uint64_t rows, std::uint64_t columns) {
  return {isa::dtype_named(type).value(), false, rows, columns, {}};
}

py::tuple pack_2_4(const Bytes& dense, const std::string& type, std::uint64_t rows, std::uint64_t columns) {
  const values::TwoOfFour packed = values::pack_2_4({data_of(dense), rows_of(type, rows, columns)});
  return py::make_tuple(to_array(packed.values), to_array(packed.places));
}

Bytes unpack_2_4(const Bytes& packed, const Bytes& places, const std::string& type, std::uint64_t rows,
                 std::uint64_t columns) {
  const values::MatrixForm form = rows_of(type, rows, columns);
  std::vector<std::byte> dense(values::matrix_bytes(form));
  values::unpack_2_4(data_of(packed), data_of(places), {dense.data(), form});
  return to_array(dense);
}

py::tuple pack_sparse(const Bytes& dense, const std::string& type, std::uint64_t rows, std::uint64_t columns,
                      std::uint64_t width) {
  const values::SparseRows packed =
      values::pack_sparse({data_of(dense), rows_of(type, rows, columns)}, isa::DType::i32, width);
  return py::make_tuple(packed.width, to_array(packed.values), to_array(packed.indices));
}

Bytes unpack_sparse(const Bytes& packed, const Bytes& indices, std::uint64_t width, const std::string& type,
                    std::uint64_t rows, std::uint64_t columns) {
  const values::MatrixForm form = rows_of(type, rows, columns);
  std::vector<std::byte> dense(values::matrix_bytes(form));
  values::unpack_sparse(data_of(packed), data_of(indices), isa::DType::i32, width, {dense.data(), form});
  return to_array(dense);
}

}  // namespace

void bind_packing(py::module_& module) {
  module.def("pack_2_4", &pack_2_4, py::arg("dense"), py::arg("type"), py::arg("rows"), py::arg("columns"));
  module.def("unpack_2_4", &unpack_2_4, py::arg("values"), py::arg("places"), py::arg("type"),
             py::arg("rows"), py::arg("columns"));
  module.def("pack_sparse", &pack_sparse, py::arg("dense"), py::arg("type"), py::arg("rows"),
             py::arg("columns"), py::arg("width"));
  module.def("unpack_sparse", &unpack_sparse, py::arg("values"), py::arg("indices"), py::arg("width"),
             py::arg("type"), py::arg("rows"), py::arg("columns"));
}

}  // namespace npulab::python
