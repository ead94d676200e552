/*
 * libkymo-server: lets XProf, TensorBoard, jax.collect_profile and `kymo capture --connect` record
 * this program while it runs. It serves tensorflow.ProfilerService (Profile, Terminate, Monitor) by
 * gRPC, as jax.profiler.start_server does; what is recorded is what libkymo records.
 *
 * There is no authentication: whoever reaches the port can record the program. It therefore listens
 * on loopback unless told otherwise, and never writes where a client says: profiles are sent. One
 * capture at a time, and none while the program is being recorded otherwise. The program `kymo`
 * turns recordings into profiles: the one that the variable KYMO names, or else beside this library
 * or in PATH.
 *
 * A child of fork does not serve, and may call kymo_serve itself. Link with -lkymo-server.
 */
#ifndef KYMO_SERVER_H
#define KYMO_SERVER_H

#include <stddef.h>

#include "kymo/kymo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins to serve, in a thread of its own with all signals blocked. host: a name or an address,
 * NULL for 127.0.0.1 and ::1; port 0: any that is free. Returns the port, or a negative errno:
 * -EALREADY when it serves already. */
KYMO_API int kymo_serve(const char *host, unsigned port);

/* Ends it: a capture in progress is dropped, connections are closed. Returns 0, or -EALREADY when
 * it does not serve. Not to be called from the functions below. */
KYMO_API int kymo_serve_stop(void);

/* Functions called in a thread of the server, after a capture has begun and before it ends; NULL
 * for none. `options` is the client's serialized tensorflow.ProfileOptions, valid during the call.
 * They are not called once the program exits. */
KYMO_API void kymo_serve_hooks(void (*start)(const void *options, size_t size), void (*stop)(void));

/* Another profiler that records beside libkymo: `begin` is called before a capture begins, with the
 * client's options, `end` after it has ended. What `end` writes to `path`, an XSpace of this
 * process, is merged into the profile; without a path there is none. In a thread of the server,
 * NULL for none, and not once the program exits. */
KYMO_API void kymo_serve_merged(void (*begin)(const void *options, size_t size),
                                void (*end)(const char *path));

/* The library is also a plug-in of XLA (GetPjrtApi) that has no device: loaded as such, it adds
 * what libkymo records to sessions of jax.profiler. These functions are then called in XLA's
 * thread, after the recording has begun and before it ends; NULL for none. */
KYMO_API void kymo_profiler_hooks(void (*start)(void), void (*stop)(void));

#ifdef __cplusplus
}
#endif

#endif
