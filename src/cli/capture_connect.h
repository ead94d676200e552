/*
 * kymo capture --connect: options and run of captures over the network.
 */
#ifndef KYMO_CLI_CAPTURE_CONNECT_H
#define KYMO_CLI_CAPTURE_CONNECT_H

#include "cli/cli.h"

enum { CONNECT_SETTINGS_MAX = 64 };

struct connect_options {
    const char *addresses; /* NULL: no such capture */
    const char *directory;
    unsigned long duration_ms, timeout_s, retries, progress_fd;
    const char *texts[CONNECT_SETTINGS_MAX];
    struct text_list settings;
};
#define CONNECT_DEFAULTS                                                                           \
    {.directory = "./output", .duration_ms = 1000, .retries = 3, .progress_fd = ULONG_MAX}

#define CONNECT_OPTIONS(connect)                                                                   \
    {"connect",                                                                                    \
     0,                                                                                            \
     OPTION_TEXT,                                                                                  \
     &(connect).addresses,                                                                         \
     "ADDRESSES",                                                                                  \
     "HOST:PORT,...: capture from running programs that serve a profiler, such as with "           \
     "jax.profiler.start_server(PORT)",                                                            \
     NULL},                                                                                        \
        {"duration-ms", 0,                                                                         \
         OPTION_NUMBER, &(connect).duration_ms,                                                    \
         "MS",          "with --connect: how long to record (default: 1000)",                      \
         NULL},                                                                                    \
        {"options",                                                                                \
         0,                                                                                        \
         OPTION_LIST,                                                                              \
         &(connect).settings,                                                                      \
         "SETTINGS",                                                                               \
         "with --connect, KEY=VALUE,...: host_tracer_level, python_tracer_level, delay_ms and "    \
         "others; may be "                                                                         \
         "repeated",                                                                               \
         NULL},                                                                                    \
        {"output-dir", 'o',                                                                        \
         OPTION_TEXT,  &(connect).directory,                                                       \
         "DIR",        "with --connect: log directory for the session (default: ./output)",        \
         NULL},                                                                                    \
        {"timeout",                                                                                \
         0,                                                                                        \
         OPTION_NUMBER,                                                                            \
         &(connect).timeout_s,                                                                     \
         "S",                                                                                      \
         "with --connect: how long to wait for answers (default: the duration plus 120 s, or "     \
         "twice the duration)",                                                                    \
         NULL},                                                                                    \
        {"retries",                                                                                \
         0,                                                                                        \
         OPTION_NUMBER,                                                                            \
         &(connect).retries,                                                                       \
         "N",                                                                                      \
         "with --connect: retries for hosts that are busy or unreachable (default: 3)",            \
         NULL},                                                                                    \
    {                                                                                              \
        "progress-fd", 0, OPTION_NUMBER, &(connect).progress_fd, "FD",                             \
            "with --connect: write progress in percent to this file descriptor", NULL              \
    }
enum { CONNECT_OPTION_COUNT = 7 };

/* Captures; returns the exit code. */
int capture_connect(const struct connect_options *options);

#endif
