/*
 * CPU and memory usage of the host, from /proc.
 */
#ifndef KYMO_CAPTURE_RECORDER_PROC_H
#define KYMO_CAPTURE_RECORDER_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROC_MOST_CPUS = 1024 };

/* Time since boot in the system's own unit; `id` is the CPU's number. */
struct proc_cpu {
    uint32_t id;
    uint64_t busy, total;
};
struct proc_cpus {
    struct proc_cpu all; /* of all of them together */
    struct proc_cpu cpu[PROC_MOST_CPUS];
    size_t count;
};

/* From /proc/stat; false when it cannot be read. */
bool proc_read_cpus(struct proc_cpus *cpus);
/* From the text of such a file. */
bool proc_parse_cpus(struct proc_cpus *cpus, const char *text);

struct proc_memory {
    uint64_t total_bytes, available_bytes;
};
bool proc_read_memory(struct proc_memory *memory);
bool proc_parse_memory(struct proc_memory *memory, const char *text);

#endif
