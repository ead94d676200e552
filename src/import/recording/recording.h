/*
 * Recordings: imports the session files of libkymo (schema/), of one or more processes.
 */
#ifndef KYMO_IMPORT_RECORDING_RECORDING_H
#define KYMO_IMPORT_RECORDING_RECORDING_H

#include "import/import.h"

/* The type of a session file, recognized by its first bytes. */
enum session_file {
    SESSION_NONE,
    SESSION_EVENTS,
    SESSION_INFO,
    SESSION_CPU,
    SESSION_MEMORY,
    SESSION_GPU,
    SESSION_FILES
};
enum session_file session_recognize(const uint8_t *data, size_t size);

/* Finds the session files at a path: a session's file or directory, or all below a directory;
 * finding none is not an error. Directories of programs that did not end their capture go to
 * `rings`. */
bool recording_find(const char *path, path_list *files, path_list *rings, path_list *warnings,
                    struct error *err);

bool import_recording(const struct capture *capture, struct pool *pool, struct source **source,
                      struct error *err);

#endif
