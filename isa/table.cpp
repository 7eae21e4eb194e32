// SPDX-License-Identifier: Apache-2.0
#include "isa/table.hpp"

#include <algorithm>
#include <array>

#include "isa/tile.hpp"

namespace npulab::isa {

namespace {

constexpr std::array<InstructionInfo, kOpCount> kInstructions{{
#define NPU_INSTRUCTION(NAME, MNEMONIC, CODE, FAMILY, PORT, COST, FORMAT, TYPES, TYPES2, MEANING) \
  {Op::NAME,       #MNEMONIC, CODE,   Family::FAMILY, Port::PORT, CostClass::COST,                \
   Format::FORMAT, TYPES,     TYPES2, MEANING,        #PORT,      #COST},
#include "isa/instructions.def"
}};

constexpr bool codes_unique() {
  for (std::size_t i = 0; i < kInstructions.size(); ++i)
    for (std::size_t j = i + 1; j < kInstructions.size(); ++j)
      if (kInstructions[i].code == kInstructions[j].code ||
          kInstructions[i].mnemonic == kInstructions[j].mnemonic)
        return false;
  return true;
}
static_assert(codes_unique(), "two rows of instructions.def share a code or a mnemonic");

constexpr KindSet kVector = kind(OperandKind::vreg) | kind(OperandKind::view);
constexpr KindSet kVectorOrScalar = kVector | kind(OperandKind::lane) | kind(OperandKind::sreg) |
                                    kind(OperandKind::imm) | kind(OperandKind::fimm);
constexpr KindSet kRegister = kind(OperandKind::vreg);
constexpr KindSet kView = kind(OperandKind::view);
constexpr KindSet kScalar = kind(OperandKind::sreg);
constexpr KindSet kScalarOrImm = kScalar | kind(OperandKind::imm);
constexpr KindSet kEngine = kind(OperandKind::engine);
constexpr KindSet kTarget = kind(OperandKind::target);
constexpr KindSet kImm = kind(OperandKind::imm);

using enum Role;
constexpr SlotType kT = SlotType::type;
constexpr SlotType kT2 = SlotType::type2;
constexpr SlotType kNoElement = SlotType::none;

constexpr std::array kUnary{Slot{"dst", write, kVector, kT}, Slot{"a", read, kVector, kT}};
constexpr std::array kBinary{Slot{"dst", write, kVector, kT}, Slot{"a", read, kVector, kT},
                             Slot{"b", read, kVectorOrScalar, kT}};
constexpr std::array kTernary{Slot{"dst", read_write, kVector, kT}, Slot{"a", read, kVector, kT},
                              Slot{"b", read, kVectorOrScalar, kT}};
constexpr std::array kWideTernary{Slot{"dst", read_write, kVector, kT}, Slot{"a", read, kVector, kT2},
                                  Slot{"b", read, kVectorOrScalar, kT2}};
constexpr std::array kDotTernary{Slot{"dst", read_write, kVector, kT}, Slot{"a", read, kVector, kT2},
                                 Slot{"b", read, kVector, kT2}};
constexpr std::array kSelect{Slot{"dst", write, kVector, kT}, Slot{"mask", read, kVector, kT},
                             Slot{"a", read, kVector, kT}, Slot{"b", read, kVectorOrScalar, kT}};
constexpr std::array kConvert{Slot{"dst", write, kVector, kT}, Slot{"a", read, kVector, kT2}};
constexpr std::array kReduction{Slot{"dst", write, kVector, kT}, Slot{"a", read, kVector, kT}};
constexpr std::array kDuplicate{
    Slot{"dst", write, kVector, kT},
    Slot{"value", read,
         static_cast<KindSet>(kScalar | kImm | kind(OperandKind::fimm) | kind(OperandKind::lane)), kT}};
constexpr std::array kSlide{Slot{"dst", write, kRegister, kT}, Slot{"a", read, kRegister, kT},
                            Slot{"amount", read, kScalarOrImm, kNoElement}};
constexpr std::array kExtract{Slot{"dst", write, kScalar, kNoElement},
                              Slot{"a", read, kind(OperandKind::lane), kT}};
constexpr std::array kVectorLoad{Slot{"dst", write, kRegister, kT}, Slot{"src", read, kView, kT}};
constexpr std::array kVectorStore{Slot{"dst", write, kView, kT}, Slot{"src", read, kRegister, kT}};
constexpr std::array kGather{Slot{"dst", write, kRegister, kT}, Slot{"src", read, kView, kT},
                             Slot{"index", read, kRegister, SlotType::i32}};
constexpr std::array kMatrixProduct{Slot{"m", read, kScalarOrImm, kNoElement},
                                    Slot{"n", read, kScalarOrImm, kNoElement},
                                    Slot{"k", read, kScalarOrImm, kNoElement},
                                    Slot{"a", read, kView, kT},
                                    Slot{"b", read, kView, kT2},
                                    Slot{"c", read_write, kView, SlotType::accumulator}};
constexpr std::array kSparseProduct{
    Slot{"m", read, kScalarOrImm, kNoElement},          Slot{"n", read, kScalarOrImm, kNoElement},
    Slot{"k", read, kScalarOrImm, kNoElement},          Slot{"a", read, kView, kT},
    Slot{"index", read, kView, SlotType::i32},          Slot{"b", read, kView, kT2},
    Slot{"c", read_write, kView, SlotType::accumulator}};
constexpr std::array kTile{Slot{"dst", read_write, kRegister, SlotType::accumulator},
                           Slot{"a", read, kRegister, kT}, Slot{"b", read, kRegister, kT2}};
constexpr std::array kCopy{Slot{"dst", write, kView, kNoElement}, Slot{"src", read, kView, kNoElement},
                           Slot{"bytes", read, kScalarOrImm, kNoElement}};
constexpr std::array kPost{Slot{"dst", write, kView, kT}, Slot{"src", read, kView, kT2},
                           Slot{"columns", read, kScalarOrImm, kNoElement}};
constexpr std::array kFlag{Slot{"source", Role::none, kEngine, kNoElement},
                           Slot{"destination", Role::none, kEngine, kNoElement},
                           Slot{"id", read, kScalarOrImm, kNoElement}};
constexpr std::array kRelease{Slot{"engine", Role::none, kEngine, kNoElement},
                              Slot{"core", read, kScalarOrImm, kNoElement},
                              Slot{"id", read, kScalarOrImm, kNoElement}};
constexpr std::array kAcquire{Slot{"engine", Role::none, kEngine, kNoElement},
                              Slot{"id", read, kScalarOrImm, kNoElement}};
constexpr std::array kBarrier{Slot{"engine", Role::none, kEngine, kNoElement}};
constexpr std::array kScalarUnary{Slot{"dst", write, kScalar, kNoElement},
                                  Slot{"a", read, kScalarOrImm, kNoElement}};
constexpr std::array kScalarBinary{Slot{"dst", write, kScalar, kNoElement},
                                   Slot{"a", read, kScalarOrImm, kNoElement},
                                   Slot{"b", read, kScalarOrImm, kNoElement}};
constexpr std::array kScalarRead{Slot{"dst", write, kScalar, kNoElement}};
constexpr std::array kScalarLoad{Slot{"dst", write, kScalar, kNoElement}, Slot{"src", read, kView, kT}};
constexpr std::array kScalarStore{Slot{"dst", write, kView, kT}, Slot{"a", read, kScalarOrImm, kNoElement}};
constexpr std::array kJump{Slot{"label", Role::none, kTarget, kNoElement}};
constexpr std::array kBranch{Slot{"a", read, kScalarOrImm, kNoElement},
                             Slot{"b", read, kScalarOrImm, kNoElement},
                             Slot{"label", Role::none, kTarget, kNoElement}};
constexpr std::array kLoop{Slot{"count", read, kScalarOrImm, kNoElement},
                           Slot{"end", Role::none, kTarget, kNoElement}};
constexpr std::array kPrint{Slot{"a", read, kScalarOrImm, kNoElement}};
constexpr std::array kAssert{Slot{"a", read, kScalarOrImm, kNoElement},
                             Slot{"b", read, kScalarOrImm, kNoElement}};
constexpr std::array kRegion{Slot{"name", Role::none, kImm, kNoElement}};

// Views of vector operands (ub form) take these on top of n; units are 32-byte blocks.
constexpr std::array kVectorMods{Mod::n,       Mod::mask,     Mod::repeat,  Mod::dst_block, Mod::dst_repeat,
                                 Mod::a_block, Mod::a_repeat, Mod::b_block, Mod::b_repeat};
constexpr std::array kUnaryMods{Mod::n,          Mod::mask,    Mod::repeat,  Mod::dst_block,
                                Mod::dst_repeat, Mod::a_block, Mod::a_repeat};
// One result per repeat: no blocks of dst.
constexpr std::array kReductionMods{Mod::n,          Mod::mask,    Mod::repeat,
                                    Mod::dst_repeat, Mod::a_block, Mod::a_repeat};
constexpr std::array kDuplicateMods{Mod::n, Mod::mask, Mod::repeat, Mod::dst_block, Mod::dst_repeat};
constexpr std::array kConvertMods{Mod::n,         Mod::mask,       Mod::round,   Mod::repeat,
                                  Mod::dst_block, Mod::dst_repeat, Mod::a_block, Mod::a_repeat};
constexpr std::array kMemoryMods{Mod::n, Mod::stride, Mod::inc};
constexpr std::array kGatherMods{Mod::n, Mod::inc};
constexpr std::array kMatrixMods{Mod::accumulate,  Mod::hold,    Mod::bias,    Mod::transpose_a,
                                 Mod::transpose_b, Mod::a_pitch, Mod::b_pitch, Mod::c_pitch};
constexpr std::array kSparseMods{Mod::accumulate,  Mod::hold,    Mod::structured, Mod::width,  Mod::bias,
                                 Mod::transpose_b, Mod::a_pitch, Mod::b_pitch,    Mod::c_pitch};
constexpr std::array kCopyMods{Mod::count,      Mod::src_pitch,  Mod::dst_pitch, Mod::count2,
                               Mod::src_pitch2, Mod::dst_pitch2, Mod::pad_to,    Mod::layout,
                               Mod::core,       Mod::cores,      Mod::core_step, Mod::engine};
constexpr std::array kPostMods{Mod::round,  Mod::count, Mod::src_pitch, Mod::dst_pitch,
                               Mod::layout, Mod::scale, Mod::scale_at,  Mod::relu,
                               Mod::core,   Mod::cores, Mod::core_step, Mod::engine};
constexpr std::array kTileMods{Mod::shape};
constexpr std::array kSemaphoreMods{Mod::by};
constexpr std::array kSetMods{Mod::operands};
constexpr std::array kScalarMemoryMods{Mod::inc};

constexpr std::array<FormatInfo, static_cast<std::size_t>(Format::kCount)> kFormats{{
    {Format::None, "None", {}, {}},
    {Format::Unary, "Unary", kUnary, kUnaryMods},
    {Format::Binary, "Binary", kBinary, kVectorMods},
    {Format::Ternary, "Ternary", kTernary, kVectorMods},
    {Format::WideTernary, "WideTernary", kWideTernary, kVectorMods},
    {Format::DotTernary, "DotTernary", kDotTernary, kVectorMods},
    {Format::Select, "Select", kSelect, kVectorMods},
    {Format::Convert, "Convert", kConvert, kConvertMods},
    {Format::Reduction, "Reduction", kReduction, kReductionMods},
    {Format::Duplicate, "Duplicate", kDuplicate, kDuplicateMods},
    {Format::Slide, "Slide", kSlide, {}},
    {Format::Extract, "Extract", kExtract, {}},
    {Format::VectorLoad, "VectorLoad", kVectorLoad, kMemoryMods},
    {Format::VectorStore, "VectorStore", kVectorStore, kMemoryMods},
    {Format::Gather, "Gather", kGather, kGatherMods},
    {Format::MatrixProduct, "MatrixProduct", kMatrixProduct, kMatrixMods},
    {Format::SparseProduct, "SparseProduct", kSparseProduct, kSparseMods},
    {Format::Tile, "Tile", kTile, kTileMods},
    {Format::Copy, "Copy", kCopy, kCopyMods},
    {Format::Post, "Post", kPost, kPostMods},
    {Format::SetFlag, "SetFlag", kFlag, kSetMods},
    {Format::WaitFlag, "WaitFlag", kFlag, {}},
    {Format::Release, "Release", kRelease, kSemaphoreMods},
    {Format::Acquire, "Acquire", kAcquire, kSemaphoreMods},
    {Format::Barrier, "Barrier", kBarrier, {}},
    {Format::ScalarUnary, "ScalarUnary", kScalarUnary, {}},
    {Format::ScalarBinary, "ScalarBinary", kScalarBinary, {}},
    {Format::ScalarRead, "ScalarRead", kScalarRead, {}},
    {Format::ScalarLoad, "ScalarLoad", kScalarLoad, kScalarMemoryMods},
    {Format::ScalarStore, "ScalarStore", kScalarStore, kScalarMemoryMods},
    {Format::Jump, "Jump", kJump, {}},
    {Format::Branch, "Branch", kBranch, {}},
    {Format::Loop, "Loop", kLoop, {}},
    {Format::Print, "Print", kPrint, {}},
    {Format::Assert, "Assert", kAssert, {}},
    {Format::Region, "Region", kRegion, {}},
}};

constexpr std::int64_t kMost32 = 4294967295;
constexpr std::int64_t kMost48 = (std::int64_t{1} << 48) - 1;
constexpr std::array<ModInfo, kModCount> kMods{{
    {Mod::n, "n", ModKind::number, true, 0, 65535,
     "active elements: only the first n lanes take part (default all)"},
    {Mod::mask, "mask", ModKind::number, true, INT64_MIN, INT64_MAX,
     "bit i says whether lane i (0…63) takes part; with n both must allow it"},
    {Mod::stride, "stride", ModKind::number, true, -kMost32, kMost32,
     "bytes from one element to the next (default the element's size; 0 broadcasts one element)"},
    {Mod::inc, "inc", ModKind::number, true, -kMost48, kMost48,
     "bytes added to the view's base register after the access"},
    {Mod::round, "round", ModKind::rounding, false, 0, 4,
     "rounding mode: rne (nearest even), rtz (to zero), rdn (down), rup (up), rna (nearest, ties away)"},
    {Mod::repeat, "repeat", ModKind::number, true, 0, 65535,
     "repeats of 8 blocks of 32 bytes (ub form; default 1; the machine gives the most)"},
    {Mod::dst_block, "dst_block", ModKind::number, true, 0, 65535,
     "blocks of 32 bytes from one block of dst to the next within a repeat (default 1)"},
    {Mod::dst_repeat, "dst_repeat", ModKind::number, true, 0, 65535,
     "blocks of 32 bytes from one repeat of dst to the next (default 8); of a reduction, elements (default "
     "1)"},
    {Mod::a_block, "a_block", ModKind::number, true, 0, 65535,
     "the same for a within a repeat (default 1; 0 repeats the first block)"},
    {Mod::a_repeat, "a_repeat", ModKind::number, true, 0, 65535,
     "the same for a between repeats (default 8; 0 reuses one)"},
    {Mod::b_block, "b_block", ModKind::number, true, 0, 65535,
     "the same for b within a repeat (default 1; 0 repeats the first block)"},
    {Mod::b_repeat, "b_repeat", ModKind::number, true, 0, 65535,
     "the same for b between repeats (default 8; 0 reuses one)"},
    {Mod::count, "count", ModKind::number, true, 0, kMost32, "rows (default 1)"},
    {Mod::src_pitch, "src_pitch", ModKind::number, true, -kMost48, kMost48,
     "bytes from one row of src to the next (default bytes)"},
    {Mod::dst_pitch, "dst_pitch", ModKind::number, true, -kMost48, kMost48,
     "bytes from one row of dst to the next (default bytes, or pad_to)"},
    {Mod::count2, "count2", ModKind::number, true, 0, kMost32, "planes of count rows (default 1)"},
    {Mod::src_pitch2, "src_pitch2", ModKind::number, true, -kMost48, kMost48,
     "bytes from one plane of src to the next (default count * src_pitch)"},
    {Mod::dst_pitch2, "dst_pitch2", ModKind::number, true, -kMost48, kMost48,
     "bytes from one plane of dst to the next (default count * dst_pitch)"},
    {Mod::pad_to, "pad_to", ModKind::number, true, 0, kMost32,
     "each row of dst is filled with zero bytes up to this many bytes"},
    {Mod::layout, "layout", ModKind::layout, false, 0, 3,
     "nd2nz (rows become fractals of 16 rows x 32 bytes: byte b of row r goes to b / 32 * dst_pitch + r * 32 "
     "+ b "
     "mod 32, and zero bytes fill whole fractals), nz2nd (the reverse, with src_pitch), transpose16 (each "
     "row is "
     "a fractal of 16 x 16 two-byte elements, 512 bytes, and is transposed) or nz2nz; fixpipe reads fractals "
     "of "
     "16 x 16 elements whatever their size; the pitch of fractals is from one column of them to the next "
     "(default count rounded up to 16, times its width)"},
    {Mod::scale, "scale", ModKind::number, true, 0, kMost32,
     "bits of an f32 that every element is multiplied by"},
    {Mod::scale_at, "scale_at", ModKind::number, true, 0, kMost48,
     "byte offset, in the scale buffer of the path, of one f32 for each column to multiply by"},
    {Mod::relu, "relu", ModKind::number, false, 0, 1, "1: what is below 0 becomes 0, before the conversion"},
    {Mod::accumulate, "accumulate", ModKind::number, true, 0, 1,
     "1 adds to C, 0 (the default) overwrites it"},
    {Mod::hold, "hold", ModKind::number, true, 0, 1,
     "1 keeps the sums in the array: C is not written, and the next product must add to the same C "
     "(systolic; "
     "default 0)"},
    {Mod::structured, "structured", ModKind::number, true, 0, 1,
     "1: A holds two of every four values along k, with 2-bit places; 0 (the default): rows of slots"},
    {Mod::width, "width", ModKind::number, true, 0, 65535, "slots in a row of A (structured=0; default k)"},
    {Mod::bias, "bias", ModKind::number, true, 0, kMost32,
     "byte offset, in the machine's bias buffer, of n values that every row of C starts from instead of 0"},
    {Mod::transpose_a, "transpose_a", ModKind::number, true, 0, 1,
     "1: A stands as k x m (nd layout; default 0)"},
    {Mod::transpose_b, "transpose_b", ModKind::number, true, 0, 1,
     "1: B stands as n x k (nd layout; default 0)"},
    {Mod::a_pitch, "a_pitch", ModKind::number, true, 0, kMost32,
     "bytes from one row of A to the next (of blocks: from one row or column of blocks; default: no gap)"},
    {Mod::b_pitch, "b_pitch", ModKind::number, true, 0, kMost32, "the same for B"},
    {Mod::c_pitch, "c_pitch", ModKind::number, true, 0, kMost32, "the same for C"},
    {Mod::operands, "operands", ModKind::number, false, 0, 1,
     "1: the flag is set once everything before it has read its operands, which products do before their "
     "results are there (default 0)"},
    {Mod::core, "core", ModKind::number, true, 0, 65535,
     "where dst or src is TYPE.BUFFER: the core that it lies in, counted among the cores of that type"},
    {Mod::cores, "cores", ModKind::number, true, 1, 65535,
     "cores that get the copy at the same time (default 1; more where the path has multicast)"},
    {Mod::core_step, "core_step", ModKind::number, true, -65535, 65535,
     "from one of these cores to the next (default 1)"},
    {Mod::by, "by", ModKind::number, true, 1, 65535, "how much the semaphore grows or shrinks (default 1)"},
    {Mod::shape, "shape", ModKind::tile, false, 1, kMostTileCode,
     "the tile, as m4k8n4: A is m x k and B k x n; one that the machine has for the types (default: its "
     "first)"},
    {Mod::engine, "engine", ModKind::engine, false, 0, 254,
     "which engine copies, where several have a path between the two memories"},
}};

constexpr std::array<std::string_view, 5> kRoundNames{"rne", "rtz", "rdn", "rup", "rna"};
constexpr std::array kEnumerations{
    Enumeration{ModKind::rounding, "rounding mode", "unknown-rounding", kRoundNames},
    Enumeration{ModKind::layout, "layout", "unknown-layout", kLayoutNames},
};

constexpr const Enumeration* enumeration_of(ModKind kind) {
  for (const Enumeration& row : kEnumerations)
    if (row.kind == kind) return &row;
  return nullptr;
}

constexpr bool tables_in_order() {
  for (std::size_t i = 0; i < kFormats.size(); ++i)
    if (static_cast<std::size_t>(kFormats[i].format) != i || kFormats[i].slots.size() > kMaxOperands)
      return false;
  for (std::size_t i = 0; i < kMods.size(); ++i)
    if (const Enumeration* names = enumeration_of(kMods[i].kind);
        static_cast<std::size_t>(kMods[i].mod) != i ||
        (names != nullptr && kMods[i].max + 1 != static_cast<std::int64_t>(names->names.size())))
      return false;
  return true;
}
static_assert(tables_in_order(), "rows of kFormats and kMods stand in the order of their enums");

constexpr std::array<std::string_view, 9> kFamilyNames{
    "vector",   "vector load and store", "matrix", "matrix tiles in registers",
    "transfer", "synchronisation",       "scalar", "control",
    "debug"};

}  // namespace

std::span<const InstructionInfo> instructions() {
  return kInstructions;
}
const InstructionInfo& info(Op op) {
  return kInstructions[static_cast<std::size_t>(op)];
}
const FormatInfo& info(Format format) {
  return kFormats[static_cast<std::size_t>(format)];
}
const ModInfo& info(Mod mod) {
  return kMods[static_cast<std::size_t>(mod)];
}

std::optional<Op> op_named(std::string_view mnemonic) {
  for (const InstructionInfo& row : kInstructions)
    if (row.mnemonic == mnemonic) return row.op;
  return std::nullopt;
}

std::optional<Op> op_coded(std::uint16_t code) {
  for (const InstructionInfo& row : kInstructions)
    if (row.code == code) return row.op;
  return std::nullopt;
}

std::optional<Mod> mod_named(std::string_view text) {
  for (const ModInfo& row : kMods)
    if (row.name == text) return row.mod;
  return std::nullopt;
}

std::string_view name(Family family) {
  return kFamilyNames[static_cast<std::size_t>(family)];
}
std::string_view name(Round round) {
  return kRoundNames[static_cast<std::size_t>(round)];
}

const Enumeration* enumeration(Mod mod) {
  return enumeration_of(info(mod).kind);
}

std::string_view noun(Mod mod) {
  if (const Enumeration* names = enumeration(mod)) return names->noun;
  const ModKind kind = info(mod).kind;
  return kind == ModKind::tile ? "tile" : kind == ModKind::engine ? "DMA engine" : "";
}

DType accumulator(DType type) {
  return info(type).floating ? DType::f32 : DType::i32;
}

bool legal_types(const InstructionInfo& row, DType type, DType type2) {
  if (row.types == kNoTypes) return type == DType::none && type2 == DType::none;
  if (!contains(row.types, type)) return false;
  if (row.types2 == kNoTypes) return type2 == DType::none;
  if (row.cost == CostClass::Matrix)  // one type stands for both operands
    return type2 == DType::none ||
           (contains(row.types2, type2) && info(type).floating == info(type2).floating);
  if (!contains(row.types2, type2)) return false;
  if (row.op == Op::Vfmaw) return bits(type) > bits(type2) && info(type).floating == info(type2).floating;
  if (row.op == Op::Vcvt) return type != type2;
  return true;
}

unsigned lanes(const InstructionInfo& row, DType type, DType type2, unsigned operation_bits) {
  if (row.format == Format::DotTernary) return operation_bits / bits(type);
  const unsigned narrow = type2 == DType::none ? bits(type) : std::min(bits(type), bits(type2));
  return operation_bits / narrow;
}

unsigned slot_bytes(const InstructionInfo& row, std::size_t slot, DType type, DType type2,
                    unsigned operation_bits) {
  const Slot& description = info(row.format).slots[slot];
  const unsigned count = lanes(row, type, type2, operation_bits);
  switch (description.element) {
    case SlotType::none:
      return 0;
    case SlotType::type:
      return count * bits(type) / 8;
    case SlotType::type2:
      return (row.format == Format::DotTernary ? 4 : 1) * count * bits(type2) / 8;
    case SlotType::i32:
      return count * 4;
    case SlotType::accumulator:
      return count * bits(accumulator(type)) / 8;
  }
  return 0;
}

}  // namespace npulab::isa
