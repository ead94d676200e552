/*
 * What the words of usages stand for, for shell completion, and the names that the program is
 * called by: its own and those of compatible tools.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

const char *const compat_names[] = {"neuron-profile", "neuron-explorer", NULL};
const char *const compat_commands[] = {"nccom-test", "xprof", NULL};

static bool is_listed(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

bool is_compat_name(const char *name)
{
    return is_listed(name, compat_names);
}

bool is_compat_command(const char *name)
{
    return is_listed(name, compat_commands);
}

static const char *called_as = "kymo";

const char *program_name(void)
{
    return called_as;
}

void program_name_set(const char *path)
{
    const char *slash = strrchr(path, '/');
    called_as = slash ? slash + 1 : path;
}

const char *command_title(const struct command *command)
{
    return title_of_command(command->name);
}

const char *title_of_command(const char *name)
{
    static char title[64];
    if (is_compat_command(called_as))
        return called_as;
    snprintf(title, sizeof title, "%.24s %.24s", called_as, name);
    return title;
}

static enum word_kind kind_of(struct text name)
{
    static const struct {
        const char *name;
        enum word_kind kind;
    } kinds[] = {
        {"FILE", WORD_FILE},
        {"PATH", WORD_FILE},
        {"CAPTURE", WORD_FILE},
        {"DIR", WORD_DIRECTORY},
        {"FILE|DIR", WORD_FILE},
        {"PROFILE", WORD_PROFILE},
        {"PROFILE|DATASET/RUN", WORD_PROFILE},
        {"COMMAND", WORD_COMMAND},
        {"DATASET", WORD_FILE},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_equal(name, text_of(kinds[i].name)))
            return kinds[i].kind;
    return WORD_FREE;
}

enum word_kind value_of(const struct option *option)
{
    return option->choices ? WORD_CHOICE : kind_of(text_of(option->argument));
}

enum word_kind operand_of(const struct command *command)
{
    const char *word = command->usage + strcspn(command->usage, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return kind_of((struct text){word, strcspn(word, " ]")});
}

bool has_first_words(const struct command *command)
{
    return command->usage[0] >= 'a' && command->usage[0] <= 'z';
}

void put_first_words(const struct command *command, struct output *out)
{
    for (const char *at = command->usage; *at && *at != ' '; at++)
        output_char(out, *at == '|' ? ' ' : *at);
}
