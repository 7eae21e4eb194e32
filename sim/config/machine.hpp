// SPDX-License-Identifier: Apache-2.0
// A machine as data: every struct stands beside the table of its keys. Nothing else names a key of a machine
// file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "isa/dtype.hpp"
#include "isa/target.hpp"
#include "sim/config/field.hpp"

namespace npulab::config {

inline constexpr double kMostCycles = 1e6;
inline constexpr double kMostBytes = 1ULL << 48;

// Latency or interval of each class of vector instructions. Order and names follow isa::CostClass.
struct VectorCosts {
  unsigned load = 1, store = 1, simple = 1, add = 1, multiply = 1, fma = 1, divide = 1, transcendental = 1,
           convert = 1, reduce = 1, permute = 1;

  static constexpr auto fields() {
    using T = VectorCosts;
    return std::tuple{
        number("load", &T::load, "cycles", 1, kMostCycles, "vld, vgather"),
        number("store", &T::store, "cycles", 1, kMostCycles, "vst"),
        number("simple", &T::simple, "cycles", 1, kMostCycles, "moves, logic, compares, select, abs, neg"),
        number("add", &T::add, "cycles", 1, kMostCycles, "vadd, vsub, vmin, vmax"),
        number("multiply", &T::multiply, "cycles", 1, kMostCycles, "vmul"),
        number("fma", &T::fma, "cycles", 1, kMostCycles, "vfma, vfms, vfmaw, vdot"),
        number("divide", &T::divide, "cycles", 1, kMostCycles, "vdiv, vsqrt, vrsqrt, vrec"),
        number("transcendental", &T::transcendental, "cycles", 1, kMostCycles, "vexp, vlog, vtanh, verf"),
        number("convert", &T::convert, "cycles", 1, kMostCycles, "vcvt"),
        number("reduce", &T::reduce, "cycles", 1, kMostCycles, "vrsum, vrmax, vrmin"),
        number("permute", &T::permute, "cycles", 1, kMostCycles, "vslide, vperm, vext")};
  }
};

// Cycles until the result of a scalar instruction can be used, by class.
struct ScalarCosts {
  unsigned op = 1, multiply = 1, divide = 1, load = 1, store = 1, branch = 1, loop = 1;

  static constexpr auto fields() {
    using T = ScalarCosts;
    return std::tuple{
        number("op", &T::op, "cycles", 1, kMostCycles, "moves, add, logic, shifts, min, max"),
        number("multiply", &T::multiply, "cycles", 1, kMostCycles, "mul"),
        number("divide", &T::divide, "cycles", 1, kMostCycles, "div, rem"),
        number("load", &T::load, "cycles", 1, kMostCycles, "lds from a local buffer"),
        number("store", &T::store, "cycles", 1, kMostCycles, "sts to a local buffer"),
        number("branch", &T::branch, "cycles", 1, kMostCycles,
               "from a taken branch to the next instruction; one that is not taken takes one cycle"),
        number("loop", &T::loop, "cycles", 1, kMostCycles,
               "set-up of a hardware loop, once; its turns cost nothing")};
  }
};

struct ScalarConfig {
  unsigned registers = 32;
  unsigned loop_depth = 4;
  ScalarCosts latency;

  static constexpr auto fields() {
    using T = ScalarConfig;
    return std::tuple{number("registers", &T::registers, "", 1, 64, "64-bit scalar registers s0, s1, …"),
                      number("loop_depth", &T::loop_depth, "", 0, 16, "hardware loops that may be nested"),
                      value("latency", &T::latency, "cycles by class of instruction")};
  }
};

// Issue slots per cycle and port; an instruction of the stream takes one of its port's.
struct IssuePorts {
  unsigned load = 1, store = 1, arithmetic = 1, scalar = 1;

