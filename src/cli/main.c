/*
 * kymo: dispatches subcommands. Links in bin/compat with other tools' names run the same program.
 */
#include "cli/cli.h"
#include "store/tables/store.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static const struct command *const commands[] = {
    &command_inspect,    &command_view,      &command_serve,    &command_info,
    &command_sql,        &command_recommend, &command_stats,    &command_tool,
    &command_figures,    &command_diff,      &command_timeline, &command_convert,
    &command_recover,    &command_neff,      &command_capture,  &command_show_session,
    &command_nccom_test, &command_xprof,     &command_fleet};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

/* Options instead of a command. */
static const struct option options[] = {
    {"help", 'h', OPTION_FLAG, NULL, NULL, "lists the commands", NULL},
    {"show-profile-schema", 0, OPTION_FLAG, NULL, NULL, "describes the tables of a profile", NULL},
    {"version", 'v', OPTION_FLAG, NULL, NULL, "prints the version", NULL},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

/* Removes unfinished output before exiting. */
static void abandon_all(void)
{
    output_remove_unfinished();
    staging_abandon_now();
}

static void stop(int signal_number)
{
    abandon_all();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* SIGBUS: a mapped file was truncated while being read. */
static void file_shrank(int signal_number)
{
    static const char message[] =
        "FATA[0000] an input file was truncated while it was being read\n";
    ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
    (void)ignored, (void)signal_number;
    abandon_all();
    _exit(EXIT_FAILED);
}

static void catch_signals(void)
{
    static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof stopping / sizeof *stopping; i++)
        if (signal(stopping[i], stop) == SIG_IGN)
            signal(stopping[i], SIG_IGN); /* keep ignored, e.g. under nohup */
    signal(SIGBUS, file_shrank);
    signal(SIGXFSZ, SIG_IGN); /* write returns EFBIG instead */
    mem_set_exit_hook(abandon_all);
}

static void print_usage(FILE *out)
{
    fprintf(out,
            "Kymo %s, a profiler for machine learning on accelerators.\n\n"
            "usage: %s COMMAND [options]\n\ncommands:\n",
            KYMO_VERSION, program_name());
    int width = 0;
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if ((int)strlen(commands[i]->name) > width)
            width = (int)strlen(commands[i]->name);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-*s  %s\n", width, commands[i]->name, commands[i]->summary);
    fprintf(out, "\n  %s COMMAND --help         shows options and examples of a command\n",
            program_name());
    for (size_t i = 0; i < OPTION_COUNT; i++)
        fprintf(out, "  %s --%-20s %s\n", program_name(), options[i].name, options[i].help);
}

static int unknown_command(const char *word)
{
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i]->name;
    if (word[0] == '-') {
        const char *known[OPTION_COUNT];
        for (size_t i = 0; i < OPTION_COUNT; i++)
            known[i] = options[i].name;
        fprintf(stderr, "%s: unknown option %s\n", program_name(), word);
        suggest(word + strspn(word, "-"), known, OPTION_COUNT, "--");
    } else {
        fprintf(stderr, "%s: unknown command %s\n", program_name(), word);
        suggest(word, names, COMMAND_COUNT, "");
    }
    fprintf(stderr, "%s --help lists the commands\n", program_name());
    return EXIT_USAGE;
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i];
    return NULL;
}

/* Signal handlers come first, so that unfinished output is removed whatever happens. Started under
 * the name of a tool, such as nccom-test, it is that command without a word for it. */
int main(int count, char **arguments)
{
    child_adopt_signals();
    program_name_set(arguments[0]);
    catch_signals();
    if (is_compat_command(program_name()))
        return find_command(program_name())->run(count, arguments);
    if (count < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    const char *word = arguments[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_usage(stdout);
        return finish_printing();
    }
    if (is_version_option(word))
        return version_print();
    if (strcmp(word, "--show-profile-schema") == 0)
        return print_profile_schema();
    if (strcmp(word, "--generate") == 0) {
        const struct tool tool = {commands, COMMAND_COUNT, options, OPTION_COUNT};
        return generate(&tool, count - 1, arguments + 1);
    }
    if (strcmp(word, SQL_CHILD_COMMAND) == 0)
        return run_sql_child();
    const struct command *command = find_command(word);
    return command ? command->run(count - 1, arguments + 1) : unknown_command(word);
}
