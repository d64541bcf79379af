// The kernels' own source, compiled for the host, against the host twins and a naive copy.
#include "kernels/cuda/copy_kernels.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/host_launch.h"
#include "tests/kernels/random_tables.h"

namespace reshard {

// A stream that does everything at once.
int RunOnStream(CUstream_st* /*stream*/, std::function<void()> work) {
  work();
  return 0;
}

namespace {

void RunCopyKernel(const CopyTable& table, const std::vector<std::byte*>& bases) {
  DeviceImage image;
  const TableLocation location = image.Add(table);
  EXPECT_EQ(LaunchCopies({image.bytes().data(), bases.data()}, location, nullptr), 0);
}

std::vector<std::uint64_t> RunDigestKernel(const DigestTable& table,
                                           const std::vector<std::byte*>& bases) {
  DeviceImage image;
  const TableLocation location = image.Add(table);
  std::vector<std::uint64_t> digests(static_cast<std::size_t>(table.size()), 0);
  EXPECT_EQ(LaunchDigests({image.bytes().data(), bases.data()}, location, digests.data(), nullptr),
            0);
  return digests;
}

TEST(CopyKernelsTest, RandomTablesEqualTheTwinAndTheNaiveCopy) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 40; ++trial) {
    const RandomCopies copies = DrawCopies(1 + trial, random);
    ASSERT_TRUE(CheckBounds(copies.table, copies.base_bytes));
    std::vector<SkewedBuffer> by_kernel = DrawBuffers(copies.base_bytes, random);
    std::vector<SkewedBuffer> by_twin = by_kernel;
    std::vector<SkewedBuffer> naive = by_kernel;
    RunCopyKernel(copies.table, BasesOf(by_kernel));
    RunCopies(copies.table, BasesOf(by_twin));
    CopyByteByByte(copies.table, BasesOf(naive));
    ASSERT_TRUE(by_kernel == naive) << "trial " << trial;
    ASSERT_TRUE(by_twin == naive) << "trial " << trial;
  }
}

// One run at every pair of alignments and many lengths: the words, what is before and after them.
TEST(CopyKernelsTest, EveryAlignmentOfARun) {
  std::mt19937_64 random(1);
  for (std::size_t source_skew = 0; source_skew < 16; ++source_skew) {
    for (std::size_t destination_skew = 0; destination_skew < 16; ++destination_skew) {
      for (const std::int64_t run : {1, 2, 15, 16, 17, 63, 64, 1023, 1025, 8192, 8200}) {
        CopyTable table;
        table.Add({0, 1, 0, 0, run, {}});
        SkewedBuffer source(run, source_skew, random);
        SkewedBuffer destination(run, destination_skew, random);
        RunCopyKernel(table, {source.data(), destination.data()});
        ASSERT_TRUE(std::ranges::equal(source.bytes(), destination.bytes()))
            << source_skew << " to " << destination_skew << ", " << run << " bytes";
      }
    }
  }
}

TEST(CopyKernelsTest, ACopyOntoItselfMovesNothing) {
  std::mt19937_64 random(2);
  SkewedBuffer buffer(100, 3, random);
  const SkewedBuffer before = buffer;
  const StridedDim dims[] = {{2, 50, 50}};
  CopyTable table;
  table.Add({0, 1, 1, 1, 40, dims});
  RunCopyKernel(table, {buffer.data(), buffer.data()});
  EXPECT_TRUE(buffer == before);
}

TEST(CopyKernelsTest, EmptyTablesLaunchNothing) {
  EXPECT_EQ(LaunchCopies({}, {}, nullptr), 0);
  EXPECT_EQ(LaunchDigests({}, {}, nullptr, nullptr), 0);
}

