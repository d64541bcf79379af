// Streams, events, captures and graphs of the CUDA runtime.
#include <cuda_runtime_api.h>

#include <utility>

#include "tests/doubles/controls.h"
#include "tests/doubles/stream.h"

using reshard::doubles::CallsOfThisThread;
using reshard::doubles::Capture;
using reshard::doubles::CountLive;
using reshard::doubles::GraphNodes;
using reshard::doubles::InvalidateCaptures;
using reshard::doubles::IsThisThreadCapturing;
using reshard::doubles::Live;
using reshard::doubles::Marker;
using reshard::doubles::NodeIndex;
using reshard::doubles::Operation;
using reshard::doubles::Reach;
using reshard::doubles::TheProgress;
using reshard::doubles::Work;

struct CUgraph_st {
  std::shared_ptr<const GraphNodes> nodes;
};

struct CUgraphExec_st {
  std::shared_ptr<const GraphNodes> nodes;
  std::uint64_t launches = 0;
};

namespace {

// Waits in a stream for a marker of another.
class MarkerWait final : public Operation {
 public:
  explicit MarkerWait(std::shared_ptr<Marker> marker) : marker_(std::move(marker)) {}
  void Begin() override {}
  bool IsDone() const override { return marker_->reached; }

 private:
  std::shared_ptr<Marker> marker_;
};

cudaError_t RefuseInCapture() {
  InvalidateCaptures();
  return cudaErrorStreamCaptureUnsupported;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  ++CallsOfThisThread().allocations;
  *stream = new CUstream_st;
  CountLive(&Live::streams, 1);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  ++CallsOfThisThread().allocations;
  if (stream->IsCapturing()) stream->capture->invalidated = true;
  delete stream;
  CountLive(&Live::streams, -1);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ++CallsOfThisThread().synchronizations;
  if (IsThisThreadCapturing() || stream == nullptr || stream->IsCapturing()) {
    return RefuseInCapture();
  }
  stream->Drain();
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  ++CallsOfThisThread().queries;
  if (stream->IsCapturing()) return RefuseInCapture();
  return stream->IsIdle() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (event->capture != nullptr && !event->capture->ended) {
    if (stream->IsCapturing() && stream->capture != event->capture) {
      stream->capture->invalidated = true;
      event->capture->invalidated = true;
      return cudaErrorStreamCaptureMerge;
    }
    stream->capture = event->capture;
    stream->tail.insert(event->captured_tail.begin(), event->captured_tail.end());
    return cudaSuccess;
  }
  if (stream->IsCapturing()) {
    // A wait for something outside of the capture has no place in a graph.
    stream->capture->invalidated = true;
    return cudaErrorStreamCaptureIsolation;
  }
  ++CallsOfThisThread().records_and_waits;
  std::shared_ptr<Marker> marker;
  {
    const std::lock_guard lock(TheProgress().mutex);
    marker = event->marker;
  }
  if (marker == nullptr) return cudaSuccess;
  stream->Add([marker] { return std::make_shared<MarkerWait>(marker); });
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = !stream->IsCapturing()         ? cudaStreamCaptureStatusNone
            : stream->capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                           : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  ++CallsOfThisThread().allocations;
  *event = new CUevent_st;
  (*event)->measures_time = (flags & cudaEventDisableTiming) == 0;
  CountLive(&Live::events, 1);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  ++CallsOfThisThread().allocations;
  delete event;
  CountLive(&Live::events, -1);
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if (stream->IsCapturing()) {
    if ((flags & cudaEventRecordExternal) != 0) {
      stream->AddExternalRecord(event);
      return cudaSuccess;
    }
    event->capture = stream->capture;
    event->captured_tail = stream->tail;
    return cudaSuccess;
  }
  ++CallsOfThisThread().records_and_waits;
  event->capture.reset();
  auto marker = std::make_shared<Marker>();
  {
    const std::lock_guard lock(TheProgress().mutex);
    event->marker = marker;
  }
  stream->Add(Work([marker] { Reach(*marker); }));
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  ++CallsOfThisThread().queries;
  if (event->capture != nullptr && !event->capture->ended) return RefuseInCapture();
  const std::lock_guard lock(TheProgress().mutex);
  return event->marker == nullptr || event->marker->reached ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  ++CallsOfThisThread().queries;
  if (!start->measures_time || !end->measures_time) return cudaErrorInvalidResourceHandle;
  const std::lock_guard lock(TheProgress().mutex);
  if (start->marker == nullptr || end->marker == nullptr) return cudaErrorInvalidResourceHandle;
  if (!start->marker->reached || !end->marker->reached) return cudaErrorNotReady;
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->marker->when - start->marker->when).count();
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ++CallsOfThisThread().synchronizations;
  if (IsThisThreadCapturing()) return RefuseInCapture();
  std::unique_lock lock(TheProgress().mutex);
  const std::shared_ptr<Marker> marker = event->marker;
  if (marker == nullptr) return cudaSuccess;
  TheProgress().changed.wait(lock, [&marker] { return marker->reached; });
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  stream->Add(Work([=] { function(argument); }));
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream == nullptr) return cudaErrorStreamCaptureUnsupported;
  if (stream->IsCapturing()) return cudaErrorIllegalState;
  stream->capture = std::make_shared<Capture>();
  stream->capture->thread = std::this_thread::get_id();
  stream->tail.clear();
  reshard::doubles::BeginCaptureOfThisThread(stream->capture);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (!stream->IsCapturing()) return cudaErrorIllegalState;
  const std::shared_ptr<Capture> capture = std::exchange(stream->capture, nullptr);
  const std::set<NodeIndex> tail = std::exchange(stream->tail, {});
  if (capture->thread != std::this_thread::get_id()) return cudaErrorStreamCaptureWrongThread;
  capture->ended = true;
  if (capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (capture->IsUnjoined(tail)) return cudaErrorStreamCaptureUnjoined;
  ++CallsOfThisThread().allocations;
  *graph = new CUgraph_st{std::make_shared<const GraphNodes>(std::move(capture->nodes))};
  CountLive(&Live::graphs, 1);
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  if (IsThisThreadCapturing()) return RefuseInCapture();
  ++CallsOfThisThread().allocations;
  *executable = new CUgraphExec_st{graph->nodes};
  CountLive(&Live::executable_graphs, 1);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  ++CallsOfThisThread().allocations;
  delete graph;
  CountLive(&Live::graphs, -1);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  ++CallsOfThisThread().allocations;
  delete executable;  // a replay that runs keeps the nodes
  CountLive(&Live::executable_graphs, -1);
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  return IsThisThreadCapturing() ? RefuseInCapture() : cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->IsCapturing()) return RefuseInCapture();
  ++CallsOfThisThread().graph_launches;
  const std::uint64_t seed =
      reshard::doubles::GetControls().seed * 1000003 + executable->launches++;
  std::map<NodeIndex, std::shared_ptr<Marker>> records;
  for (std::size_t n = 0; n < executable->nodes->size(); ++n) {
    CUevent_st* const event = (*executable->nodes)[n].records;
    if (event == nullptr) continue;
    // The launch is the record: who waits for the event from now on waits for this replay.
    const std::lock_guard lock(TheProgress().mutex);
    event->marker = records[static_cast<NodeIndex>(n)] = std::make_shared<Marker>();
  }
  stream->Add([nodes = executable->nodes, records = std::move(records), seed] {
    return reshard::doubles::RunGraph(nodes, records, seed);
  });
  return cudaSuccess;
}

}  // extern "C"