  static constexpr auto fields() {
    using T = IssuePorts;
    return std::tuple{number("load", &T::load, "per cycle", 1, 8, "vector loads"),
                      number("store", &T::store, "per cycle", 1, 8, "vector stores"),
                      number("arithmetic", &T::arithmetic, "per cycle", 1, 8, "vector arithmetic"),
                      number("scalar", &T::scalar, "per cycle", 1, 8,
                             "scalar, control, copy and synchronisation instructions")};
  }
};

struct VectorConfig {
  isa::OperandForm operands = isa::OperandForm::registers;
  unsigned queue_depth = 0;
  unsigned issue_width = 1;
  IssuePorts ports;
  unsigned registers = 32;
  unsigned register_bits = 128;
  unsigned operation_bits = 128;
  unsigned max_repeat = 255;
  std::string buffer = "ub";
  std::vector<isa::DType> types{isa::DType::f32, isa::DType::f16, isa::DType::i32,
                                isa::DType::i16, isa::DType::i8,  isa::DType::u8};
  VectorCosts latency;
  VectorCosts interval;

  static constexpr auto fields() {
    using T = VectorConfig;
    return std::tuple{
        value("operands", &T::operands,
              "form of vector operands: registers, or ub (views of the buffer, 8 blocks of 32 bytes per "
              "repeat)"),
        number("queue_depth", &T::queue_depth, "instructions", 0, 1024,
               "instructions that wait for the vector unit; 0: they issue in step with the scalar ones"),
        number("issue_width", &T::issue_width, "per cycle", 1, 16,
               "instructions of the stream that start in one cycle, in order"),
        value("ports", &T::ports, "how many of each kind start in one cycle"),
        number("registers", &T::registers, "", 1, 255, "vector registers v0, v1, … (registers form)"),
        number("register_bits", &T::register_bits, "bits", 32, 65536, "width of one register; whole bytes"),
        number("operation_bits", &T::operation_bits, "bits", 32, 65536,
               "width of one operation: a whole number of registers (registers form) or of bytes per cycle "
               "(ub form)"),
        number("max_repeat", &T::max_repeat, "repeats", 1, 65535,
               "most repeats of one instruction (ub form)"),
        value("buffer", &T::buffer, "the local buffer that vector loads, stores and views address"),
        value("types", &T::types, "element types that the unit has"),
        value("latency", &T::latency, "cycles from issue until the result can be used, by class"),
        value("interval", &T::interval,
              "cycles between two starts of the class on one port (ub form: per repeat)")};
  }
};

enum class Dataflow : std::uint8_t { output_stationary, weight_stationary };
// How a matrix operand lies in its buffer. nd: rows. Of the others the capital letter says how blocks of 512
// bytes (16 rows of 32 bytes; of sums 16 x 16 elements) follow one another, by rows (Z) or columns (N), the
// small one the same of the elements inside.
enum class OperandLayout : std::uint8_t { nd, zz, zn, nz };
enum class ZeroSkip : std::uint8_t { none, slices };
enum class Sparsity : std::uint8_t { none, list, structured, any };

struct MatrixTypeConfig {
  unsigned m = 1, k = 1, n = 1;
  unsigned cycles = 1;

  static constexpr auto fields() {
    using T = MatrixTypeConfig;
    return std::tuple{number("m", &T::m, "", 1, 256, "rows of A of one step"),
                      number("k", &T::k, "", 1, 1024, "columns of A and rows of B of one step"),
                      number("n", &T::n, "", 1, 256, "columns of B of one step"),
                      number("cycles", &T::cycles, "cycles", 1, kMostCycles, "between two steps")};
  }
};

struct MatrixConfig {
  isa::MatrixKind kind = isa::MatrixKind::cube;
  std::map<std::string, MatrixTypeConfig> types;
  unsigned queue_depth = 16;
  double clock_mhz = 0;
  std::string a_buffer = "l0a", b_buffer = "l0b", c_buffer = "l0c", bias_buffer;
  OperandLayout a_layout = OperandLayout::nd, b_layout = OperandLayout::nd, c_layout = OperandLayout::nd;
  unsigned rows = 64, columns = 64;
  Dataflow dataflow = Dataflow::output_stationary;
  unsigned startup_cycles = 0;
  unsigned latency_cycles = 1;
  unsigned accumulate_cycles = 0;
  unsigned a_bytes_per_cycle = 0, b_bytes_per_cycle = 0, c_bytes_per_cycle = 0;
  ZeroSkip zero_skip = ZeroSkip::none;
  Sparsity sparsity = Sparsity::none;

