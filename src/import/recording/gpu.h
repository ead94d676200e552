/*
 * GPU activities of a recording as lanes: streams of devices, and API calls of threads.
 */
#ifndef KYMO_IMPORT_RECORDING_GPU_H
#define KYMO_IMPORT_RECORDING_GPU_H

#include "import/recording/gpu_file.h"
#include "import/recording/recording_passes.h"

struct gpu_target;

struct gpu;
/* Reads the definitions of gpu_trace.pb. */
struct gpu *gpu_open(struct recording *recording, uint32_t process);
void gpu_close(struct gpu *gpu);
/* Whether it was recorded in windows, not continuously. */
bool gpu_is_sampled(const struct gpu *gpu);
/* Its activities, and those that were dropped during the capture; none for NULL. */
struct drops gpu_drops(const struct gpu *gpu);
/* Other losses: damage, time between windows, samples. */
void gpu_messages(const struct gpu *gpu, struct catalog *catalog, uint32_t host);
bool gpu_take(struct gpu *gpu, const struct gpu_target *target);

#endif
