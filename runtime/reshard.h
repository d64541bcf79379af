/* Replay of a plan from C, or from any language that can call C (README shows Python's ctypes).
 *
 *   reshard_plan* plan = reshard_plan_open("job.reshard", rank);
 *   reshard_nccl* nccl = reshard_nccl_make(plan, id, sizeof id, 60.0);   all ranks together
 *   reshard_engine* engine = reshard_engine_on_nccl(plan, nccl, NULL);
 *   reshard_engine_bind_source(engine, name, pointer, bytes);            each parameter
 *   reshard_engine_bind_destination(engine, name, pointer, bytes);
 *   reshard_engine_prepare(engine);                                      all ranks together
 *   for each step:
 *     reshard_engine_replay(engine, version);                            returns at once
 *     reshard_engine_wait(engine, 10.0);                                 installed, or failed
 *
 * Functions that can fail return 0 for success, or null for a handle that was not made, and
 * otherwise what went wrong: 1 the input or the plan, 2 a call out of order, 3 a fault of the
 * library, 4 a run that failed; reshard_last_error() then says it in one line. Handles belong to
 * one thread at a time; those of different ranks are independent. Freeing null does nothing; any
 * other function that is passed a null it needs fails, those that return numbers with -1 (the
 * version: 0). Seconds beyond a year are a year. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RESHARD_API __attribute__((visibility("default")))
#else
#define RESHARD_API
#endif

typedef struct reshard_plan reshard_plan;     /* one rank's part of a plan */
typedef struct reshard_host reshard_host;     /* where ranks of one process meet, without a GPU */
typedef struct reshard_nccl reshard_nccl;     /* an NCCL communicator */
typedef struct reshard_engine reshard_engine; /* replays one rank's part */

/* Of the last call of this thread that failed; "" if none has. Valid until the next call. */
RESHARD_API const char* reshard_last_error(void);

/* Reads the sections of `rank` from the plan file, and nothing else of it. */
RESHARD_API reshard_plan* reshard_plan_open(const char* path, int32_t rank);
RESHARD_API void reshard_plan_free(reshard_plan* plan);
RESHARD_API int32_t reshard_plan_rank_count(const reshard_plan* plan);
/* 32 hexadecimal digits; valid as long as the plan. */
RESHARD_API const char* reshard_plan_digest(const reshard_plan* plan);
RESHARD_API int64_t reshard_plan_staging_bytes(const reshard_plan* plan);
/* The parameters to be bound; side 0 is the source, 1 the destination. Names are valid as long as
 * the plan, null where `index` is out of range; bytes are then -1. */
RESHARD_API int64_t reshard_plan_parameter_count(const reshard_plan* plan, int side);
RESHARD_API const char* reshard_plan_parameter_name(const reshard_plan* plan, int side,
                                                    int64_t index);
RESHARD_API int64_t reshard_plan_parameter_bytes(const reshard_plan* plan, int side, int64_t index);

/* Ranks of this process exchange through it; `workers` threads do the work (0: one per core). It
 * may be freed while engines use it: it goes with the last of them. */
RESHARD_API reshard_host* reshard_host_make(int32_t rank_count, int workers);
RESHARD_API void reshard_host_free(reshard_host* host);

/* Fills `id` (128 bytes) with an identity that one rank makes and hands to all others. */
RESHARD_API int reshard_nccl_unique_id(void* id, size_t bytes);
/* Collective: every rank of the plan, within `seconds`. Calls that need NCCL fail where the library
 * was built without it. */
RESHARD_API reshard_nccl* reshard_nccl_make(const reshard_plan* plan, const void* id, size_t bytes,
                                            double seconds);
/* Uses an ncclComm_t of the caller, best a non-blocking one. It stays the caller's unless a replay
 * fails: then it is aborted, at the latest when this handle and the engines on it are freed. */
RESHARD_API reshard_nccl* reshard_nccl_adopt(void* communicator);
RESHARD_API void reshard_nccl_free(reshard_nccl* nccl);

