/*
 * Every address of the API.
 */
#include "serve/handlers.h"

enum {
    SMALL = 64 << 10,
    MEDIUM = 1 << 20,
    MARKERS = 4 << 20,
};

const struct route routes[] = {
    {"GET", "health", get_health, 0, NULL},
    {"GET", "profiles", list_profiles, 0, NULL},
    {"GET", "profiles/search", search_profiles, 0, NULL},
    {"GET", "profiles/*", get_profile, 0, NULL},
    {"PATCH", "profiles/*", patch_profile, SMALL, NULL},
    {"DELETE", "profiles/*", delete_profile, SMALL, NULL},
    {"POST", "profiles/*/process", process_profile, SMALL, NULL},
    {"GET", "profiles/*/summary", get_summary, 0, NULL},
    {"GET", "profiles/*/tracks", get_tracks, 0, NULL},
    {"POST", "profiles/*/timeline", post_timeline, MEDIUM, NULL},
    {"GET", "profiles/*/events/*/*", get_event, 0, NULL},
    {"GET", "profiles/*/search", get_search, 0, NULL},
    {"POST", "profiles/*/selection", post_selection, MEDIUM, NULL},
    {"GET", "profiles/*/markers", list_markers, 0, NULL},
    {"GET", "profiles/*/markers/*", get_markers, 0, NULL},
    {"PUT", "profiles/*/markers/*", put_markers, MARKERS, NULL},
    {"DELETE", "profiles/*/markers/*", delete_markers, SMALL, NULL},
    {"GET", "profiles/*/tables", list_tables, 0, NULL},
    {"POST", "profiles/*/sql", post_sql, MEDIUM, NULL},
    {"GET", "profiles/*/export", get_export, 0, NULL},
    {"GET", "profiles/*/source", get_source, 0, NULL},
    {"POST", "db/*/_search", search_database, MEDIUM, NULL},
    {"GET", "uploads", list_uploads, 0, NULL},
    {"POST", "uploads", post_upload, SMALL, NULL},
    {"PUT", "uploads/*/files/**", put_file, 0, begin_file},
    {"POST", "uploads/*/process", process_upload, SMALL, NULL},
    {"DELETE", "uploads/*", delete_upload, SMALL, NULL},
};
const size_t route_count = sizeof routes / sizeof *routes;
