/*
 * Commands that ask the tables of a profile, or of a capture as if it were one.
 */
#include "cli/cli.h"
#include "store/store.h"

#include <unistd.h>

static bool connect_and_run(const struct profile_call *call, const char *directory,
                            bool *interrupted, struct output *out, struct error *err)
{
    struct sql_database *database = NULL;
    struct sql_connection *connection = NULL;
    bool ok = sql_open_for(&database, directory, call->query, err) &&
              sql_connect(&connection, database, err);
    if (ok) {
        struct interrupt *interrupt = interrupt_start(connection);
        ok = call->run(call->context, connection, directory, out, err);
        *interrupted = interrupt_stop(interrupt);
        sql_disconnect(connection);
    }
    if (database)
        sql_close(database);
    return ok;
}

int on_tables(const struct profile_call *call, const char *directory)
{
    struct output out;
    struct error err;
    bool interrupted = false;
    if (!output_open(&out, call->file, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    bool ok = connect_and_run(call, directory, &interrupted, &out, &err);
    if (!ok || interrupted)
        output_discard(&out);
    else
        ok = output_commit(&out, &err);
    if (interrupted)
        return EXIT_INTERRUPTED;
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

static bool process(struct session *session, const char *target, struct error *err)
{
    struct profile_options options = {
        .target = target, .version = KYMO_VERSION, .devices = import_device_cores(session->source)};
    struct progress *progress = progress_start(session->source, "writing");
    bool ok = profile_make(&options, &session->analysis, session->source, session->pool, err);
    progress_stop(progress);
    return ok;
}

/* The tables of a capture, in a directory for temporary files. */
static int on_capture(const struct profile_call *call)
{
    struct session session;
    struct error err;
    if (!session_open(&session, call->place, call->jobs))
        return EXIT_FAILED;
    char *target = temporary_profile_begin(mem_default_limits().directory, &err);
    bool ok = target && process(&session, target, &err);
    session_close(&session);
    if (!ok)
        print_error(&err);
    int result = ok ? on_tables(call, target) : EXIT_FAILED;
    if (target)
        temporary_profile_end(target);
    return result;
}

int on_profile(const struct profile_call *call)
{
    struct error err;
    char *directory;
    if (profile_find(call->data_path, call->place, &directory, &err)) {
        int result = on_tables(call, directory);
        mem_free(directory);
        return result;
    }
    if (access(call->place, F_OK) == 0)
        return on_capture(call);
    print_error(&err);
    return EXIT_FAILED;
}
