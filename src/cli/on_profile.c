/*
 * Commands that ask the tables of a profile, or of a capture as if it were one.
 */
#include "cli/cli.h"
#include "store/tables/store.h"

#include <unistd.h>

static int on_directory(const struct tables_call *call, const char *directory)
{
    struct sql_database *database = NULL;
    struct sql_connection *connection = NULL;
    struct error err;
    bool interrupted = false;
    bool ok = sql_open_for(&database, directory, call->query, &err) &&
              sql_connect(&connection, database, &err);
    if (ok) {
        struct interrupt *interrupt = interrupt_start(connection);
        ok = call->run(call->context, connection, directory, &err);
        interrupted = interrupt_stop(interrupt);
        sql_disconnect(connection);
    }
    if (database)
        sql_close(database);
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
static int on_capture(const struct tables_call *call)
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
    int result = ok ? on_directory(call, target) : EXIT_FAILED;
    if (target)
        temporary_profile_end(target);
    return result;
}

int on_tables(const struct tables_call *call)
{
    struct error err;
    char *directory;
    if (call->is_directory)
        return on_directory(call, call->place);
    if (profile_find(call->data_path, call->place, &directory, &err)) {
        warn_of_drops(profile_drops(directory));
        int result = on_directory(call, directory);
        mem_free(directory);
        return result;
    }
    if (access(call->place, F_OK) == 0)
        return on_capture(call);
    print_error(&err);
    return EXIT_FAILED;
}

/* A call whose answer is written. */
struct writing {
    const struct profile_call *call;
    struct output out;
};

static bool write_answer(void *context, struct sql_connection *connection, const char *directory,
                         struct error *err)
{
    struct writing *writing = context;
    return writing->call->run(writing->call->context, connection, directory, &writing->out, err);
}

int on_profile(const struct profile_call *call)
{
    struct writing writing = {.call = call};
    struct error err;
    if (!output_open(&writing.out, call->file, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    int result = on_tables(&(struct tables_call){.place = call->place,
                                                 .data_path = call->data_path,
                                                 .query = call->query,
                                                 .is_directory = call->is_directory,
                                                 .jobs = call->jobs,
                                                 .run = write_answer,
                                                 .context = &writing});
    if (result != EXIT_DONE) {
        output_discard(&writing.out);
        return result;
    }
    if (output_commit(&writing.out, &err))
        return EXIT_DONE;
    print_error(&err);
    return EXIT_FAILED;
}