  static constexpr auto fields() {
    using T = MatrixConfig;
    return std::tuple{
        value(
            "kind", &T::kind,
            "cube (a block of m x k by k x n in one step), systolic (an array of rows x columns elements) or "
            "mmul (tiles in vector registers)"),
        value("types", &T::types,
              "element types of A and B, as f16, or i8_i4 for two; none: the core has no matrix unit. The "
              "step: "
              "of a cube its block, of mmul its tile (further ones of the same types: f16_2, i8_i4_3), of "
              "systolic "
              "what one element of the array does (m and n 1)"),
        number("queue_depth", &T::queue_depth, "instructions", 1, 1024,
               "instructions that wait for the unit (cube and systolic)"),
        number("clock_mhz", &T::clock_mhz, "MHz", 0, 10000, "clock of the unit; 0: that of the core"),
        value("a_buffer", &T::a_buffer, "buffer of operand A (cube and systolic, as the next three)"),
        value("b_buffer", &T::b_buffer, "buffer of operand B"),
        value("c_buffer", &T::c_buffer, "buffer of the sums"),
        value("bias_buffer", &T::bias_buffer, "buffer of the values that sums may start from; empty: none"),
        value("a_layout", &T::a_layout, "layout of A: nd (rows), or fractals zz, zn, nz"),
        value("b_layout", &T::b_layout, "layout of B"),
        value("c_layout", &T::c_layout, "layout of the sums: nd, or nz (blocks of 16 x 16)"),
        number("rows", &T::rows, "", 1, 1024, "rows of the array (systolic)"),
        number("columns", &T::columns, "", 1, 1024, "columns of the array (systolic)"),
        value("dataflow", &T::dataflow,
              "what stays in the array: output_stationary the sums, weight_stationary B (systolic)"),
        number("startup_cycles", &T::startup_cycles, "cycles", 0, kMostCycles,
               "in which an instruction keeps the unit before its first step (cube)"),
        number("latency_cycles", &T::latency_cycles, "cycles", 1, kMostCycles,
               "from the start of a step until its result can be used"),
        number("accumulate_cycles", &T::accumulate_cycles, "cycles", 0, kMostCycles,
               "from a step until another instruction may add to the same sums (cube)"),
        number("a_bytes_per_cycle", &T::a_bytes_per_cycle, "bytes/cycle", 0, 65536,
               "port that feeds A; 0: as wide as the array takes (systolic, as the next two)"),
        number("b_bytes_per_cycle", &T::b_bytes_per_cycle, "bytes/cycle", 0, 65536, "port that feeds B"),
        number("c_bytes_per_cycle", &T::c_bytes_per_cycle, "bytes/cycle", 0, 65536,
               "port through which sums come and go"),
        value(
            "zero_skip", &T::zero_skip,
            "slices: steps along k whose column of A or row of B is all zero take no time (systolic, output "
            "stationary)"),
        value("sparsity", &T::sparsity, "forms of A that sparse_gemm takes: none, list, structured or any")};
  }
};

struct BufferConfig {
  std::uint64_t bytes = 65536;
  unsigned alignment = 1;
  unsigned banks = 1;
  unsigned bank_bytes = 32;
  unsigned bank_ports = 1;
  unsigned inputs = 1;

  static constexpr auto fields() {
    using T = BufferConfig;
    return std::tuple{
        required(number("bytes", &T::bytes, "bytes", 1, 1ULL << 32, "capacity")),
        number("alignment", &T::alignment, "bytes", 1, 4096,
               "addresses of vector accesses and of transfers are multiples of this"),
        number("banks", &T::banks, "", 1, 1024, "banks; word w of bank_bytes lies in bank w mod banks"),
        number("bank_bytes", &T::bank_bytes, "bytes", 1, 4096, "bytes that one bank gives in a cycle"),
        number("bank_ports", &T::bank_ports, "per cycle", 1, 8,
               "words of one bank that one access may touch in a cycle; more is a bank conflict and takes "
               "further cycles"),
        number("inputs", &T::inputs, "copies", 1, 64,
               "copies of other cores that it takes at the same time; further ones wait")};
  }
};

struct DmaPathConfig {
  std::string from;
  std::string to;
  unsigned bytes_per_cycle = 32;
  unsigned latency_cycles = 0;
  unsigned setup_cycles = 0;
  unsigned issue_interval_cycles = 1;
  unsigned request_bytes = 512;
  unsigned in_flight = 16;
  unsigned alignment = 1;
  std::vector<isa::Layout> layouts;
  unsigned layout_bytes_per_cycle = 0;
  bool post = false;
  std::string scale_buffer;
  bool multicast = false;

