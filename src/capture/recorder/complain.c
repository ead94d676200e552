/*
 * Messages to the user: of a capture the first one alone, of its settings each.
 */
#include "capture/recorder/capture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_bool complained; /* in this capture */

void capture_may_complain(void)
{
    atomic_store(&complained, false);
}

void capture_complain(const struct error *err)
{
    if (!atomic_exchange(&complained, true))
        capture_warn(err);
}

void capture_warn(const struct error *err)
{
    char line[ERROR_LINE_SIZE], whole[ERROR_LINE_SIZE + 16];
    int size = snprintf(whole, sizeof whole, "kymo: %s\n", error_line(err, line));
    ssize_t ignored = write(STDERR_FILENO, whole, (size_t)size);
    (void)ignored;
}

/* The file is new and all zeros; it is too large to be put together on a thread's stack. */
