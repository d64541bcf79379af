#include "schedules/plan_codec.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedules/plan_container.h"
#include "schedules/plan_indices.h"
#include "schedules/plan_sections.h"

namespace reshard {
namespace {

using codec::DecodeBudget;
using codec::RankSectionContent;
using codec::SectionContext;

using ParameterPairs = std::vector<std::pair<ParameterIndex, ParameterIndex>>;

// In-place pairs as numbers of parameters, which depend on a rank's layouts only.
class InPlaceByLayouts {
 public:
  explicit InPlaceByLayouts(const JobRecords& job) : job_(job) {}

  const ParameterPairs& Of(const Rank& rank) {
    const auto [found, is_new] =
        pairs_.try_emplace(std::pair(rank.source_layout, rank.destination_layout));
    if (is_new && rank.source_layout != kNoLayout && rank.destination_layout != kNoLayout &&
        !job_.in_place.empty()) {
      const auto sources = NumbersOf(rank.source_layout);
      const auto destinations = NumbersOf(rank.destination_layout);
      for (const InPlacePair& pair : job_.in_place) {
        const auto source = sources.find(pair.source_parameter);
        const auto destination = destinations.find(pair.destination_parameter);
        if (source != sources.end() && destination != destinations.end()) {
          found->second.emplace_back(source->second, destination->second);
        }
      }
    }
    return found->second;
  }

 private:
  std::map<std::string_view, ParameterIndex> NumbersOf(LayoutIndex layout) const {
    std::map<std::string_view, ParameterIndex> numbers;
    const auto& parameters = job_.layouts[static_cast<std::size_t>(layout)].parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      numbers.try_emplace(parameters[i].name, static_cast<ParameterIndex>(i));
    }
    return numbers;
  }

  const JobRecords& job_;
  std::map<std::pair<LayoutIndex, LayoutIndex>, ParameterPairs> pairs_;
};

// The rank sections of a plan, one after another.
class RankSections {
 public:
  explicit RankSections(const Plan& plan) : plan_(plan), transfers_(plan), in_place_(plan.job) {}

  std::string Of(RankIndex rank) {
    SchedulePart schedule = ExtractSchedulePart(plan_, rank, transfers_);
    RankSectionContent content;
    content.in_place = in_place_.Of(schedule.part.record);
    content.part = std::move(schedule.part);
    content.columns = std::move(schedule.columns);
    return codec::EncodeRankSection(content);
  }

 private:
  const Plan& plan_;
  TransfersByRank transfers_;
  InPlaceByLayouts in_place_;
};

void AddParts(ContainerWriter& writer, SectionKind kind, std::uint32_t index,
              std::vector<std::string> parts) {
  std::uint32_t part = 0;
  for (std::string& bytes : parts) writer.Add(kind, index, part++, std::move(bytes));
}

void AddPrograms(const Plan& plan, ContainerWriter& writer) {
  for (std::size_t begin = 0; begin < plan.programs.size();) {
    std::size_t end = begin;
    while (end < plan.programs.size() && plan.programs[end].layout == plan.programs[begin].layout) {
      ++end;
    }
    AddParts(writer, SectionKind::kPrograms,
             static_cast<std::uint32_t>(plan.programs[begin].layout),
             codec::EncodePrograms(std::span(plan.programs).subspan(begin, end - begin)));
    begin = end;
  }
}

// Decodes a whole file section by section into one plan.
class Decoder {
 public:
  Decoder(std::string_view bytes, std::string place)
      : bytes_(bytes), place_(std::move(place)), budget_(bytes.size()) {}

  Result<Plan> Decode();

 private:
  // Calls decode(bytes, context) for each part of a section; if it `is_one`, for its only one.
  template <typename Function>
  Result<void> ForParts(SectionKind kind, std::uint32_t index, bool is_one,
                        const Function& decode) {
    const auto rows = FindSections(table_, kind, index, place_);
    if (!rows) return tl::unexpected(rows.error());
    if (is_one && rows->size() != 1) {
      return InputError(place_,
                        fmt::format("the plan has {} sections \"{}\", not one", rows->size(),
                                    SectionName(kind, index, 0)),
                        "write the plan again with reshard-compile");
    }
    for (const SectionRow& row : *rows) {
      const std::string_view bytes = bytes_.substr(row.offset, row.size);
      if (auto sound = CheckSection(row, bytes, place_); !sound) return sound;
      const SectionContext context{place_, SectionName(kind, index, row.part), &budget_};
      if (Result<void> done = decode(bytes, context); !done) return done;
      ++sections_read_;
    }
    return {};
  }

  Result<void> ReadTable();
  Result<void> DecodeJob();
  Result<void> DecodeLayouts();
  Result<void> DecodeDemandAndPrograms();
  Result<void> DecodeScheduleSections();
  Result<void> DecodeRankSchedule(RankIndex rank);
  Result<void> DecodeTrafficIfThere();
  Result<void> CheckRankSections();

