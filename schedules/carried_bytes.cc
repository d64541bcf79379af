#include "schedules/carried_bytes.h"

#include <cstddef>
#include <cstdint>

#include "foundation/checked_arithmetic.h"

namespace reshard {

std::int64_t TransferBytes(const Plan& plan, const Transfer& transfer) {
  const Slot& slot = plan.schedules[static_cast<std::size_t>(transfer.to)]
                         .slots[static_cast<std::size_t>(transfer.destination.slot)];
  std::int64_t bytes = 0;
  for (std::int32_t k = 0; k < transfer.destination.item_count; ++k) {
    const Column& column = plan.columns[static_cast<std::size_t>(
        slot.items[static_cast<std::size_t>(transfer.destination.first_item + k)].column)];
    bytes = CheckedAdd(bytes, column.end - column.begin).value_or(INT64_MAX);
  }
  return bytes;
}

std::vector<CarriedBytes> ListCarriedBytes(const Plan& plan) {
  std::vector<CarriedBytes> carried;
  carried.reserve(plan.transfers.size());
  for (const Transfer& transfer : plan.transfers) {
    carried.push_back({transfer.from, transfer.to, TransferBytes(plan, transfer), 1});
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
