/*
 * kymo --generate: manual pages and shell completions, generated from the same tables as the help.
 * The build calls it; completions call it for profile names.
 */
#include "cli/cli.h"
#include "store/tables/store.h"

#include <stdio.h>

const char *const compat_names[] = {"neuron-profile", "neuron-explorer", NULL};
const char *const compat_commands[] = {"nccom-test", "xprof", NULL};

bool is_compat_command(const char *name)
{
    for (const char *const *command = compat_commands; *command; command++)
        if (strcmp(*command, name) == 0)
            return true;
    return false;
}

static enum word_kind kind_of(struct text name)
{
    static const struct {
        const char *name;
        enum word_kind kind;
    } kinds[] = {
        {"FILE", WORD_FILE},       {"PATH", WORD_FILE},     {"CAPTURE", WORD_FILE},
        {"DIR", WORD_DIRECTORY},   {"FILE|DIR", WORD_FILE}, {"PROFILE", WORD_PROFILE},
        {"COMMAND", WORD_COMMAND}, {"DATASET", WORD_FILE},
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

static bool print_profiles(const char *data_path, struct error *err)
{
    profile_names names;
    char **name;
    bool ok = profile_list(data_path, &names, err);
    array_each (name, &names)
        printf("%s\n", *name);
    profile_names_free(&names);
    return ok;
}

static bool write_completion(const struct tool *tool, const char *path,
                             void (*complete)(const struct tool *, struct output *),
                             struct error *err)
{
    struct output out;
    if (!output_open(&out, path, err))
        return false;
    complete(tool, &out);
    return output_commit(&out, err);
}

/* Not in the help: for the build, packagers and the completions themselves, which call it for
 * profile names. */
int generate(const struct tool *tool, int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "", *where = count > 2 ? arguments[2] : NULL;
    struct error err;
    bool ok;
    if (strcmp(what, "man") == 0 && count == 3) {
        ok = manual_write(tool, where, &err);
    } else if (strcmp(what, "profiles") == 0 && count <= 3) {
        ok = print_profiles(where, &err);
    } else if (strcmp(what, "bash") == 0 && count <= 3) {
        ok = write_completion(tool, where, completion_bash, &err);
    } else if (strcmp(what, "zsh") == 0 && count <= 3) {
        ok = write_completion(tool, where, completion_zsh, &err);
    } else if (strcmp(what, "fish") == 0 && count <= 3) {
        ok = write_completion(tool, where, completion_fish, &err);
    } else {
        fprintf(stderr, "usage: %s --generate man DIR | bash|zsh|fish [FILE] | profiles [DIR]\n",
                program_name());
        return EXIT_USAGE;
    }
    if (ok)
        return finish_printing();
    print_error(&err);
    return EXIT_FAILED;
}