  std::string_view bytes_;
  std::string place_;
  DecodeBudget budget_;
  std::vector<SectionRow> table_;
  std::size_t sections_read_ = 0;
  Plan plan_;
};

Result<void> Decoder::ReadTable() {
  const auto head = ReadContainerHead(bytes_.substr(0, kContainerHeadBytes), bytes_.size(),
                                      kPlanSchemaVersion, place_);
  if (!head) return tl::unexpected(head.error());
  auto table = ReadContainerTable(
      *head, bytes_.substr(kContainerHeadBytes, kSectionRowBytes * head->section_count),
      bytes_.size(), place_);
  if (!table) return tl::unexpected(table.error());
  table_ = std::move(*table);
  return {};
}

Result<void> Decoder::DecodeJob() {
  const auto header = [this](std::string_view bytes, const SectionContext& context) {
    return codec::DecodeHeader(bytes, context, plan_);
  };
  const auto text = [this](std::string_view bytes, const SectionContext&) -> Result<void> {
    plan_.job_json = bytes;
    return {};
  };
  const auto tensors = [this](std::string_view bytes, const SectionContext& context) {
    return codec::DecodeTensors(bytes, context, plan_.job.tensors, plan_.job.converted);
  };
  const auto ranks = [this](std::string_view bytes, const SectionContext& context) {
    return codec::DecodeRanks(bytes, context, plan_.job.ranks);
  };
  const auto in_place = [this](std::string_view bytes, const SectionContext& context) {
    return codec::DecodeInPlace(bytes, context, plan_.job.in_place);
  };
  Result<void> done = ForParts(SectionKind::kHeader, 0, true, header);
  if (done) done = ForParts(SectionKind::kJobText, 0, true, text);
  if (done) done = ForParts(SectionKind::kTensors, 0, true, tensors);
  if (done) done = ForParts(SectionKind::kRanks, 0, true, ranks);
  if (done) done = ForParts(SectionKind::kInPlace, 0, true, in_place);
  return done;
}

Result<void> Decoder::DecodeLayouts() {
  // Layouts are as many as there are sections of parameters; each has one.
  std::uint32_t count = 0;
  for (const SectionRow& row : table_) {
    if (row.kind == SectionKind::kParameters && row.part == 0 && row.index == count) ++count;
  }
  plan_.job.layouts.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    RankLayout& layout = plan_.job.layouts[i];
    const auto parameters = [&layout](std::string_view bytes, const SectionContext& context) {
      return codec::DecodeParameters(bytes, context, layout.parameters, layout.conversions);
    };
    const auto regions = [&layout](std::string_view bytes, const SectionContext& context) {
      return codec::DecodeRegions(bytes, context, layout.regions);
    };
    Result<void> done = ForParts(SectionKind::kParameters, i, true, parameters);
    const auto zeros = [&layout](std::string_view bytes, const SectionContext& context) {
      return codec::DecodeRegions(bytes, context, layout.zeros);
    };
    if (done) done = ForParts(SectionKind::kRegions, i, false, regions);
    if (done) done = ForParts(SectionKind::kZeros, i, false, zeros);
    if (!done) return done;
  }
  return {};
}

Result<void> Decoder::DecodeDemandAndPrograms() {
  const auto demand = [this](std::string_view bytes, const SectionContext& context) {
    return codec::DecodeDemand(bytes, context, plan_.demand);
  };
  const auto fragments = [this](std::string_view bytes, const SectionContext& context) {
    return codec::DecodeFragments(bytes, context, plan_.demand.fragments);
  };
  Result<void> done = ForParts(SectionKind::kDemand, 0, true, demand);
  if (done) done = ForParts(SectionKind::kFragments, 0, false, fragments);
  for (std::uint32_t i = 0; done && i < plan_.job.layouts.size(); ++i) {
    done = ForParts(SectionKind::kPrograms, i, false,
                    [this, i](std::string_view bytes, const SectionContext& context) {
                      return codec::DecodePrograms(bytes, context, static_cast<LayoutIndex>(i),
                                                   plan_.programs);
                    });
  }
  return done;
}

// Slots, moves and waits stand in the rank's section alone, with columns in the rank's numbering.
Result<void> Decoder::DecodeRankSchedule(RankIndex rank) {
  const auto decode = [this, rank](std::string_view bytes,
                                   const SectionContext& context) -> Result<void> {
    auto content = codec::DecodeRankSection(bytes, context, rank);
    if (!content) return tl::unexpected(content.error());
    RankSchedule& schedule = content->part.schedule;
    const auto number = [&content](ColumnIndex column) {
      return content->columns[static_cast<std::size_t>(column)];
    };
    for (Slot& slot : schedule.slots) {
      for (SlotItem& item : slot.items) item.column = number(item.column);
    }
    for (LocalMove& move : schedule.local_moves) move.column = number(move.column);
    plan_.schedules.push_back(std::move(schedule));
    return {};
  };
  return ForParts(SectionKind::kRank, static_cast<std::uint32_t>(rank), true, decode);
}