  static constexpr auto fields() {
    using T = DmaPathConfig;
    return std::tuple{
        required(value("from", &T::from,
                       "source: gm, a buffer, or TYPE.BUFFER of other cores (the copy says which core)")),
        required(value("to", &T::to, "destination: the same")),
        number("bytes_per_cycle", &T::bytes_per_cycle, "bytes/cycle", 1, 65536, "width of the path"),
        number("latency_cycles", &T::latency_cycles, "cycles", 0, kMostCycles,
               "from a request to its first byte, beside the time that gm itself takes"),
        number("setup_cycles", &T::setup_cycles, "cycles", 0, kMostCycles,
               "between two copies on this engine before the first request of the second may start"),
        number("issue_interval_cycles", &T::issue_interval_cycles, "cycles", 1, kMostCycles,
               "between the starts of two requests"),
        number("request_bytes", &T::request_bytes, "bytes", 1, 65536,
               "most bytes of one request; a row is cut at multiples of this address"),
        number("in_flight", &T::in_flight, "requests", 1, 65536, "requests to gm without an answer yet"),
        number("alignment", &T::alignment, "bytes", 1, 4096, "addresses in gm are multiples of this"),
        value("layouts", &T::layouts,
              "layouts that transfers on this path may convert between: nd2nz (into a buffer), nz2nd (out of "
              "one), transpose16, nz2nz (between two)"),
        number("layout_bytes_per_cycle", &T::layout_bytes_per_cycle, "bytes/cycle", 0, 65536,
               "width of the path for a transfer with a layout; 0: bytes_per_cycle"),
        value("post", &T::post, "whether it has post-operations: scale, relu and conversion (fixpipe)"),
        value("scale_buffer", &T::scale_buffer,
              "buffer of the factors for each column (scale_at); empty: none"),
        value("multicast", &T::multicast,
              "whether one copy may feed several cores at the same time (to: TYPE.BUFFER)")};
  }
};

struct DmaEngineConfig {
  unsigned queue_depth = 16;
  std::string port;
  std::vector<DmaPathConfig> paths;

  static constexpr auto fields() {
    using T = DmaEngineConfig;
    return std::tuple{
        number("queue_depth", &T::queue_depth, "instructions", 1, 4096,
               "instructions that wait for the engine; the scalar unit stalls when it is full"),
        value("port", &T::port,
              "engines of one core with the same port share its width; empty: a port of its own"),
        required(value("paths", &T::paths, "from where to where it copies"))};
  }
};

struct SyncConfig {
  unsigned flag_ids = 8;
  unsigned flag_max = 1;
  unsigned flag_latency_cycles = 1;
  unsigned barrier_latency_cycles = 1;
  unsigned semaphores = 0;
  unsigned semaphore_max = 63;
  unsigned semaphore_initial = 0;
  unsigned semaphore_latency_cycles = 1;
  std::vector<std::string> flag_pairs;

  static constexpr auto fields() {
    using T = SyncConfig;
    return std::tuple{
        number("flag_ids", &T::flag_ids, "", 1, 256, "flags 0, 1, … for each pair of engines"),
        number("flag_max", &T::flag_max, "", 1, 65535,
               "how often a flag may be set before a wait takes it back"),
        number("flag_latency_cycles", &T::flag_latency_cycles, "cycles", 0, kMostCycles,
               "from the end of the source's work until the waiting engine goes on"),
        number("barrier_latency_cycles", &T::barrier_latency_cycles, "cycles", 0, kMostCycles,
               "from the last arrival until the cores go on"),
        number("semaphores", &T::semaphores, "", 0, 1024,
               "counting semaphores 0, 1, … of one core (release, acquire)"),
        number("semaphore_max", &T::semaphore_max, "", 1, 65535, "largest count of a semaphore"),
        number("semaphore_initial", &T::semaphore_initial, "", 0, 65535,
               "count of every semaphore at the start of a run"),
        number("semaphore_latency_cycles", &T::semaphore_latency_cycles, "cycles", 0, kMostCycles,
               "from the end of the releasing engine's work until the count is there"),
        value("flag_pairs", &T::flag_pairs,
              "legal pairs as 'source>destination'; empty: all pairs of two engines")};
  }
};

struct CoreTypeConfig {
  unsigned count = 1;
  double clock_mhz = 1000;
  ScalarConfig scalar;
  Optional<VectorConfig> vector;
  std::map<std::string, BufferConfig> buffers;
  std::map<std::string, DmaEngineConfig> dma;
  MatrixConfig matrix;
  SyncConfig sync;

