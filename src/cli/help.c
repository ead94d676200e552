/*
 * The help of a command: Kymo's, and under the names of the Neuron tools theirs, line by line as in
 * the guides.
 */
#include "cli/cli.h"

#include <stdio.h>

enum { HELP_COLUMN = 30 };

static void print_choices(const struct option *option, int column)
{
    if (!option->choices)
        return;
    printf("%*s", column, "");
    for (const char *const *choice = option->choices; *choice; choice++)
        printf("%s%s", choice == option->choices ? "one of: " : ", ", *choice);
    printf("\n");
}

static void print_option(const struct option *option)
{
    char left[64];
    int size = option->letter ? snprintf(left, sizeof left, "  -%c, ", option->letter)
                              : snprintf(left, sizeof left, "      ");
    bool is_maybe = option->kind == OPTION_MAYBE;
    size += snprintf(left + size, sizeof left - (size_t)size, "--%s%s%s%s", option->name,
                     !option->argument ? ""
                     : is_maybe        ? " ["
                                       : " ",
                     option->argument ? option->argument : "", is_maybe ? "]" : "");
    bool fits = size < HELP_COLUMN;
    printf("%s%s%*s%s\n", left, fits ? "" : "\n", fits ? HELP_COLUMN - size : HELP_COLUMN, "",
           option->help);
    print_choices(option, HELP_COLUMN);
}

static void print_own(const struct command *command, const struct option *options, size_t count)
{
    printf("%s\n\nusage: %s %s\n\noptions:\n", command->summary, command_title(command),
           command->usage);
    for (size_t i = 0; i < count; i++)
        print_option(&options[i]);
    printf("  -h, --help%*sshow this help\n\nexamples:\n", HELP_COLUMN - 12, "");
    for (const char *const *example = command->examples; *example; example++)
        printf("  %s %s\n", command_title(command), *example);
}

/* ---- As the Neuron tools print it ---------------------------------------------------------- */

enum { OPTION_INDENT = 6, WORD_INDENT = 2, LETTER_WIDTH = 4, GAP = 2 };

static void put_line(int indent, const char *left, int column, const char *right)
{
    int size = printf("%*s%s", indent, "", left);
    printf("%*s%s\n", size < column ? column - size : 1, "", right);
}

static void put_option(const struct option *option, int column, const char *words)
{
    char left[80];
    int size = option->letter ? snprintf(left, sizeof left, "-%c, ", option->letter)
                              : snprintf(left, sizeof left, "    ");
    snprintf(left + size, sizeof left - (size_t)size, "--%s%s", option->name,
             option->argument ? "=" : "");
    put_line(OPTION_INDENT, left, column, words);
    print_choices(option, column);
}

static const struct option *option_named(const struct option *options, size_t count,
                                         const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

/* The words that the guide of the called program has for an option; NULL: it does not list it. */
static const char *guide_words(const struct command *command, const char *option)
{
    const struct guide_option *guide = command->guide_options;
    for (; guide && guide->program; guide++)
        if (strcmp(guide->program, program_name()) == 0 && strcmp(guide->option, option) == 0)
            return guide->words;
    return NULL;
}

/* Where descriptions begin: behind the longest name, without the "=" of those with a value. */
static int column_for(const struct command *command, const struct option *options, size_t count,
                      bool is_listed)
{
    size_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(options[i].name);
        if (!guide_words(command, options[i].name) == !is_listed && size > longest)
            longest = size;
    }
    return OPTION_INDENT + LETTER_WIDTH + 2 + (int)longest + GAP;
}

/* Options that the guide lists come first, in its words; further ones are a group of their own, so
 * that those lines are the guide's to the letter. */
static void print_guides(const struct command *command, const struct option *options, size_t count)
{
    static const char kymos[] = "[options] ";
    size_t skipped = strncmp(command->usage, kymos, sizeof kymos - 1) == 0 ? sizeof kymos - 1 : 0;
    bool is_listed = command->guide_options;
    int column = column_for(command, options, count, is_listed);
    printf("Usage:\n  %s [OPTIONS] %s [%s-OPTIONS] %s\n\nApplication Options:\n", program_name(),
           command->name, command->name,
           is_listed ? command->guide_operand : command->usage + skipped);
    put_line(WORD_INDENT, "-v, --version", column, "Show version and exit");
    printf("\nHelp Options:\n");
    put_line(WORD_INDENT, "-h, --help", column, "Show this help message");
    printf("\n[%s command options]\n", command->name);
    for (const struct guide_option *guide = command->guide_options; guide && guide->program;
         guide++) {
        const struct option *option = option_named(options, count, guide->option);
        if (option && strcmp(guide->program, program_name()) == 0)
            put_option(option, column, guide->words);
    }
    if (is_listed) {
        printf("\n[%s command arguments]\n", command->name);
        put_line(WORD_INDENT, command->guide_argument, column, command->guide_argument_words);
        printf("\n[further options of Kymo]\n");
        column = column_for(command, options, count, false);
    }
    for (size_t i = 0; i < count; i++)
        if (!guide_words(command, options[i].name))
            put_option(&options[i], column, options[i].help);
}

void help_print(const struct command *command, const struct option *options, size_t count)
{
    (is_compat_name(program_name()) ? print_guides : print_own)(command, options, count);
}
