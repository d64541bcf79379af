#include <string>
#include <utility>
#include <vector>

#include "schedules/plan_sections.h"

namespace reshard::codec {
namespace {

void AddPhase(const TrafficPhase& phase, format::Traffic& message) {
  message.add_phase_repeats(phase.repeats);
  message.add_phase_launches(phase.launches);
  message.add_phase_host_synchronizations(phase.host_synchronizations);
  message.add_phase_barriers(phase.barriers);
  message.add_phase_is_send_receive(phase.is_send_receive);
  message.add_phase_chunk_bytes(phase.chunk_bytes);
  message.add_phase_flows(static_cast<std::uint32_t>(phase.flows.size()));
  message.add_phase_copies(static_cast<std::uint32_t>(phase.copies.size()));
  DeltaWriter from(message.mutable_flow_from_delta());
  DeltaWriter to(message.mutable_flow_to_delta());
  DeltaWriter bytes(message.mutable_flow_bytes_delta());
  DeltaWriter operations(message.mutable_flow_operations_delta());
  for (const TrafficFlow& flow : phase.flows) {
    from.Add(flow.from);
    to.Add(flow.to);
    bytes.Add(flow.bytes);
    operations.Add(flow.operations);
    message.add_flow_hop(flow.hop);
  }
  DeltaWriter rank(message.mutable_copy_rank_delta());
  for (const TrafficCopy& copy : phase.copies) {
    rank.Add(copy.rank);
    message.add_copy_packed(copy.packed_bytes);
    message.add_copy_unpacked(copy.unpacked_bytes);
  }
}

// Reads the phases of one message, one after another.
class PhaseReader {
 public:
  explicit PhaseReader(const format::Traffic& message) : message_(message) {}

  bool IsWhole() const {
    std::int64_t phases = 0;
    for (const std::uint32_t count : message_.stream_phases()) phases += count;
    std::int64_t flows = 0;
    for (const std::uint32_t count : message_.phase_flows()) flows += count;
    std::int64_t copies = 0;
    for (const std::uint32_t count : message_.phase_copies()) copies += count;
    return AllOfSize(phases, message_.phase_repeats(), message_.phase_launches(),
                     message_.phase_host_synchronizations(), message_.phase_barriers(),
                     message_.phase_is_send_receive(), message_.phase_chunk_bytes(),
                     message_.phase_flows(), message_.phase_copies()) &&
           AllOfSize(flows, message_.flow_from_delta(), message_.flow_to_delta(),
                     message_.flow_bytes_delta(), message_.flow_operations_delta(),
                     message_.flow_hop()) &&
           AllOfSize(copies, message_.copy_rank_delta(), message_.copy_packed(),
                     message_.copy_unpacked());
  }

  // Precondition: IsWhole(), and phases are left.
  TrafficPhase Next() {
    TrafficPhase phase;
    phase.repeats = message_.phase_repeats(phase_);
    phase.launches = message_.phase_launches(phase_);
    phase.host_synchronizations = message_.phase_host_synchronizations(phase_);
    phase.barriers = message_.phase_barriers(phase_);
    phase.is_send_receive = message_.phase_is_send_receive(phase_);
    phase.chunk_bytes = message_.phase_chunk_bytes(phase_);
    phase.flows.resize(message_.phase_flows(phase_));
    ReadFlows(phase.flows);
    phase.copies.resize(message_.phase_copies(phase_));
    ReadCopies(phase.copies);
    ++phase_;
    return phase;
  }
  bool ok() const { return ok_; }

 private:
  // Each phase's columns begin anew at 0.
  template <typename Number>
  Number Add(std::int64_t delta, std::int64_t& last) {
    last = WrappingAdd(delta, last);
    ok_ = ok_ && std::in_range<Number>(last);
    return static_cast<Number>(last);
  }

  void ReadFlows(std::vector<TrafficFlow>& flows) {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t bytes = 0;
    std::int64_t operations = 0;
    for (TrafficFlow& flow : flows) {
      flow.from = Add<RankIndex>(message_.flow_from_delta(flow_), from);
      flow.to = Add<RankIndex>(message_.flow_to_delta(flow_), to);
      flow.bytes = Add<std::int64_t>(message_.flow_bytes_delta(flow_), bytes);
      flow.operations = Add<std::int64_t>(message_.flow_operations_delta(flow_), operations);
      flow.hop = message_.flow_hop(flow_);
      ++flow_;
    }
  }

