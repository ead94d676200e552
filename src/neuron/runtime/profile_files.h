/*
 * The files of device profiles: NTFF, and the NEFF beside it. All functions are called with the
 * lock of profiles held.
 */
#ifndef KYMO_NEURON_RUNTIME_PROFILE_FILES_H
#define KYMO_NEURON_RUNTIME_PROFILE_FILES_H

#include "neuron/profile_file/ntff.h"
#include "neuron/runtime/model.h"

#include <limits.h>

struct writers { /* one file for each physical core of a logical one */
    struct ntff_writer *of[LOGICAL_MAX];
    /* Of a session: its capture, whether that ends, executions begun, and sinks that write. */
    uint64_t capture;
    bool is_over;
    uint32_t executions, open;
};

/* NULL: it cannot be made. */
struct ntff_writer *profile_file_create(const char *path, const struct model *model, uint32_t core);
NRT_STATUS profile_file_finish(struct ntff_writer *writer); /* or NULL */
NRT_STATUS profile_files_finish(struct writers *writers);
/* The NEFF beside its profiles, once. */
void profile_save_neff(const char *directory, const struct model *model, const char *suffix);
/* <hash>_instid_<i>_vnc_<c>.ntff, with the first i that is free. */
void profile_choose_path(char *path, size_t size, const char *directory, const struct model *model);
/* With those around it, which a session's own directory has not made when profiles go elsewhere. */
bool profile_make_directory(const char *path);
/* The session's, or where one would be: of executions that failed. */
bool profile_session_directory(char path[static PATH_MAX]);

#endif
