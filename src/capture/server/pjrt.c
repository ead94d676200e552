/*
 * Kymo as a profiler of JAX: a plug-in of PJRT that has no device, only the extension for
 * profilers. XLA calls it with every session of jax.profiler; what libkymo records meanwhile
 * becomes planes of the session. Layouts are those of pjrt_c_api.h, pjrt_c_api_profiler_extension.h
 * and profiler_c_api.h. XLA does not set the sizes in arguments, and calls collect_data once, with
 * no buffer.
 *
 * The functions run in the calling thread, which may hold Python's lock: nothing here waits for
 * another thread of the program.
 */
#include "base/wire/wire.h"
#include "capture/server/session.h"
#include "kymo/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEFAULT_LEVEL = 2, MAX_LEVEL = 3, EXTENSION_PROFILER = 1, API_MAJOR = 0, API_MINOR = 72 };

struct profiler {
    int level;
    bool is_recording;
    struct server_session session;
    struct status status;
    void *data; /* the profile, mapped */
    size_t size;
};

struct error_arguments {
    size_t struct_size;
    void *priv;
    struct status *error;
    union {
        struct {
            const char *message;
            size_t message_size;
        };
        int code;
    };
};

struct create_arguments {
    size_t struct_size;
    const char *options; /* a serialized tensorflow.ProfileOptions */
    size_t options_size;
    struct profiler *profiler;
};

struct profiler_arguments {
    size_t struct_size;
    struct profiler *profiler;
};

struct collect_arguments {
    size_t struct_size;
    struct profiler *profiler;
    uint8_t *buffer;
    size_t buffer_size;
};

struct profiler_api {
    size_t struct_size;
    void *priv;
    void (*error_destroy)(struct error_arguments *arguments);
    void (*error_message)(struct error_arguments *arguments);
    struct status *(*error_code)(struct error_arguments *arguments);
    struct status *(*create)(struct create_arguments *arguments);
    struct status *(*destroy)(struct profiler_arguments *arguments);
    struct status *(*start)(struct profiler_arguments *arguments);
    struct status *(*stop)(struct profiler_arguments *arguments);
    struct status *(*collect)(struct collect_arguments *arguments);
};
_Static_assert(sizeof(struct profiler_api) == 80, "jaxlib before 0.11 takes no other size");

struct extension {
    size_t struct_size;
    int type;
    struct extension *next;
};

struct profiler_extension {
    struct extension base;
    struct profiler_api *api;
    int64_t traceme_context_id;
};

struct api {
    size_t struct_size;
    struct extension *extensions;
    struct {
        size_t struct_size;
        struct extension *extensions;
        int major, minor;
    } version;
};

static void (*_Atomic start_hook)(void);
static void (*_Atomic stop_hook)(void);

void kymo_profiler_hooks(void (*start)(void), void (*stop)(void))
{
    atomic_store(&start_hook, start);
    atomic_store(&stop_hook, stop);
}

static void error_destroy(struct error_arguments *arguments)
{
    (void)arguments; /* errors are part of their profiler */
}

static void error_message(struct error_arguments *arguments)
{
    arguments->message = arguments->error->message;
    arguments->message_size = strlen(arguments->error->message);
}

static struct status *error_code(struct error_arguments *arguments)
{
    arguments->code = (int)arguments->error->code; /* those of gRPC are XLA's */
    return NULL;
}

static int level_of(const char *options, size_t size)
{
    struct pb_reader in = pb_read((const uint8_t *)options, size);
    struct pb_field field;
    uint64_t level = DEFAULT_LEVEL;
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(2, PB_VARINT))
            level = field.value;
    return level < MAX_LEVEL ? (int)level : MAX_LEVEL;
}

/* Must not fail: XLA would go on with a pointer that was never set. */
static struct status *create(struct create_arguments *arguments)
{
    struct profiler *profiler = calloc(1, sizeof *profiler);
    if (profiler)
        profiler->level = level_of(arguments->options, arguments->options_size);
    arguments->profiler = profiler;
    return NULL;
}

/* kymo.profiler sets the variable while it starts a session of its own beside a recording. */
static bool is_turned_off(void)
{
    const char *value = getenv("KYMO_JAX_PLUGIN");
    return value && strcmp(value, "0") == 0;
}

/* A program that is being recorded by other means already has everything that would be recorded
 * here. */
static struct status *start(struct profiler_arguments *arguments)
{
    struct profiler *profiler = arguments->profiler;
    void (*hook)(void) = atomic_load(&start_hook);
    if (!profiler || is_turned_off())
        return NULL;
    profiler->is_recording = session_start(&profiler->session, profiler->level, &profiler->status);
    if (profiler->is_recording && hook)
        hook();
    bool is_error = !profiler->is_recording && profiler->status.code != GRPC_FAILED_PRECONDITION;
    return is_error ? &profiler->status : NULL;
}

static void stop_recording(struct profiler *profiler)
{
    void (*hook)(void) = atomic_load(&stop_hook);
    if (hook)
        hook();
    session_stop(&profiler->session);
    profiler->is_recording = false;
}

static struct status *stop(struct profiler_arguments *arguments)
{
    if (arguments->profiler && arguments->profiler->is_recording)
        stop_recording(arguments->profiler);
    return NULL;
}

static bool is_never_over(void)
{
    return false;
}

static bool map_profile(struct profiler *profiler)
{
    struct stat file;
    int fd = open(profiler->session.profile, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && fstat(fd, &file) == 0;
    if (ok && file.st_size > 0) {
        void *data = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        ok = data != MAP_FAILED;
        profiler->data = ok ? data : NULL;
        profiler->size = ok ? (size_t)file.st_size : 0;
    }
    int problem = errno;
    if (fd >= 0)
        close(fd);
    return ok || status_set(&profiler->status, GRPC_INTERNAL, "The profile cannot be read: %s.",
                            strerror(problem));
}

static struct status *collect(struct collect_arguments *arguments)
{
    static uint8_t nothing;
    struct profiler *profiler = arguments->profiler;
    bool ok = true;
    if (profiler && profiler->session.folder[0]) {
        ok =
            session_convert(&profiler->session, PROFILE_PLANES, is_never_over, &profiler->status) &&
            map_profile(profiler);
        session_remove(&profiler->session);
    }
    arguments->buffer = profiler && profiler->data ? profiler->data : &nothing;
    arguments->buffer_size = profiler ? profiler->size : 0;
    return ok ? NULL : &profiler->status;
}

static struct status *destroy(struct profiler_arguments *arguments)
{
    struct profiler *profiler = arguments->profiler;
    if (!profiler)
        return NULL;
    if (profiler->is_recording)
        stop_recording(profiler);
    session_remove(&profiler->session);
    if (profiler->data)
        munmap(profiler->data, profiler->size);
    free(profiler);
    return NULL;
}

static struct profiler_api profiler_api = {.struct_size = sizeof profiler_api,
                                           .error_destroy = error_destroy,
                                           .error_message = error_message,
                                           .error_code = error_code,
                                           .create = create,
                                           .destroy = destroy,
                                           .start = start,
                                           .stop = stop,
                                           .collect = collect};
static struct profiler_extension extension = {
    .base = {.struct_size = sizeof extension, .type = EXTENSION_PROFILER}, .api = &profiler_api};
static const struct api api = {
    .struct_size = sizeof api,
    .extensions = &extension.base,
    .version = {.struct_size = sizeof api.version, .major = API_MAJOR, .minor = API_MINOR}};

/* What XLA looks for in a plug-in. */
KYMO_API const struct api *GetPjrtApi(void)
{
    return &api;
}
