// From "bytes [begin, end) of a class's stream" to strided copies.
//
// A stream is laid out as a sequence of boxes (the entries of a copy program); a window may begin
// and end inside one. What is left of a cut box is not a box any more, but a few: the window is
// split like a range of mixed-radix numbers, into at most two boxes for each dim and one in the
// middle.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "foundation/error.h"
#include "kernels/copy_table.h"
#include "schedules/copy_program.h"
#include "schedules/plan.h"

namespace reshard {

// Where a box of stream bytes lies in a buffer: an entry of a copy program with its base, or
// `contiguous` bytes of staging. Meaning of run and dims as in CopyEntry.
struct BoxEnd {
  BaseIndex base = 0;
  std::int64_t offset = 0;  // bytes
  std::int64_t run = 0;     // bytes
  std::span<const CopyDim> dims;
};

// Adds the copies of bytes [window.begin, window.end) of a box that lies as `source` says and goes
// where `destination` says, both in the same stream order. False if the two do not have equally
// many bytes, or are cut into dims that do not refine each other (no two layouts of one fragment
// are).
bool AddBoxWindow(const BoxEnd& source, const BoxEnd& destination, ByteRange window,
                  CopyTable& table);

// A copy program with the stream offsets of its entries. Refers to the program it was made of.
class ProgramStream {
 public:
  // Fails if an entry is no box: a negative count, run, offset or stride, or a parameter that is
  // not among the `parameter_count` of its layout, or bytes beyond 64 bits.
  static Result<ProgramStream> Make(const CopyProgram& program, std::int64_t parameter_count);

  ClassIndex demand_class() const { return program_->demand_class; }
  std::int64_t bytes() const { return begins_.back(); }
  std::int64_t size() const { return program_->size(); }

  // The entry that has stream byte `position`; of [0, bytes()).
  std::int64_t EntryAt(std::int64_t position) const;
  // Stream bytes of entry `index`.
  ByteRange EntryRange(std::int64_t index) const {
    const auto i = static_cast<std::size_t>(index);
    return {begins_[i], begins_[i + 1]};
  }
  // Entry `index`, its parameter p as base first_base + p.
  BoxEnd Entry(std::int64_t index, BaseIndex first_base) const {
    const CopyEntry entry = (*program_)[index];
    return {first_base + entry.parameter, entry.offset, entry.run, entry.dims};
  }

 private:
  const CopyProgram* program_ = nullptr;
  std::vector<std::int64_t> begins_;  // of each entry in the stream, and the end
};

// Parameters to staging: stream bytes `window` to the bytes from `offset` of `staging` on.
// Precondition of all that take a window: 0 <= window.begin <= window.end <= stream.bytes().
void AddPack(const ProgramStream& source, BaseIndex first_base, ByteRange window, BaseIndex staging,
             std::int64_t offset, CopyTable& table);
// Zeros to parameters: all bytes of the stream.
void AddZeros(const ProgramStream& destination, BaseIndex first_base, CopyTable& table);
// Staging to parameters.
void AddUnpack(const ProgramStream& destination, BaseIndex first_base, ByteRange window,
               BaseIndex staging, std::int64_t offset, CopyTable& table);
// Parameters to parameters. Fails if the two programs do not describe the same fragments.
Result<void> AddMove(const ProgramStream& source, BaseIndex first_source_base,
                     const ProgramStream& destination, BaseIndex first_destination_base,
                     ByteRange window, CopyTable& table);

}  // namespace reshard
