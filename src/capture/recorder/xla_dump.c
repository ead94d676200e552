#include "capture/recorder/xla_dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char dump_to[] = "--xla_dump_to=";

/* Whether a dump's directory is that of a session beside this one: the parent process asked for it,
 * and this one has inherited its flags. */
static int is_of_parent(const char *directory, const char *session)
{
    const char *slash = strrchr(session, '/');
    return slash && strncmp(directory, session, (size_t)(slash - session) + 1) == 0;
}

void xla_dump_request(const char *session)
{
    const char *wanted = getenv("KYMO_HLO"), *flags = getenv("XLA_FLAGS");
    if (!wanted || strcmp(wanted, "1") != 0)
        return;
    if (!flags)
        flags = "";
    const char *known = strstr(flags, dump_to);
    if (known && !is_of_parent(known + strlen(dump_to), session))
        return;
    size_t before = known ? (size_t)(known - flags) : strlen(flags);
    const char *after = known ? known + strcspn(known, " \t\n") : "";
    size_t size = strlen(flags) + strlen(session) + 128;
    char *value = malloc(size);
    if (!value)
        return;
    snprintf(value, size, "%.*s%s%s%s/hlo%s%s", (int)before, flags, known || before == 0 ? "" : " ",
             dump_to, session, known ? "" : " --xla_dump_hlo_as_proto=true", after);
    setenv("XLA_FLAGS", value, 1);
    free(value);
}