typedef struct reshard_nccl_options {
  size_t size;            /* sizeof(reshard_nccl_options), so that fields may be added */
  void* stream;           /* cudaStream_t on which refits are launched; null: one of its own */
  void* staging;          /* device memory to use; null: allocated */
  int64_t staging_bytes;  /* of `staging` */
  int eager;              /* 1: no graph */
  int ignore_placement;   /* 1: ranks may sit elsewhere than the plan believes */
  double prepare_seconds; /* deadline of reshard_engine_prepare; 0: a minute */
  /* Puts work onto the stream that derives more from what was installed; 0 for success. */
  int (*recompute)(void* stream, void* argument);
  void* recompute_argument;
} reshard_nccl_options;

RESHARD_API reshard_engine* reshard_engine_on_host(const reshard_plan* plan, reshard_host* host);
/* `options` may be null. */
RESHARD_API reshard_engine* reshard_engine_on_nccl(const reshard_plan* plan, reshard_nccl* nccl,
                                                   const reshard_nccl_options* options);
/* Stops a replay that runs. */
RESHARD_API void reshard_engine_free(reshard_engine* engine);

/* Memory of the caller, in place until the engine is freed. Before prepare, in any order. */
RESHARD_API int reshard_engine_bind_source(reshard_engine* engine, const char* name, void* data,
                                           int64_t bytes);
RESHARD_API int reshard_engine_bind_destination(reshard_engine* engine, const char* name,
                                                void* data, int64_t bytes);
/* Checks what was bound, allocates staging and, on NCCL, compares all ranks and captures. Allowed
 * once: memory that has moved, or another plan, is a new engine on every rank. */
RESHARD_API int reshard_engine_prepare(reshard_engine* engine);
/* Begins to install `version`, the same on all ranks, and returns at once. */
RESHARD_API int reshard_engine_replay(reshard_engine* engine, uint64_t version);
/* The same on `stream`, a cudaStream_t, and from then on. NCCL only. */
RESHARD_API int reshard_engine_replay_on(reshard_engine* engine, uint64_t version, void* stream);
/* Until the replay has ended, at most `seconds`; returns no later than a second after that. */
RESHARD_API int reshard_engine_wait(reshard_engine* engine, double seconds);
/* Gives up the replay that runs, if one does; within a second, and the engine replays no more. */
RESHARD_API int reshard_engine_abort(reshard_engine* engine);
/* A cudaEvent_t recorded in every refit when the last byte has left the source parameters; null on
 * the host and before prepare. */
RESHARD_API void* reshard_engine_source_released(const reshard_engine* engine);

enum {
  RESHARD_IDLE = 0,
  RESHARD_RUNNING = 1,
  RESHARD_INSTALLED = 2,            /* the destination parameters hold the version, whole */
  RESHARD_FAILED_MAYBE_MUTATED = 3, /* they may be part old, part new; no more replays */
  RESHARD_FAILED_ABANDONED = 4      /* and something may still write to them: never free them */
};
RESHARD_API int reshard_engine_state(const reshard_engine* engine);
/* Replayed last; in the installed state, the one the parameters hold. */
RESHARD_API uint64_t reshard_engine_version(const reshard_engine* engine);

/* One step of a lane in the last replay: when it ran, on the machine's steady clock. */
typedef struct reshard_step {
  int32_t lane; /* 0 pack, 1 exchange, 2 unpack */
  int32_t round;
  int64_t start_ns;
  int64_t end_ns;
} reshard_step;
/* Opt-in, after prepare: from the next replay on steps are timed. */
RESHARD_API int reshard_engine_record_steps(reshard_engine* engine);
/* How many steps are known of the last replay, in the installed state; the first `capacity` of
 * them, in the order of their ends, go to `steps`, which may be null for 0. */
RESHARD_API int64_t reshard_engine_steps(const reshard_engine* engine, reshard_step* steps,
                                         int64_t capacity);

#ifdef __cplusplus
}
#endif
