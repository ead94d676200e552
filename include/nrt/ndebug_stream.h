/*
 * ndebug_stream.h: what programs on a core print. One client a core; its descriptor is readable
 * when there are events.
 */
#ifndef NRT_NDEBUG_STREAM_H
#define NRT_NDEBUG_STREAM_H

#include <nrt/nrt_status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum { NDEBUG_STREAM_EVENT_TYPE_DEBUG_TENSOR_READ = 1 } ndebug_stream_event_type_t;

typedef struct ndebug_stream_event_header {
    uint64_t data_size;
    uint32_t type; /* ndebug_stream_event_type_t */
    char reserved[52];
} ndebug_stream_event_header_t;

typedef struct ndebug_stream_payload_debug_tensor_read {
    char prefix[512];
    uint32_t logical_nc_id;
    uint32_t pipe;
    char dtype[16];
    uint64_t shape[8];
    uint64_t data_size;
    char reserved[416];
    char data[];
} ndebug_stream_payload_debug_tensor_read_t;

/* NRT_RESOURCE when the core has a client already. */
NRT_STATUS nrt_debug_client_connect(int logical_nc_idx, int *stream_fd);
void nrt_debug_client_connect_close(int stream_fd);
/* NRT_QUEUE_EMPTY when there is none. The caller frees the payload. */
NRT_STATUS nrt_debug_client_read_one_event(int stream_fd, ndebug_stream_event_header_t *header,
                                           void **payload);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
