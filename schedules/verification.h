// The parts of the verifier, one per thing proven. Internal to verifier.cc and its tests.
//
// Each takes a plan whose indices fit (plan_indices.h) and on which the parts declared before it
// have succeeded. None expands rounds: all reasoning is on columns, spans of equal chunks and lags.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "schedules/plan.h"
#include "schedules/verifier.h"

namespace reshard::verification {

// An Error that says which promise of the design (section 7) a plan breaks, and where.
tl::unexpected<Error> Broken(int promise, std::string place, const std::string& reason);

// A run of chunks of equal size.
struct ChunkSpan {
  std::int64_t first = 0;  // chunks [first, last)
  std::int64_t last = 0;
  std::int64_t bytes = 0;  // of each
};

// All columns of a plan as spans of equal chunks, empty chunks left out. A profile has few distinct
// neighbouring weights, so a column has few spans however many rounds it takes.
class ChunkSpans {
 public:
  // Precondition: VerifyRecords().
  explicit ChunkSpans(const Plan& plan);
  // Ascending. Never none, as a column has bytes.
  std::span<const ChunkSpan> operator[](ColumnIndex column) const {
    const auto index = static_cast<std::size_t>(column);
    return std::span(spans_).subspan(starts_[index], starts_[index + 1] - starts_[index]);
  }
  // Rounds from the first to the last in which the item carries a byte.
  RoundRange Active(ColumnIndex column, RoundIndex first_round) const {
    const std::span<const ChunkSpan> spans = (*this)[column];
    return {static_cast<RoundIndex>(first_round + spans.front().first),
            static_cast<RoundIndex>(first_round + spans.back().last)};
  }

 private:
  std::vector<ChunkSpan> spans_;
  std::vector<std::size_t> starts_;
};

// verify_records.cc: every number is in its range, tables are in order, profiles and lags are
// legal, and every step waits for earlier ones only (so that, with rounds ascending, nothing
// deadlocks).
Result<void> VerifyRecords(const Plan& plan);

// verify_regions.cc: regions lie inside their tensors and parameters, have their dtype and are in
// order, zeros likewise; those of one destination layout write no byte of a parameter twice.
Result<void> VerifyRegions(const Plan& plan);

// verify_conversions.cc: converted tensors have the dtype and shape their conversion gives; every
// region of one on the source lies in a computed parameter that does that conversion, of whole
// blocks, of a stored parameter of the origin's dtype; none shares memory with the destination.
Result<void> VerifyConversions(const Plan& plan);

// verify_demand.cc: holders hold; the fragments of the classes a rank needs tile its regions
// exactly, those of several places each of their regions; every program addresses, entry by entry,
// the bytes of its fragments where the layout has them; programs of zeros address the declared
// ones.
Result<void> VerifyDemand(const Plan& plan);

// verify_flow.cc: every item holds the bytes its column names: packed from a holder's parameters or
// received from an item of the same column, at the right round; every needer gets every byte of its
// classes written exactly once (at all its places), and every rank whose destination layout
// declares zeros, and no other, has a round to write them in.
Result<void> VerifyFlow(const Plan& plan);

// verify_staging.cc: slots lie apart, hold what every round puts in, are read after they are filled
// and filled again after they are read, by the happens-before order of lanes and waits.
Result<void> VerifyStaging(const Plan& plan, const ChunkSpans& spans, VerifierReport& report);

// verify_groups.cc: one transfer per pair of ranks and round, bounded NCCL groups and peers.
Result<void> VerifyGroups(const Plan& plan, const ChunkSpans& spans, VerifierReport& report);

// verify_channels.cc: what NCCL is told of the peers found is true and legal.
Result<void> VerifyChannels(const Plan& plan, const VerifierReport& report);

// verify_in_place.cc: where source and destination parameters share memory, no byte is overwritten
// before its last reader.
Result<void> VerifyInPlace(const Plan& plan);

// verify_traffic.cc: in place of the five above for a simulation-only plan. Its traffic is legal,
// brings every rank at least the bytes that it lacks and that are not named as omitted; staging and
// operations (promises 4 and 5) are reported, not limited.
Result<void> VerifyTraffic(const Plan& plan, VerifierReport& report);

// Which parameters of a rank share memory: for each of one side, the one of the other, or -1. Both
// empty where none does.
struct SharedParameters {
  std::vector<ParameterIndex> of_source;
  std::vector<ParameterIndex> of_destination;
  bool empty() const { return of_source.empty(); }
};
SharedParameters FindSharedParameters(const JobRecords& job, const Rank& rank);

// The parts of a class that a rank has in place already: source and destination are the same bytes.
// Ascending, not touching. `shared` is the rank's; source and destination are its programs of the
// class, one per place, either may be empty. What the destination has at several places is never in
// place as a whole: others are written from the first.
std::vector<ByteRange> BytesInPlace(const Demand& demand, std::span<const CopyProgram> source,
                                    std::span<const CopyProgram> destination,
                                    const SharedParameters& shared);

// Whether an entry of a source and one of a destination program are the same bytes in the memory of
// a rank whose shared parameters are `shared`.
bool LieInPlace(const CopyEntry& source, const CopyEntry& destination,
                const SharedParameters& shared);

}  // namespace reshard::verification
