// How near the host twin comes to memcpy: pieces of a given size, scattered in the source, packed
// back to back, against one memcpy of as many bytes.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "kernels/copy_table.h"

namespace reshard {
namespace {

constexpr std::int64_t kTotalBytes = std::int64_t{64} << 20;  // well beyond the caches

void BM_Memcpy(benchmark::State& state) {
  const std::vector<std::byte> source(kTotalBytes, std::byte{1});
  std::vector<std::byte> destination(kTotalBytes);
  for (auto unused : state) {
    std::memcpy(destination.data(), source.data(), kTotalBytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * kTotalBytes);
}
BENCHMARK(BM_Memcpy)->Unit(benchmark::kMillisecond);

// One table row for each piece, as small fragments give.
void BM_PackPieces(benchmark::State& state) {
  const std::int64_t piece = state.range(0);
  const std::int64_t count = kTotalBytes / piece;
  std::vector<std::byte> source(kTotalBytes + 64 * count, std::byte{1});
  std::vector<std::byte> destination(kTotalBytes);
  CopyTable table;
  for (std::int64_t i = 0; i < count; ++i) {
    table.Add({0, 1, i * (piece + 64), i * piece, piece, {}});
  }
  std::byte* const bases[] = {source.data(), destination.data()};
  for (auto unused : state) {
    RunCopies(table, bases);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * kTotalBytes);
}
BENCHMARK(BM_PackPieces)->RangeMultiplier(4)->Range(256, 1 << 20)->Unit(benchmark::kMillisecond);

// One strided row for all pieces, as a column shard of a row-major matrix gives.
void BM_PackStrided(benchmark::State& state) {
  const std::int64_t piece = state.range(0);
  const std::int64_t count = kTotalBytes / piece;
  std::vector<std::byte> source(kTotalBytes * 2, std::byte{1});
  std::vector<std::byte> destination(kTotalBytes);
  const StridedDim dims[] = {{count, 2 * piece, piece}};
  CopyTable table;
  table.Add({0, 1, 0, 0, piece, dims});
  std::byte* const bases[] = {source.data(), destination.data()};
  for (auto unused : state) {
    RunCopies(table, bases);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * kTotalBytes);
}
BENCHMARK(BM_PackStrided)->RangeMultiplier(4)->Range(4, 1 << 20)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace reshard

BENCHMARK_MAIN();
