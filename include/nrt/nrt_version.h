/*
 * nrt_version.h: the version of the runtime.
 */
#ifndef NRT_NRT_VERSION_H
#define NRT_NRT_VERSION_H

#include <nrt/nrt_status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define RT_VERSION_DETAIL_LEN 128
#define GIT_HASH_LEN          64

typedef struct nrt_version {
    uint64_t rt_major, rt_minor, rt_patch, rt_maintenance;
    char rt_detail[RT_VERSION_DETAIL_LEN];
    char git_hash[GIT_HASH_LEN];
} nrt_version_t;

/* Fills in as much of *ver as fits in the size the caller passes. */
NRT_STATUS nrt_get_version(nrt_version_t *ver, size_t size);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
