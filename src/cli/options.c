/*
 * Parses GNU-style options; a table of options drives both the parser and the help (help.c).
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { MAX_OPTIONS = 64 };

const char *const log_levels[] = {"fatal", "error", "warn", "info", "debug", NULL};
const char *log_level = "info";

bool is_version_option(const char *word)
{
    return strcmp(word, "--version") == 0 || strcmp(word, "-v") == 0;
}

int version_print(void)
{
    printf("kymo %s\n", KYMO_VERSION);
    return finish_printing();
}

int finish_printing(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_DONE;
    log_fatal("standard output: cannot write: %s", strerror(errno));
    return EXIT_FAILED;
}

void suggest(const char *word, const char *const *candidates, size_t count, const char *prefix)
{
    const char *nearest = text_nearest(word, candidates, count);
    if (nearest)
        fprintf(stderr, "did you mean %s%s?\n", prefix, nearest);
}

size_t find_action(const struct command *command, const char *word, const char *const *actions,
                   size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, actions[i]) == 0)
            return i;
    fprintf(stderr, "%s %s: unknown action %s; the usage is %s %s %s\n", program_name(),
            command->name, word, program_name(), command->name, command->usage);
    suggest(word, actions, count, "");
    return count;
}

/* Whether the word begins with the name; dashes may be written as underscores, as other tools spell
 * some names. */
static bool begins_with(const char *word, const char *name)
{
    for (; *name; word++, name++)
        if (*word != *name && !(*word == '_' && *name == '-'))
            return false;
    return true;
}

/* Says why an option of the emulated tool is refused. */
static bool explain_refusal(const struct command *command, const char *word)
{
    const struct refusal *refusal = command->refusals;
    for (; refusal && refusal->option; refusal++) {
        size_t size = strlen(refusal->option);
        if (strncmp(word, "--", 2) == 0 && begins_with(word + 2, refusal->option) &&
            (word[2 + size] == '\0' || word[2 + size] == '=')) {
            fprintf(stderr, "%s: %.*s is not supported: %s\n", command_title(command),
                    (int)size + 2, word, refusal->reason);
            return true;
        }
    }
    return false;
}

static int unknown_option(const struct command *command, const struct option *options, size_t count,
                          const char *word)
{
    const char *names[MAX_OPTIONS];
    if (explain_refusal(command, word))
        return EXIT_USAGE;
    size_t known = 0;
    for (; known < count && known + 1 < MAX_OPTIONS; known++)
        names[known] = options[known].name;
    names[known++] = "help";
    fprintf(stderr, "%s: unknown option %s\n", command_title(command), word);
    const char *bare = word + strspn(word, "-");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(bare, "="), bare);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    suggest(name, names, known, "--");
    fprintf(stderr, "%s --help lists the options\n", command_title(command));
    return EXIT_USAGE;
}

static const struct option *find_option(const struct option *options, size_t count,
                                        const char *word)
{
    for (size_t i = 0; i < count; i++) {
        if (word[1] != '-') {
            if (options[i].letter && word[1] == options[i].letter)
                return &options[i];
            continue;
        }
        size_t size = strlen(options[i].name);
        if (begins_with(word + 2, options[i].name) &&
            (word[2 + size] == '\0' || word[2 + size] == '='))
            return &options[i];
    }
    return NULL;
}

static int wrong_choice(const struct command *command, const struct option *option,
                        const char *value)
{
    fprintf(stderr, "%s: invalid value '%s' for --%s; expected one of", command_title(command),
            value, option->name);
    size_t count = 0;
    for (; option->choices[count]; count++)
        fprintf(stderr, "%s %s", count ? "," : "", option->choices[count]);
    fprintf(stderr, "\n");
    suggest(value, option->choices, count, "");
    return EXIT_USAGE;
}

/* Lists keep pointers into the arguments, which live as long as the program. The log level takes
 * effect at once, so that later messages obey it. */
static int set_value(const struct command *command, const struct option *option, const char *value)
{
    if (option->kind == OPTION_TEXT) {
        *(const char **)option->value = value;
        return EXIT_DONE;
    }
    if (option->kind == OPTION_LIST) {
        struct text_list *list = option->value;
        if (list->count == list->max) {
            fprintf(stderr, "%s: --%s can be given at most %zu times\n", command_title(command),
                    option->name, list->max);
            return EXIT_USAGE;
        }
        list->items[list->count++] = value;
        return EXIT_DONE;
    }
    if (option->kind == OPTION_NUMBER) {
        char *end;
        errno = 0;
        unsigned long number = strtoul(value, &end, 10);
        if (errno || *end || *value < '0' || *value > '9') {
            fprintf(stderr, "%s: --%s takes a number, not '%s'\n", command_title(command),
                    option->name, value);
            return EXIT_USAGE;
        }
        *(unsigned long *)option->value = number;
        return EXIT_DONE;
    }
    for (const char *const *choice = option->choices; *choice; choice++)
        if (strcasecmp(*choice, value) == 0) {
            *(const char **)option->value = *choice;
            if (option->choices == log_levels)
                log_set_level((enum log_level)(choice - log_levels));
            return EXIT_DONE;
        }
    return wrong_choice(command, option, value);
}

