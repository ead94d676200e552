/*
 * Commands that compare two profiles, captures or runs of many ranks.
 */
#include "cli/on_diff.h"
#include "cli/on_run.h"

/* One side of a comparison: a profile, a capture, or a run of a dataset. */
struct compared {
    const char *place;
    unsigned kinds;
    char *dataset, *run; /* NULL: not a run */
    struct diff_side *side;
};

static bool read_profile(void *context, struct sql_connection *connection, const char *directory,
                         struct error *err)
{
    struct compared *one = context;
    (void)directory;
    return diff_read_profile(&one->side, one->place, connection, one->kinds, err);
}

static bool read_run(void *context, struct fleet_analysis *analysis, struct error *err)
{
    struct compared *one = context;
    bool ok = true;
    for (size_t i = 0; i < diff_run_table_count && ok; i++)
        ok =
            fleet_view_table(analysis, diff_run_tables[i].table, diff_run_tables[i].max_ranks, err);
    ok = ok && diff_read_run(&one->side, one->place, fleet_connection(analysis), err);
    if (!ok)
        fleet_advise(err);
    return ok;
}

static int read_side(const struct diff_of_two *call, struct compared *one)
{
    struct error err;
    if (!one->run)
        return on_tables(&(struct tables_call){.place = one->place,
                                               .data_path = call->data_path,
                                               .jobs = call->jobs,
                                               .run = read_profile,
                                               .context = one});
    int result = on_run(&(struct run_call){.options = {.dataset = one->dataset,
                                                       .run = one->run,
                                                       .data_path = call->data_path,
                                                       .threads = (unsigned)call->jobs},
                                           .run = read_run,
                                           .context = one},
                        &err);
    if (result == EXIT_INTERRUPTED)
        log_fatal("interrupted");
    else if (result != EXIT_DONE)
        print_error(&err);
    return result;
}

/* Finds out whether places name runs: both must, or none. */
static bool find_runs(struct compared compared[static 2])
{
    struct error err;
    for (size_t i = 0; i < 2; i++)
        if (fleet_find_run(compared[i].place, &compared[i].dataset, &compared[i].run, &err) ==
            RUN_PATH_FAILED) {
            print_error(&err);
            return false;
        }
    if (!compared[0].run == !compared[1].run)
        return true;
    const struct compared *run = &compared[compared[0].run ? 0 : 1];
    const struct compared *other = &compared[compared[0].run ? 1 : 0];
    log_error("%s is a run of many ranks and %s is not: compare a run with a run, or a profile "
              "with a profile",
              run->place, other->place);
    return false;
}

int on_diff(const struct diff_of_two *call)
{
    struct compared compared[2] = {{.place = call->places[0], .kinds = call->kinds},
                                   {.place = call->places[1], .kinds = call->kinds}};
    int result = find_runs(compared) ? EXIT_DONE : EXIT_FAILED;
    for (size_t i = 0; i < 2 && result == EXIT_DONE; i++)
        result = read_side(call, &compared[i]);
    if (result == EXIT_DONE) {
        struct diff *found = diff_compare(compared[0].side, compared[1].side);
        result = call->run(call->context, found);
        diff_free(found);
    }
    for (size_t i = 0; i < 2; i++) {
        diff_side_free(compared[i].side);
        mem_free(compared[i].dataset);
        mem_free(compared[i].run);
    }
    return result;
}
