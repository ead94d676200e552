/*
 * Recordings: the session files of libkymo (schema/), of one process or of many.
 */
#ifndef KYMO_IMPORT_RECORDING_RECORDING_H
#define KYMO_IMPORT_RECORDING_RECORDING_H

#include "import/import.h"

/* What a session file is, told by how it begins. */
enum session_file {
    SESSION_NONE,
    SESSION_EVENTS,
    SESSION_INFO,
    SESSION_CPU,
    SESSION_MEMORY,
    SESSION_FILES
};
enum session_file session_recognise(const uint8_t *data, size_t size);

/* The session files at a path: a file of one, a directory of one, or all below a directory; none
 * when there are none. Directories of programs that did not end their capture are in `rings`. */
bool recording_find(const char *path, path_list *files, path_list *rings, path_list *warnings,
                    struct error *err);

bool import_recording(const struct capture *capture, struct pool *pool, struct source **source,
                      struct error *err);

#endif
