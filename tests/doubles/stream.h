// Streams and events of the doubles: a thread each that carries out what was queued, in order.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <set>

#include "tests/doubles/graph.h"
#include "tests/doubles/operation.h"

namespace reshard::doubles {

class StreamQueue;

}  // namespace reshard::doubles

// The names that cudaStream_t and cudaEvent_t point to.
struct CUstream_st {
  CUstream_st();
  CUstream_st(const CUstream_st&) = delete;
  CUstream_st& operator=(const CUstream_st&) = delete;
  // What was queued is still carried out.
  ~CUstream_st();

  // Queues it, or adds it to the capture as a node.
  void Add(reshard::doubles::OperationMaker maker);
  // Adds a record of `event` that every replay of the captured graph carries out.
  void AddExternalRecord(CUevent_st* event);
  bool IsCapturing();
  bool IsIdle() const;
  void Drain();  // waits until all that was queued is over

  std::shared_ptr<reshard::doubles::StreamQueue> queue;
  // While capturing: nodes that what is added next depends on.
  std::shared_ptr<reshard::doubles::Capture> capture;
  std::set<reshard::doubles::NodeIndex> tail;
};

struct CUevent_st {
  bool measures_time = false;
  std::shared_ptr<reshard::doubles::Marker> marker;  // of the last record outside of captures
  std::shared_ptr<reshard::doubles::Capture> capture;
  std::set<reshard::doubles::NodeIndex> captured_tail;
};

namespace reshard::doubles {

// Whether this thread is capturing, so that calls that may wait are not allowed.
bool IsThisThreadCapturing();
void BeginCaptureOfThisThread(const std::shared_ptr<Capture>& capture);
// Marks the captures of this thread as spoilt, as a call that is not allowed does.
void InvalidateCaptures();

}  // namespace reshard::doubles
