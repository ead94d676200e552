/*
 * kymo recover: writes session files from the recordings of killed programs.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static int recover(int count, char **arguments);

const struct command command_recover = {
    .name = "recover",
    .summary = "Convert a killed program's recording into session files (optional; view reads it "
               "directly).",
    .about = "A killed program leaves its recording in the directory rings/. This command converts "
             "it into the session files that the program would have written, and then removes "
             "rings/. It is optional: kymo view and other commands read rings/ directly, without "
             "changing it. All sessions below DIR are converted, except those of running programs.",
    .usage = "[options] DIR",
    .examples =
        (const char *const[]){
            "output",
            "output/i-0123456789abcdef0_pid_4711",
            NULL,
        },
    .run = recover,
};

static void print_done(const struct recovered *result)
{
    const struct record_summary *summary = &result->summary;
    uint64_t lost = summary->recorded - summary->kept;
    char line[ERROR_LINE_SIZE], number[32] = "none";
    if (lost > 0)
        snprintf(number, sizeof number, "%" PRIu64, lost);
    log_info("%s: process %u recovered, %" PRIu64 " event%s kept, %s lost", result->directory,
             summary->process, summary->kept, summary->kept == 1 ? "" : "s", number);
    if (summary->skipped > 0)
        log_warn("%s: %zu file%s could not be read, and " RECORD_RINGS "/ is kept: %s",
                 result->directory, summary->skipped, summary->skipped == 1 ? "" : "s",
                 error_line(&summary->first_skipped, line));
}

bool print_recovered(const recovered_list *list, enum log_level failure)
{
    bool all = true;
    const struct recovered *result;
    array_each (result, list) {
        char line[ERROR_LINE_SIZE];
        if (result->is_done)
            print_done(result);
        else
            log_line(failure, "%s", error_line(&result->error, line));
        all &= result->is_done;
    }
    return all;
}

static int recover_all(const char *path)
{
    struct error err;
    recovered_list list = {0};
    if (!recording_recover(path, INT64_MIN, &list, &err)) {
        recovered_free(&list);
        print_error(&err);
        return EXIT_FAILED;
    }
    if (list.count == 0)
        log_info("%s: nothing to recover", path);
    bool all = print_recovered(&list, LOG_ERROR);
    recovered_free(&list);
    return all ? EXIT_DONE : EXIT_FAILED;
}

static int recover(int count, char **arguments)
{
    const struct option table[] = {LOG_LEVEL_OPTION};
    const char *path = NULL;
    size_t operands;
    int result = options_read(&command_recover, table, sizeof table / sizeof *table, count,
                              arguments, &path, 1, &operands);
    if (result != EXIT_DONE)
        return result;
    if (operands == 0) {
        fprintf(stderr, "%s recover: name the directory of a capture\n", program_name());
        return EXIT_USAGE;
    }
    if (access(path, F_OK) == 0 && !file_is_directory(path)) {
        struct error err;
        error_in_file(&err, path, "not a directory; name the directory of a capture");
        print_error(&err);
        return EXIT_FAILED;
    }
    return recover_all(path);
}
