/*
 * record: captures what a program does. The in-process part is libkymo, whose public header is
 * include/kymo/kymo.h; this header is for the tools that find what it left behind. ring.h describes
 * the files of a running capture, schema/ those of a finished one.
 *
 * Rings are not trusted: links are not followed, and only plain files of the recorder's names that
 * belong to the owner of the session's directory are opened.
 */
#ifndef KYMO_CAPTURE_RECORDER_RECORD_H
#define KYMO_CAPTURE_RECORDER_RECORD_H

#include "base/base.h"
#include "capture/recorder/ring.h"

#define RECORD_RINGS "rings" /* files of a capture that was not ended */

/* The files of a session. */
enum record_file {
    RECORD_EVENTS,
    RECORD_INFO,
    RECORD_CPU,
    RECORD_MEMORY,
    RECORD_GPU,
    RECORD_FILES
};

/* What is in rings. */
struct record_summary {
    uint32_t process;
    int64_t start_ns;        /* since the epoch */
    bool is_running;         /* its program still records: what was read is a snapshot */
    uint64_t recorded, kept; /* events; of what was read */
    size_t skipped;          /* files that were not read, or not to their end */
    struct error first_skipped;
};

/* Whether a session's directory has rings of a capture that was not ended. */
bool record_is_left_over(const char *directory);

/* The process that recorded; false when the rings cannot be read. */
bool record_examine(const char *directory, struct record_summary *summary, struct error *err);

/* Writes the session files that the rings make to files that are open and empty, by enum
 * record_file; a file that stays empty is not part of the session. Nothing in the directory is
 * changed. A program that still records is not disturbed. */
bool record_convert(const char *directory, const int files[static RECORD_FILES],
                    struct record_summary *summary, struct error *err);

/* Writes them to the directory, and removes the rings when they are safely there and no file was
 * skipped. Refuses while their program runs. */
bool record_recover(const char *directory, struct record_summary *summary, struct error *err);

#endif