  static constexpr auto fields() {
    using T = CoreTypeConfig;
    return std::tuple{
        required(number("count", &T::count, "", 1, 4096, "cores of this type")),
        required(number("clock_mhz", &T::clock_mhz, "MHz", 1, 10000, "clock of the core")),
        value("scalar", &T::scalar, "scalar unit"),
        value("vector", &T::vector,
              "vector unit; {} takes the defaults; without it the core only runs its scalar stream and "
              "copies"),
        value("buffers", &T::buffers, "local buffers of one core, by name"),
        required(value("dma", &T::dma, "DMA engines of one core, by name")),
        value("matrix", &T::matrix, "matrix unit"),
        value("sync", &T::sync, "flags, barriers and semaphores")};
  }
};

enum class GmModel : std::uint8_t { ideal, dram };
enum class Refresh : std::uint8_t { none, per_bank, all_bank };
enum class PagePolicy : std::uint8_t { open, closed };
enum class AddressHash : std::uint8_t { none, xor_fold };

// Device memory. `ideal` uses bandwidth_gbps and latency_ns alone; `dram` the rest too, and its peak
// bandwidth is channels * channel_gbps.
struct GmConfig {
  GmModel model = GmModel::dram;
  std::uint64_t bytes = 1ULL << 30;
  double latency_ns = 100;
  double bandwidth_gbps = 0;
  unsigned channels = 8;
  double channel_gbps = 16;
  unsigned banks = 16;
  unsigned row_bytes = 1024;
  unsigned burst_bytes = 64;
  unsigned interleave_bytes = 256;
  AddressHash hash = AddressHash::none;
  PagePolicy page_policy = PagePolicy::open;
  double t_rcd_ns = 14, t_rp_ns = 14, t_cl_ns = 14, t_ras_ns = 33, t_rrd_ns = 4, t_faw_ns = 16, t_ccd_ns = 0;
  double t_wtr_ns = 8, t_rtw_ns = 4, t_wr_ns = 15;
  Refresh refresh = Refresh::none;
  double t_refi_ns = 3900, t_rfc_ns = 350;
  unsigned grant_bytes = 1024;