  void ReadCopies(std::vector<TrafficCopy>& copies) {
    std::int64_t rank = 0;
    for (TrafficCopy& copy : copies) {
      copy.rank = Add<RankIndex>(message_.copy_rank_delta(copy_), rank);
      copy.packed_bytes = message_.copy_packed(copy_);
      copy.unpacked_bytes = message_.copy_unpacked(copy_);
      ++copy_;
    }
  }

  const format::Traffic& message_;
  int phase_ = 0;
  int flow_ = 0;
  int copy_ = 0;
  bool ok_ = true;
};

Result<void> ReadOmissions(const format::Traffic& message, const SectionContext& context,
                           std::vector<Omission>& omissions) {
  auto reasons = ReadNames(message.omission_reason(), context);
  if (!reasons) return tl::unexpected(reasons.error());
  if (!AllOfSize(static_cast<std::int64_t>(reasons->size()), message.omission_tensor(),
                 message.omission_tensors(), message.omission_bytes())) {
    return context.Malformed("columns of omissions differ in length");
  }
  for (std::size_t i = 0; i < reasons->size(); ++i) {
    const int row = static_cast<int>(i);
    omissions.push_back({message.omission_tensor(row), message.omission_tensors(row),
                         std::move((*reasons)[i]), message.omission_bytes(row)});
  }
  return {};
}

}  // namespace

std::string EncodeTraffic(const Traffic& traffic) {
  format::Traffic message;
  NameWriter names(message.mutable_stream_name());
  // Only where there are several, so that other files stay as they were.
  if (!traffic.streams.empty() && traffic.streams.back().turn != 0) {
    for (const TrafficStream& stream : traffic.streams) message.add_stream_turn(stream.turn);
  }
  for (const TrafficStream& stream : traffic.streams) {
    names.Add(stream.name);
    message.add_stream_phases(static_cast<std::uint32_t>(stream.phases.size()));
    for (const TrafficPhase& phase : stream.phases) AddPhase(phase, message);
  }
  for (const std::int64_t bytes : traffic.staging_bytes) message.add_staging(bytes);
  for (const std::int64_t bytes : traffic.class_bytes) message.add_class_bytes(bytes);
  NameWriter reasons(message.mutable_omission_reason());
  for (const Omission& omission : traffic.omissions) {
    reasons.Add(omission.reason);
    message.add_omission_tensor(omission.tensor);
    message.add_omission_tensors(omission.tensors);
    message.add_omission_bytes(omission.bytes);
  }
  return Serialize(message);
}

Result<void> DecodeTraffic(std::string_view bytes, const SectionContext& context,
                           Traffic& traffic) {
  const auto message = Parse<format::Traffic>(bytes, context);
  if (!message) return tl::unexpected(message.error());
  auto names = ReadNames(message->stream_name(), context);
  if (!names) return tl::unexpected(names.error());
  PhaseReader phases(*message);
  const bool has_turns = !message->stream_turn().empty();  // older files have one turn
  if (!AllOfSize(static_cast<std::int64_t>(names->size()), message->stream_phases()) ||
      (has_turns && !AllOfSize(static_cast<std::int64_t>(names->size()), message->stream_turn())) ||
      !phases.IsWhole()) {
    return context.Malformed("columns of streams, phases, flows or copies differ in length");
  }
  for (std::size_t i = 0; i < names->size(); ++i) {
    TrafficStream stream{
        std::move((*names)[i]), {}, has_turns ? message->stream_turn(static_cast<int>(i)) : 0};
    for (std::uint32_t k = 0; k < message->stream_phases(static_cast<int>(i)); ++k) {
      stream.phases.push_back(phases.Next());
    }
    traffic.streams.push_back(std::move(stream));
  }
  if (!phases.ok()) return context.Malformed("a rank is beyond 2^31");
  traffic.staging_bytes.assign(message->staging().begin(), message->staging().end());
  traffic.class_bytes.assign(message->class_bytes().begin(), message->class_bytes().end());
  return ReadOmissions(*message, context, traffic.omissions);
}

}  // namespace reshard::codec
