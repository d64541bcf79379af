#include <algorithm>

#include "schedules/plan_sections.h"

namespace reshard::codec {

void AddProfiles(std::span<const Profile> profiles, format::Profiles& message) {
  for (const Profile& profile : profiles) {
    std::uint32_t runs = 0;
    for (std::size_t k = 0; k < profile.weights.size(); ++k) {
      if (k > 0 && profile.weights[k] == profile.weights[k - 1]) {
        const int last = message.repeat_size() - 1;
        message.set_repeat(last, message.repeat(last) + 1);
        continue;
      }
      message.add_weight(profile.weights[k]);
      message.add_repeat(1);
      ++runs;
    }
    message.add_weight_runs(runs);
  }
}

Result<void> ReadProfiles(const format::Profiles& message, const SectionContext& context,
                          std::vector<Profile>& profiles) {
  std::int64_t runs = 0;
  for (const std::uint32_t count : message.weight_runs()) runs += count;
  if (!AllOfSize(runs, message.weight(), message.repeat())) {
    return context.Malformed("columns of profiles differ in length");
  }
  int run = 0;
  for (const std::uint32_t count : message.weight_runs()) {
    Profile profile;
    for (std::uint32_t i = 0; i < count; ++i, ++run) {
      if (!context.budget->Charge(std::int64_t{message.repeat(run)} * 4)) return context.TooLarge();
      profile.weights.insert(profile.weights.end(), message.repeat(run), message.weight(run));
    }
    profiles.push_back(std::move(profile));
  }
  return {};
}

void AddColumns(std::span<const Column> columns, format::Columns& message) {
  DeltaWriter demand_class(message.mutable_class_delta());
  DeltaWriter profile(message.mutable_profile_delta());
  DeltaWriter begin(message.mutable_begin_delta());
  for (const Column& column : columns) {
    demand_class.Add(column.demand_class);
    profile.Add(column.profile);
    begin.Add(column.begin);
    message.add_size(WrappingSubtract(column.end, column.begin));
    begin.Expect(column.end);
  }
}

Result<void> ReadColumns(const format::Columns& message, const SectionContext& context,
                         std::vector<Column>& columns) {
  const int count = message.size_size();
  if (!AllOfSize(count, message.class_delta(), message.profile_delta(), message.begin_delta())) {
    return context.Malformed("columns of columns differ in length");
  }
  DeltaReader demand_class(message.class_delta());
  DeltaReader profile(message.profile_delta());
  DeltaReader begin(message.begin_delta());
  for (int i = 0; i < count; ++i) {
    Column column{demand_class.Next<ClassIndex>(), profile.Next<ProfileIndex>(), begin.Next(), 0};
    column.end = WrappingAdd(column.begin, message.size(i));
    begin.Expect(column.end);
    columns.push_back(column);
  }
  if (!demand_class.ok() || !profile.ok()) return context.Malformed("a number out of range");
  return {};
}

std::string EncodeSchedule(const Plan& plan) {
  format::Schedule message;
  AddProfiles(plan.profiles, *message.mutable_profiles());
  AddColumns(plan.columns, *message.mutable_columns());
  return Serialize(message);
}

Result<void> DecodeSchedule(std::string_view bytes, const SectionContext& context, Plan& plan) {
  const auto message = Parse<format::Schedule>(bytes, context);
  if (!message) return tl::unexpected(message.error());
  if (auto done = ReadProfiles(message->profiles(), context, plan.profiles); !done) return done;
  return ReadColumns(message->columns(), context, plan.columns);
}

void RunWriter::Add(const SlotRun& run) {
  slot_.Add(run.slot);
  first_item_.Add(run.first_item);
  item_count_->Add(run.item_count);
  first_item_.Expect(std::int64_t{run.first_item} + run.item_count);
}

SlotRun RunReader::Next() {
  const std::int64_t count = message_.item_count(row_++);
  ok_ = ok_ && std::in_range<std::int32_t>(count);
  const SlotRun run{slot_.Next<SlotIndex>(), first_item_.Next<std::int32_t>(),
                    static_cast<std::int32_t>(count)};
  first_item_.Expect(std::int64_t{run.first_item} + run.item_count);
  return run;
}

std::vector<std::string> EncodeTransfers(const std::vector<Transfer>& transfers) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < transfers.size();
       begin += static_cast<std::size_t>(kRowsPerPart)) {
    const std::size_t end =
        std::min(begin + static_cast<std::size_t>(kRowsPerPart), transfers.size());
    format::Transfers message;
    DeltaWriter from(message.mutable_from_delta());
    DeltaWriter to(message.mutable_to_delta());
    RunWriter source(message.mutable_source());
    RunWriter destination(message.mutable_destination());
    for (std::size_t i = begin; i < end; ++i) {
      const Transfer& transfer = transfers[i];
      from.Add(transfer.from);
      to.Add(transfer.to);
      message.add_lag(transfer.lag);
      source.Add(transfer.source);
      destination.Add(transfer.destination);
    }
    parts.push_back(Serialize(message));
  }
  return parts;
}

Result<void> DecodeTransfers(std::string_view bytes, const SectionContext& context,
                             std::vector<Transfer>& transfers) {
  const auto message = Parse<format::Transfers>(bytes, context);
  if (!message) return tl::unexpected(message.error());
  const int count = message->lag_size();
  if (!AllOfSize(count, message->from_delta(), message->to_delta()) ||
      !RunReader::IsOfSize(count, message->source()) ||
      !RunReader::IsOfSize(count, message->destination())) {
    return context.Malformed("columns differ in length");
  }
  DeltaReader from(message->from_delta());
  DeltaReader to(message->to_delta());
  RunReader source(message->source());
  RunReader destination(message->destination());
  bool fits = true;
  for (int i = 0; i < count; ++i) {
    fits = fits && std::in_range<std::int32_t>(message->lag(i));
    transfers.push_back({from.Next<RankIndex>(), to.Next<RankIndex>(),
                         static_cast<std::int32_t>(message->lag(i)), source.Next(),
                         destination.Next()});
  }
  if (!fits || !from.ok() || !to.ok() || !source.ok() || !destination.ok()) {
    return context.Malformed("a number out of range");
  }
  return {};
}

}  // namespace reshard::codec