Result<void> Decoder::DecodeScheduleSections() {
  const auto schedule = [this](std::string_view bytes, const SectionContext& context) {
    return codec::DecodeSchedule(bytes, context, plan_);
  };
  const auto transfers = [this](std::string_view bytes, const SectionContext& context) {
    return codec::DecodeTransfers(bytes, context, plan_.transfers);
  };
  Result<void> done = ForParts(SectionKind::kSchedule, 0, true, schedule);
  if (done) done = ForParts(SectionKind::kTransfers, 0, false, transfers);
  for (std::size_t rank = 0; done && rank < plan_.job.ranks.size(); ++rank) {
    done = DecodeRankSchedule(static_cast<RankIndex>(rank));
  }
  if (done) done = DecodeTrafficIfThere();
  return done;
}

Result<void> Decoder::DecodeTrafficIfThere() {
  const auto rows = FindSections(table_, SectionKind::kTraffic, 0, place_);
  if (!rows) return tl::unexpected(rows.error());
  if (rows->empty()) return {};
  plan_.traffic.emplace();
  return ForParts(SectionKind::kTraffic, 0, true,
                  [this](std::string_view bytes, const SectionContext& context) {
                    return codec::DecodeTraffic(bytes, context, *plan_.traffic);
                  });
}

// What a rank reads is its own section, what is verified is the plan: they must say the same.
Result<void> Decoder::CheckRankSections() {
  RankSections sections(plan_);
  for (std::size_t rank = 0; rank < plan_.job.ranks.size(); ++rank) {
    const auto rows =
        FindSections(table_, SectionKind::kRank, static_cast<std::uint32_t>(rank), place_);
    if (!rows) return tl::unexpected(rows.error());
    const SectionRow& row = rows->front();
    if (bytes_.substr(row.offset, row.size) != sections.Of(static_cast<RankIndex>(rank))) {
      return InputError(
          place_, fmt::format("the section of rank {} says something else than the plan", rank),
          "write the plan again with reshard-compile");
    }
  }
  return {};
}

Result<Plan> Decoder::Decode() {
  Result<void> done = ReadTable();
  if (done) done = DecodeJob();
  if (done) done = DecodeLayouts();
  if (done) done = DecodeDemandAndPrograms();
  if (done) done = DecodeScheduleSections();
  if (done) {
    done = PlanIndicesFit(plan_);
    if (!done) done.error().place = place_ + ": " + done.error().place;
  }
  if (done) done = CheckRankSections();
  if (done && sections_read_ != table_.size()) {
    done = InputError(place_, "the plan has sections that belong to no layout or rank",
                      "write the plan again with reshard-compile");
  }
  if (!done) return tl::unexpected(done.error());
  return std::move(plan_);
}

}  // namespace

Result<std::string> EncodePlan(const Plan& plan) {
  if (auto fits = PlanIndicesFit(plan); !fits) return tl::unexpected(fits.error());
  ContainerWriter writer;
  writer.Add(SectionKind::kHeader, 0, 0, codec::EncodeHeader(plan));
  writer.Add(SectionKind::kJobText, 0, 0, plan.job_json);
  writer.Add(SectionKind::kTensors, 0, 0,
             codec::EncodeTensors(plan.job.tensors, plan.job.converted));
  writer.Add(SectionKind::kRanks, 0, 0, codec::EncodeRanks(plan.job.ranks));
  writer.Add(SectionKind::kInPlace, 0, 0, codec::EncodeInPlace(plan.job.in_place));
  const std::vector<RankLayout>& layouts = plan.job.layouts;
  for (std::uint32_t i = 0; i < layouts.size(); ++i) {
    writer.Add(SectionKind::kParameters, i, 0,
               codec::EncodeParameters(layouts[i].parameters, layouts[i].conversions));
  }
  for (std::uint32_t i = 0; i < layouts.size(); ++i) {
    AddParts(writer, SectionKind::kRegions, i, codec::EncodeRegions(layouts[i].regions));
  }
  writer.Add(SectionKind::kDemand, 0, 0, codec::EncodeDemand(plan.demand));
  AddParts(writer, SectionKind::kFragments, 0, codec::EncodeFragments(plan.demand.fragments));
  AddPrograms(plan, writer);
  writer.Add(SectionKind::kSchedule, 0, 0, codec::EncodeSchedule(plan));
  AddParts(writer, SectionKind::kTransfers, 0, codec::EncodeTransfers(plan.transfers));
  RankSections sections(plan);
  for (std::uint32_t rank = 0; rank < plan.job.ranks.size(); ++rank) {
    writer.Add(SectionKind::kRank, rank, 0, sections.Of(static_cast<RankIndex>(rank)));
  }
  if (plan.traffic) {
    writer.Add(SectionKind::kTraffic, 0, 0, codec::EncodeTraffic(*plan.traffic));
  }
  for (std::uint32_t i = 0; i < layouts.size(); ++i) {
    AddParts(writer, SectionKind::kZeros, i, codec::EncodeRegions(layouts[i].zeros));
  }
  return writer.Finish(kPlanSchemaVersion);
}

Result<Plan> DecodePlan(std::string_view bytes, const std::string& place) {
  return Decoder(bytes, place).Decode();
}

}  // namespace reshard