// Address space without memory behind it, until it is touched.
class SparseBuffer {
 public:
  explicit SparseBuffer(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~SparseBuffer() {
    if (exists()) munmap(data_, bytes_);
  }
  SparseBuffer(const SparseBuffer&) = delete;
  SparseBuffer& operator=(const SparseBuffer&) = delete;
  bool exists() const { return data_ != MAP_FAILED; }
  std::byte* data() { return static_cast<std::byte*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

// Every third byte of 24 GiB packed to 8 GiB: more than 2^32 runs, all offsets beyond 32 bits. Only
// the last two tiles are run, the rest would take minutes.
TEST(CopyKernelsTest, RunsAndOffsetsBeyond32Bits) {
  constexpr std::int64_t kRuns = (std::int64_t{1} << 33) + 5000;
  SparseBuffer source(std::size_t{3} * kRuns);
  SparseBuffer destination(kRuns);
  if (!source.exists() || !destination.exists()) GTEST_SKIP() << "no address space";
  const StridedDim dims[] = {{kRuns, 3, 1}};
  CopyTable table;
  table.Add({0, 1, 0, 0, 1, dims});
  DeviceImage image;
  TableLocation location = image.Add(table);
  location.tiles += (location.tile_count - 2) * std::int64_t{sizeof(TableTile)};
  location.tile_count = 2;
  const std::int64_t first = std::int64_t{1 << 20} * kCopyTileBytes - kCopyTileBytes;
  for (std::int64_t i = first; i < kRuns; ++i) source.data()[3 * i] = static_cast<std::byte>(i * 7);
  const std::vector<std::byte*> bases = {source.data(), destination.data()};
  ASSERT_EQ(LaunchCopies({image.bytes().data(), bases.data()}, location, nullptr), 0);
  for (std::int64_t i = first; i < kRuns; ++i) {
    ASSERT_EQ(destination.data()[i], static_cast<std::byte>(i * 7)) << i;
  }
  EXPECT_EQ(destination.data()[first - 1], std::byte{0});
}

// Two rows of long runs at strides of 3 GiB.
TEST(CopyKernelsTest, LongRunsFarApart) {
  constexpr std::int64_t kFar = std::int64_t{3} << 30;
  SparseBuffer source(2 * kFar + 4096);
  SparseBuffer destination(kFar + 4096);
  if (!source.exists() || !destination.exists()) GTEST_SKIP() << "no address space";
  for (std::int64_t i = 0; i < 4096; ++i) {
    for (std::int64_t r = 0; r < 3; ++r) {
      source.data()[r * kFar + i] = static_cast<std::byte>(i * (r + 3));
    }
  }
  const StridedDim dims[] = {{3, kFar, kFar / 2}};
  CopyTable table;
  table.Add({0, 1, 0, 0, 4096, dims});
  RunCopyKernel(table, {source.data(), destination.data()});
  for (std::int64_t i = 0; i < 4096; ++i) {
    for (std::int64_t r = 0; r < 3; ++r) {
      ASSERT_EQ(destination.data()[r * kFar / 2 + i], static_cast<std::byte>(i * (r + 3)));
    }
  }
}

TEST(CopyKernelsTest, RandomDigestsEqualTheTwin) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 40; ++trial) {
    const RandomDigests digests = DrawDigests(1 + trial, random);
    std::vector<SkewedBuffer> buffers = DrawBuffers(digests.base_bytes, random);
    const std::vector<std::byte*> bases = BasesOf(buffers);
    const std::vector<const std::byte*> read_only(bases.begin(), bases.end());
    ASSERT_EQ(RunDigestKernel(digests.table, bases), RunDigests(digests.table, read_only))
        << "trial " << trial;
  }
}

// The launch adds: digests over several launches are sums.
TEST(CopyKernelsTest, DigestsAreAdded) {
  std::mt19937_64 random(3);
  SkewedBuffer buffer(64, 0, random);
  const DigestDim dims[] = {{16, 1, 4}};
  DigestTable table;
  table.Add({1, 4, 0, 0, 0, dims});
  DeviceImage image;
  const TableLocation location = image.Add(table);
  const std::vector<std::byte*> bases = {buffer.data()};
  std::uint64_t digest = 0;
  for (int launch = 0; launch < 2; ++launch) {
    ASSERT_EQ(LaunchDigests({image.bytes().data(), bases.data()}, location, &digest, nullptr), 0);
  }
  const std::byte* const read_only[] = {buffer.data()};
  EXPECT_EQ(digest, 2 * RunDigests(table, read_only)[0]);
}

}  // namespace
}  // namespace reshard
