#include "compiler/layout/engines.h"

#include "compiler/layout/sglang_degrees.h"
#include "compiler/layout/vllm_degrees.h"

namespace reshard {

Result<std::int64_t> RanksPerEngine(std::string_view kind, const JsonCursor& fields,
                                    std::int64_t rank_count) {
  if (kind == "sglang") {
    return ReadSglangDegrees(fields, rank_count).map([&](const SglangDegrees& degrees) {
      return rank_count / degrees.replicas;
    });
  }
  if (kind != "vllm") return rank_count;
  return ReadVllmDegrees(fields, rank_count).map([&](const VllmDegrees& degrees) {
    return rank_count / degrees.engines;
  });
}

}  // namespace reshard