static options_visitor *visitor;
static void *visitor_context;

void options_visit(const struct command *command, options_visitor *visit, void *context)
{
    char name[64], *arguments[] = {name, NULL};
    snprintf(name, sizeof name, "%s", command->name);
    visitor = visit;
    visitor_context = context;
    command->run(1, arguments);
    visitor = NULL;
}

/* True if called by options_visit: the options are shown, and the command returns as for wrong
 * ones. */
static bool is_visited(const struct command *command, const struct option *options, size_t count)
{
    if (!visitor)
        return false;
    visitor(command, options, count, visitor_context);
    return true;
}

static bool is_choice(const struct option *option, const char *word)
{
    for (const char *const *choice = option->choices; *choice; choice++)
        if (strcmp(*choice, word) == 0)
            return true;
    return false;
}

/* Parses one option and its value; advances *at if the value is the next word. */
static int read_option(const struct command *command, const struct option *option, int count,
                       char **arguments, int *at)
{
    const char *word = arguments[*at];
    const char *value = NULL;
    if (word[1] == '-')
        value = strchr(word, '=') ? strchr(word, '=') + 1 : NULL;
    else if (word[2] != '\0')
        value = word + 2;
    if (option->kind == OPTION_FLAG) {
        if (value) {
            fprintf(stderr, "%s: --%s takes no value\n", command_title(command), option->name);
            return EXIT_USAGE;
        }
        *(bool *)option->value = true;
        return EXIT_DONE;
    }
    if (option->kind == OPTION_MAYBE && !value) {
        bool is_given = *at + 1 < count && is_choice(option, arguments[*at + 1]);
        *(const char **)option->value = is_given ? arguments[++*at] : option->choices[0];
        return EXIT_DONE;
    }
    if (!value && *at + 1 < count)
        value = arguments[++*at];
    if (!value) {
        fprintf(stderr, "%s: --%s needs a value: %s\n", command_title(command), option->name,
                option->argument);
        return EXIT_USAGE;
    }
    return set_value(command, option, value);
}

/* Parses options up to the first word that is not one, at *at. */
static int read_options(const struct command *command, const struct option *options,
                        size_t option_count, int count, char **arguments, int *at, bool *is_behind)
{
    for (; *at < count; ++*at) {
        const char *word = arguments[*at];
        if (word[0] != '-' || word[1] == '\0')
            return EXIT_DONE;
        if (strcmp(word, "--") == 0) {
            *is_behind = true;
            ++*at;
            return EXIT_DONE;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            help_print(command, options, option_count);
            exit(finish_printing());
        }
        const struct option *option = find_option(options, option_count, word);
        if (!option && is_version_option(word))
            exit(version_print());
        if (!option)
            return unknown_option(command, options, option_count, word);
        int result = read_option(command, option, count, arguments, at);
        if (result != EXIT_DONE)
            return result;
    }
    return EXIT_DONE;
}

int options_read(const struct command *command, const struct option *options, size_t option_count,
                 int count, char **arguments, const char **operands, size_t max,
                 size_t *operand_count)
{
    *operand_count = 0;
    if (is_visited(command, options, option_count))
        return EXIT_USAGE;
    bool only_operands = false;
    for (int at = 1; at < count; at++) {
        int result = only_operands ? EXIT_DONE
                                   : read_options(command, options, option_count, count, arguments,
                                                  &at, &only_operands);
        if (result != EXIT_DONE || at >= count)
            return result;
        if (*operand_count == max) {
            fprintf(stderr, "%s: unexpected argument: %s\n", command_title(command), arguments[at]);
            return EXIT_USAGE;
        }
        operands[(*operand_count)++] = arguments[at];
    }
    return EXIT_DONE;
}

int options_read_before(const struct command *command, const struct option *options,
                        size_t option_count, int count, char **arguments, int *rest)
{
    bool ignored = false;
    *rest = 1;
    if (is_visited(command, options, option_count))
        return EXIT_USAGE;
    return read_options(command, options, option_count, count, arguments, rest, &ignored);
}
