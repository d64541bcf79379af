// Random copy and digest tables with the buffers they fit, and the plainest copy there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "kernels/content_digest.h"
#include "kernels/copy_table.h"

namespace reshard {

// A table of copies and zero fills over `base_bytes.size()` buffers of exactly those sizes. Sources
// overlap as they like; no byte is written twice, and none that is read: the first half of the
// buffers is read, the other half written.
struct RandomCopies {
  CopyTable table;
  std::vector<std::int64_t> base_bytes;
};

// `rows` rows of 0 to 6 dims in any order of strides, runs from 1 byte to some 10 KiB with all
// alignments; now and then a row of a megabyte.
RandomCopies DrawCopies(int rows, std::mt19937_64& random);

struct RandomDigests {
  DigestTable table;
  std::vector<std::int64_t> base_bytes;
};
// `boxes` boxes of 0 to 5 dims, elements of 1 to 8 bytes at any alignment, some of no element.
RandomDigests DrawDigests(int boxes, std::mt19937_64& random);

// Random bytes in a buffer that ends where its allocation ends and begins `skew` bytes after an
// address aligned to 16.
class SkewedBuffer {
 public:
  SkewedBuffer(std::int64_t bytes, std::size_t skew, std::mt19937_64& random);
  std::byte* data() { return storage_.data() + skew_; }
  std::span<const std::byte> bytes() const { return std::span(storage_).subspan(skew_); }
  std::size_t skew() const { return skew_; }
  std::span<const std::byte> storage() const { return storage_; }  // skew() bytes, then bytes()
  bool operator==(const SkewedBuffer&) const = default;

 private:
  std::size_t skew_;
  std::vector<std::byte> storage_;
};

// Buffers of `base_bytes`, each at a skew of its own.
std::vector<SkewedBuffer> DrawBuffers(std::span<const std::int64_t> base_bytes,
                                      std::mt19937_64& random);
std::vector<std::byte*> BasesOf(std::vector<SkewedBuffer>& buffers);

// What a copy table means, one byte at a time.
void CopyByteByByte(const CopyTable& table, std::span<std::byte* const> bases);

}  // namespace reshard
