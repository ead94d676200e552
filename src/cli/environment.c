/*
 * The table of environment variables, and the page of the documentation that is made from it.
 */
#include "cli/cli.h"

#include <stdio.h>

#define EVERY_COMMAND NULL
#define NO_COMMAND    ""
#define VARIABLE(name, readers, commands, values, fallback, meaning)                               \
    {name, readers, commands, values, fallback, meaning},
const struct environment_variable environment_variables[] = {
#include "base/environment.def"
};
const size_t environment_count = sizeof environment_variables / sizeof *environment_variables;

static const char head[] =
    "# Environment variables\n"
    "\n"
    "Made from `src/base/environment.def` by `kymo --generate environment docs/environment.md`.\n"
    "\n"
    "Read by: `kymo`, the program; `recorder`, libkymo in a recorded program; `cuda`, libkymo-cuda "
    "in it; `nrt`, the runtime in software and\n"
    "libkymo-nrt; `server`, libkymo-server; `python`, the package; `build`, make and scripts.\n"
    "\n"
    "| variable | read by | values | default | meaning |\n"
    "|---|---|---|---|---|\n";

bool environment_write(const char *path, struct error *err)
{
    struct output out;
    if (!output_open(&out, path, err))
        return false;
    output_text(&out, head);
    for (size_t i = 0; i < environment_count; i++) {
        const struct environment_variable *one = &environment_variables[i];
        output_format(&out, "| `%s` | %s | %s | %s | %s |\n", one->name, one->readers, one->values,
                      one->fallback ? one->fallback : "", one->meaning);
    }
    return output_commit(&out, err);
}
