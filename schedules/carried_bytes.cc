#include "schedules/carried_bytes.h"

#include <cstddef>

namespace reshard {
namespace {

std::int64_t BytesOf(const Plan& plan, const Transfer& transfer) {
  const Slot& slot = plan.schedules[static_cast<std::size_t>(transfer.to)]
                         .slots[static_cast<std::size_t>(transfer.destination.slot)];
  std::int64_t bytes = 0;
  for (std::int32_t k = 0; k < transfer.destination.item_count; ++k) {
    const Column& column = plan.columns[static_cast<std::size_t>(
        slot.items[static_cast<std::size_t>(transfer.destination.first_item + k)].column)];
    bytes += column.end - column.begin;
  }
  return bytes;
}

}  // namespace

std::vector<CarriedBytes> ListCarriedBytes(const Plan& plan) {
  std::vector<CarriedBytes> carried;
  carried.reserve(plan.transfers.size());
  for (const Transfer& transfer : plan.transfers) {
    carried.push_back({transfer.from, transfer.to, BytesOf(plan, transfer), 1});
  }
  if (!plan.traffic) return carried;
  for (const TrafficStream& stream : plan.traffic->streams) {
    for (const TrafficPhase& phase : stream.phases) {
      for (const TrafficFlow& flow : phase.flows) {
        carried.push_back(
            {flow.from, flow.to, flow.bytes * phase.repeats, flow.operations * phase.repeats});
      }
    }
  }
  return carried;
}

}  // namespace reshard
