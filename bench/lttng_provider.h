/*
 * The tracepoint of bench_lttng.c: an integer, as in KYMO_INSTANT("instant", ...).
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_provider.h"

#if !defined(KYMO_BENCH_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define KYMO_BENCH_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(bench, instant,
    LTTNG_UST_TP_ARGS(int64_t, i),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int64_t, i, i)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
