/*
 * kymo: one program, by subcommand. Links with other tools' names in bin/compat call the same.
 */
#include "cli/cli.h"

#include <stdio.h>

static const struct command *const commands[] = {&command_view, &command_info};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void print_usage(FILE *out)
{
    fprintf(out,
            "Kymo %s, a profiler for machine learning on accelerators.\n\n"
            "usage: %s COMMAND [options]\n\ncommands:\n",
            KYMO_VERSION, program_name());
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out,
            "\n  %s COMMAND --help   explains a command, with examples\n"
            "  %s --version        prints the version\n",
            program_name(), program_name());
}

static int unknown_command(const char *word)
{
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i]->name;
    if (word[0] == '-') {
        static const char *const options[] = {"help", "version"};
        fprintf(stderr, "%s: unknown option %s\n", program_name(), word);
        suggest(word + strspn(word, "-"), options, 2, "--");
    } else {
        fprintf(stderr, "%s: unknown command %s\n", program_name(), word);
        suggest(word, names, COMMAND_COUNT, "");
    }
    fprintf(stderr, "%s --help lists the commands\n", program_name());
    return EXIT_USAGE;
}

int main(int count, char **arguments)
{
    program_name_set(arguments[0]);
    if (count < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    const char *word = arguments[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_usage(stdout);
        return finish_printing();
    }
    if (strcmp(word, "--version") == 0) {
        printf("kymo %s\n", KYMO_VERSION);
        return finish_printing();
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(word, commands[i]->name) == 0)
            return commands[i]->run(count - 1, arguments + 1);
    return unknown_command(word);
}
