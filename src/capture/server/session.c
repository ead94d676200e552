/*
 * A child of fork does not go on with a recording of its parent: its part would never be asked for.
 */
#include "capture/server/session.h"

#include "capture/server/limits.h"
#include "kymo/kymo.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TREE_DESCRIPTORS = 8 };

static atomic_bool is_recorder_ours; /* libkymo records for a session */

/* Runs after the recorder's own handler. */
static void stop_in_child(void)
{
    if (atomic_exchange(&is_recorder_ours, false))
        kymo_stop();
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, stop_in_child);
}

/* Private, and on disk: /tmp may be in memory. */
static bool make_folder(struct server_session *session, struct status *status)
{
    const char *place = secure_getenv("TMPDIR");
    int size = snprintf(session->folder, PATH_MAX, "%s/kymo-server.XXXXXX",
                        place && *place ? place : "/var/tmp");
    if (size < PATH_MAX && mkdtemp(session->folder)) {
        snprintf(session->other, sizeof session->other, "%s/other.xplane.pb", session->folder);
        return true;
    }
    int problem = errno;
    session->folder[0] = '\0';
    return status_set(status, GRPC_INTERNAL, "Cannot create a folder for temporary files: %s.",
                      strerror(problem));
}

/* Device profiles of a software runtime are files, not part of the XPlane: they go where Neuron's
 * guides have programs name a directory for them, unless the variables ask for none. */
static void ask_for_devices(struct kymo_options *options)
{
    const char *directory = secure_getenv("NEURON_RT_INSPECT_OUTPUT_DIR");
    bool is_named = directory && *directory;
    options->devices =
        kymo_devices_in_environment(is_named ? KYMO_DEVICES_MODEL : KYMO_DEVICES_NONE);
    options->devices_dir = is_named ? directory : "./output";
}

static bool start_recorder(struct server_session *session, int level, struct status *status)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct kymo_options options = KYMO_OPTIONS;
    options.output_dir = session->folder;
    options.level = level;
    options.cpu_util_ms = options.host_memory_ms = CAPTURE_SAMPLES_MS;
    ask_for_devices(&options);
    int problem = kymo_start(&options);
    if (problem == 0)
        atomic_store(&is_recorder_ours, true);
    pthread_once(&once, watch_forks);
    if (problem == 0 && kymo_session_dir(session->directory, PATH_MAX) < PATH_MAX)
        return true;
    if (problem == -EALREADY) {
        char there[256];
        kymo_session_dir(there, sizeof there);
        return status_set(status, GRPC_FAILED_PRECONDITION,
                          "The program is being recorded already, to %s.", there);
    }
    return status_set(status, GRPC_INTERNAL, "Cannot start the recording: %s.", strerror(-problem));
}

bool session_start(struct server_session *session, int level, struct status *status)
{
    *session = (struct server_session){0};
    if (make_folder(session, status) && start_recorder(session, level, status))
        return true;
    session_remove(session);
    return false;
}

/* The program may have ended the capture itself, and begun another. */
void session_stop(struct server_session *session)
{
    char now[PATH_MAX];
    if (atomic_exchange(&is_recorder_ours, false) &&
        kymo_session_dir(now, sizeof now) < sizeof now && strcmp(now, session->directory) == 0)
        kymo_stop();
}

bool session_convert(struct server_session *session, enum profile_use use, bool (*is_over)(void),
                     struct status *status)
{
    char log[PATH_MAX + 32];
    snprintf(session->profile, sizeof session->profile, "%s/profile.xplane.pb", session->folder);
    snprintf(log, sizeof log, "%s/log", session->folder);
    const struct profile_files files = {.session = session->directory,
                                        .other = access(session->other, F_OK) == 0 ? session->other
                                                                                   : NULL,
                                        .profile = session->profile,
                                        .log = log};
    return profile_make(&files, use, is_over, status);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    remove(path);
    return 0;
}

void session_remove(struct server_session *session)
{
    if (session->folder[0])
        nftw(session->folder, remove_entry, TREE_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    session->folder[0] = '\0';
}