  static constexpr auto fields() {
    using T = GmConfig;
    constexpr double kMostNs = 1e6;
    return std::tuple{
        value("model", &T::model, "ideal (bandwidth and latency alone) or dram"),
        required(number("bytes", &T::bytes, "bytes", 1, kMostBytes,
                        "capacity; costs the host only what is touched")),
        number("latency_ns", &T::latency_ns, "ns", 0, kMostNs,
               "way through the chip and the controller and back, without the DRAM's own timing"),
        number("bandwidth_gbps", &T::bandwidth_gbps, "GB/s", 0, 1e6,
               "peak of the ideal model (1 GB = 10^9 bytes); 0: that of the channels together"),
        number("channels", &T::channels, "", 1, 1024, "independent (pseudo-)channels"),
        number("channel_gbps", &T::channel_gbps, "GB/s", 1e-3, 1e5, "peak of one channel"),
        number("banks", &T::banks, "per channel", 1, 1024, "banks of one channel"),
        number("row_bytes", &T::row_bytes, "bytes", 1, 1 << 20, "bytes of an open row"),
        number("burst_bytes", &T::burst_bytes, "bytes", 1, 4096,
               "smallest transfer; a request that covers part of one moves all of it"),
        number("interleave_bytes", &T::interleave_bytes, "bytes", 1, 1 << 20,
               "consecutive bytes on one channel before the next"),
        value("hash", &T::hash,
              "xor_fold mixes higher address bits into channel and bank, so that no pitch camps on one"),
        value("page_policy", &T::page_policy, "open keeps a row open after an access, closed closes it"),
        number("t_rcd_ns", &T::t_rcd_ns, "ns", 0, kMostNs, "activate to read or write"),
        number("t_rp_ns", &T::t_rp_ns, "ns", 0, kMostNs, "precharge to activate"),
        number("t_cl_ns", &T::t_cl_ns, "ns", 0, kMostNs, "read to first data"),
        number("t_ras_ns", &T::t_ras_ns, "ns", 0, kMostNs, "activate to precharge"),
        number("t_rrd_ns", &T::t_rrd_ns, "ns", 0, kMostNs, "activate to activate of another bank"),
        number("t_faw_ns", &T::t_faw_ns, "ns", 0, kMostNs,
               "window that holds at most four activates of a channel"),
        number("t_ccd_ns", &T::t_ccd_ns, "ns", 0, kMostNs,
               "least time between two column commands of a channel; a burst's own time if that is longer"),
        number("t_wtr_ns", &T::t_wtr_ns, "ns", 0, kMostNs, "turnaround from the last written data to a read"),
        number("t_rtw_ns", &T::t_rtw_ns, "ns", 0, kMostNs, "turnaround from the last read data to a write"),
        number("t_wr_ns", &T::t_wr_ns, "ns", 0, kMostNs, "last written data to precharge"),
        value("refresh", &T::refresh, "none, per_bank (one bank at a time, in turn) or all_bank"),
        number("t_refi_ns", &T::t_refi_ns, "ns", 1, kMostNs,
               "between two refreshes of a bank (all_bank: of the channel)"),
        number("t_rfc_ns", &T::t_rfc_ns, "ns", 0, kMostNs, "length of a refresh"),
        number("grant_bytes", &T::grant_bytes, "bytes", 1, 65536,
               "most bytes that one DMA engine gets before the others have their turn: the controller's "
               "batching")};
  }
};

enum class Overflow : std::uint8_t { inf, saturate };

struct NumericsConfig {
  Overflow overflow = Overflow::inf;

  static constexpr auto fields() {
    using T = NumericsConfig;
    return std::tuple{value("overflow", &T::overflow,
                            "float results beyond the range: inf, or saturate to the largest finite value")};
  }
};

struct LaunchConfig {
  double dispatch_us = 0;
  unsigned stagger_cycles = 0;

  static constexpr auto fields() {
    using T = LaunchConfig;
    return std::tuple{number("dispatch_us", &T::dispatch_us, "us", 0, 1e6,
                             "host to device, reported apart from the kernel's time"),
                      number("stagger_cycles", &T::stagger_cycles, "cycles", 0, kMostCycles,
                             "core i starts i times this later")};
  }
};

struct Machine {
  std::string name;
  std::string doc;
  std::map<std::string, CoreTypeConfig> core_types;
  GmConfig gm;
  NumericsConfig numerics;
  LaunchConfig launch;

  static constexpr auto fields() {
    using T = Machine;
    return std::tuple{required(value("name", &T::name, "name of the machine")),
                      value("doc", &T::doc, "what it models"),
                      required(value("core_types", &T::core_types, "core types by name")),
                      required(value("gm", &T::gm, "device memory")),
                      value("numerics", &T::numerics, "number formats"),
                      value("launch", &T::launch, "start of a kernel")};
  }
};

// Clock in Hz, exact for clocks given to a millionth of a MHz.
std::uint64_t clock_hz(const CoreTypeConfig& core);
// Of the matrix unit.
std::uint64_t matrix_hz(const CoreTypeConfig& core);
// Whether the core has a matrix unit with a queue of its own, the last of isa::Target::engines.
bool has_matrix_engine(const CoreTypeConfig& core);
// Whether the core has a unit that computes: vector or matrix.
bool computes(const CoreTypeConfig& core);
// Peak bandwidth of gm in bytes per second.
double gm_peak_bytes_per_second(const GmConfig& gm);

// Limits and names for the assembler. `core_type` empty: the machine's first type (by name) that
// computes.
// Errors: input "unknown-core-type".
isa::Target make_target(const Machine& machine, const std::string& core_type = {});
// The same for every core type but `target`'s: for kernels of several programs.
std::vector<isa::Target> other_targets(const Machine& machine, const isa::Target& target);

}  // namespace npulab::config
