/*
 * kymo --generate: manual pages and shell completions, generated from the same tables as the help.
 * The build calls it; completions call it for profile names.
 */
#include "cli/cli.h"
#include "report/figures/figures.h"
#include "store/tables/store.h"

#include <stdio.h>

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

static bool write_figures(const char *path, struct error *err)
{
    struct output out;
    if (!output_open(&out, path, err))
        return false;
    figures_put_page(&out);
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
    } else if (strcmp(what, "environment") == 0 && count <= 3) {
        ok = environment_write(where, &err);
    } else if (strcmp(what, "figures") == 0 && count <= 3) {
        ok = write_figures(where, &err);
    } else if (strcmp(what, "profiles") == 0 && count <= 3) {
        ok = print_profiles(where, &err);
    } else if (strcmp(what, "bash") == 0 && count <= 3) {
        ok = write_completion(tool, where, completion_bash, &err);
    } else if (strcmp(what, "zsh") == 0 && count <= 3) {
        ok = write_completion(tool, where, completion_zsh, &err);
    } else if (strcmp(what, "fish") == 0 && count <= 3) {
        ok = write_completion(tool, where, completion_fish, &err);
    } else {
        fprintf(
            stderr,
            "usage: %s --generate man DIR | bash|zsh|fish|environment|figures [FILE] | profiles "
            "[DIR]\n",
            program_name());
        return EXIT_USAGE;
    }
    if (ok)
        return finish_printing();
    print_error(&err);
    return EXIT_FAILED;
}
