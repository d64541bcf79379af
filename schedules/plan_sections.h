// The sections of a plan file, each with the two ways through it. Internal to the codec.
//
// Encoders take plans whose indices PlanIndicesFit() (plan_indices.h) and cannot fail. Decoders
// append to what they are given, in parts where a section has parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/error.h"
#include "schedules/codec_columns.h"
#include "schedules/plan.h"
#include "schedules/rank_part.h"

namespace reshard::codec {

// Rows of a table in one part, so that no message nears Protobuf's limit of 2 GiB.
inline constexpr std::int64_t kRowsPerPart = std::int64_t{1} << 20;

// header_section.cc: digest, options, certificate, notices.
std::string EncodeHeader(const Plan& plan);
Result<void> DecodeHeader(std::string_view bytes, const SectionContext& context, Plan& plan);

// job_sections.cc
std::string EncodeTensors(const std::vector<Tensor>& tensors,
                          std::span<const ConvertedTensor> converted);
Result<void> DecodeTensors(std::string_view bytes, const SectionContext& context,
                           std::vector<Tensor>& tensors, std::vector<ConvertedTensor>& converted);
std::string EncodeParameters(const std::vector<Parameter>& parameters,
                             std::span<const Conversion> conversions);
Result<void> DecodeParameters(std::string_view bytes, const SectionContext& context,
                              std::vector<Parameter>& parameters,
                              std::vector<Conversion>& conversions);
std::vector<std::string> EncodeRegions(const RegionTable& regions);
Result<void> DecodeRegions(std::string_view bytes, const SectionContext& context,
                           RegionTable& regions);
std::string EncodeRanks(const std::vector<Rank>& ranks);
Result<void> DecodeRanks(std::string_view bytes, const SectionContext& context,
                         std::vector<Rank>& ranks);
std::string EncodeInPlace(const std::vector<InPlacePair>& pairs);
Result<void> DecodeInPlace(std::string_view bytes, const SectionContext& context,
                           std::vector<InPlacePair>& pairs);
void AddRanks(std::span<const Rank> ranks, format::Ranks& message);
Result<void> ReadRanks(const format::Ranks& message, const SectionContext& context,
                       std::vector<Rank>& ranks);

// conversion_sections.cc: what the two sections above have of conversions.
void AddConvertedTensors(std::span<const ConvertedTensor> converted, format::Conversions& message);
Result<void> ReadConvertedTensors(const format::Conversions& message, const SectionContext& context,
                                  std::vector<ConvertedTensor>& converted);
void AddConversions(std::span<const Conversion> conversions, format::Conversions& message);
Result<void> ReadConversions(const format::Conversions& message, const SectionContext& context,
                             std::vector<Conversion>& conversions);

// demand_sections.cc
std::string EncodeDemand(const Demand& demand);
Result<void> DecodeDemand(std::string_view bytes, const SectionContext& context, Demand& demand);
std::vector<std::string> EncodeFragments(const FragmentTable& fragments);
Result<void> DecodeFragments(std::string_view bytes, const SectionContext& context,
                             FragmentTable& fragments);
// Programs of one layout.
std::vector<std::string> EncodePrograms(std::span<const CopyProgram> programs);
Result<void> DecodePrograms(std::string_view bytes, const SectionContext& context,
                            LayoutIndex layout, std::vector<CopyProgram>& programs);

// schedule_sections.cc: profiles, columns, transfers.
std::string EncodeSchedule(const Plan& plan);
Result<void> DecodeSchedule(std::string_view bytes, const SectionContext& context, Plan& plan);
std::vector<std::string> EncodeTransfers(const std::vector<Transfer>& transfers);
Result<void> DecodeTransfers(std::string_view bytes, const SectionContext& context,
                             std::vector<Transfer>& transfers);
void AddProfiles(std::span<const Profile> profiles, format::Profiles& message);
Result<void> ReadProfiles(const format::Profiles& message, const SectionContext& context,
                          std::vector<Profile>& profiles);
void AddColumns(std::span<const Column> columns, format::Columns& message);
Result<void> ReadColumns(const format::Columns& message, const SectionContext& context,
                         std::vector<Column>& columns);

// traffic_section.cc
std::string EncodeTraffic(const Traffic& traffic);
Result<void> DecodeTraffic(std::string_view bytes, const SectionContext& context, Traffic& traffic);

class RunWriter {
 public:
  explicit RunWriter(format::Runs* message)
      : slot_(message->mutable_slot_delta()),
        first_item_(message->mutable_first_item_delta()),
        item_count_(message->mutable_item_count()) {}
  void Add(const SlotRun& run);

 private:
  DeltaWriter slot_;
  DeltaWriter first_item_;
  SignedColumn* item_count_;
};

class RunReader {
 public:
  explicit RunReader(const format::Runs& message)
      : message_(message), slot_(message.slot_delta()), first_item_(message.first_item_delta()) {}
  static bool IsOfSize(std::int64_t rows, const format::Runs& message) {
    return AllOfSize(rows, message.slot_delta(), message.first_item_delta(), message.item_count());
  }
  SlotRun Next();
  bool ok() const { return ok_ && slot_.ok() && first_item_.ok(); }

 private:
  const format::Runs& message_;
  DeltaReader slot_;
  DeltaReader first_item_;
  int row_ = 0;
  bool ok_ = true;
};

// rank_section.cc. A rank section is made from a rank's part without its parameters and programs.
struct RankSectionContent {
  RankPart part;                     // no parameters, programs or in-place pairs
  std::vector<ColumnIndex> columns;  // number of each of part.columns in the plan
  // In-place pairs as numbers of the rank's source and destination parameters.
  std::vector<std::pair<ParameterIndex, ParameterIndex>> in_place;
};
std::string EncodeRankSection(const RankSectionContent& content);
Result<RankSectionContent> DecodeRankSection(std::string_view bytes, const SectionContext& context,
                                             RankIndex rank);

}  // namespace reshard::codec
