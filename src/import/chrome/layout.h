/*
 * Chrome trace JSON, between the passes: the processes and threads of a file, from its events and
 * metadata, which become tracks.
 */
#ifndef KYMO_IMPORT_CHROME_LAYOUT_H
#define KYMO_IMPORT_CHROME_LAYOUT_H

#include "import/chrome/chrome_passes.h"

struct chrome_process {
    struct chrome_id id;
    bool has_events, has_host_events, has_device_events;
    bool is_plane; /* JAX and TensorFlow: named as an XPlane; its id is not a process */
    uint32_t name;
    struct text device_label; /* "GPU 0" */
    bool has_sort_key;
    int64_t sort_key;
    arg_buffer args;
    uint32_t track, host_source, device_source; /* TRACK_NONE until created */
};

struct thread {
    bool has_stream, has_host_events;
    struct chrome_id stream; /* of its first event that names one */
    uint32_t name;
    bool has_sort_key;
    int64_t sort_key;
    arg_buffer args;
};

struct layout {
    struct catalog *catalog;
    struct chrome_source *source;
    uint32_t file, instance;
    const struct chrome_survey *survey;
    const struct chrome_profile *profile;
    struct intern process_ids, thread_ids; /* by the bytes of their ids; 0 is the empty string */
    ARRAY(struct chrome_process) processes;
    ARRAY(struct thread) threads;
    struct intern track_ids; /* lanes of the tables -> track */
    ARRAY(uint32_t) tracks;
    struct idmap series;    /* hash of a counter -> number of its series */
    struct output unused;   /* metadata of threads without events */
    uint32_t main_process;  /* the one that uses the devices */
    uint32_t plane_process; /* track */
};

/* Collects the content of lanes and metadata; the first six fields must be set. */
void layout_make(struct layout *layout);
void layout_free(struct layout *layout);

/* Created if missing; valid until the next one is created. */
struct chrome_process *layout_process(struct layout *layout, struct chrome_id pid);
struct thread *layout_thread(struct layout *layout, struct chrome_id pid, struct chrome_id tid);

/* Creates the lanes of the file, in file order. */
struct chrome_lane layout_lane(const struct layout *layout, size_t index);
/* The number of series of a lane's counter. */
uint32_t layout_series(const struct layout *layout, const struct chrome_lane *lane);

static inline struct chrome_id pid_of(const struct chrome_lane *lane)
{
    return (struct chrome_id){(enum chrome_id_form)lane->pid_form, lane->pid};
}

static inline struct chrome_id tid_of(const struct chrome_lane *lane)
{
    return (struct chrome_id){(enum chrome_id_form)lane->tid_form, lane->tid};
}

#endif
