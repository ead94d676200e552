/*
 * The routes of the API.
 */
#include "serve/handlers.h"

const struct route routes[] = {
    {"GET", "health", get_health, 0, NULL},
    {"GET", "profiles", list_profiles, 0, NULL},
    {"GET", "profiles/search", search_profiles, 0, NULL},
    {"GET", "profiles/*", get_profile, 0, NULL},
    {"PATCH", "profiles/*", patch_profile, SMALL_BODY, NULL},
    {"DELETE", "profiles/*", delete_profile, SMALL_BODY, NULL},
    {"POST", "profiles/*/process", process_profile, SMALL_BODY, NULL},
    {"GET", "profiles/*/summary", get_summary, 0, NULL},
    {"GET", "profiles/*/tracks", get_tracks, 0, NULL},
    {"POST", "profiles/*/timeline", post_timeline, MEDIUM_BODY, NULL},
    {"GET", "profiles/*/events/*/*", get_event, 0, NULL},
    {"GET", "profiles/*/search", get_search, 0, NULL},
    {"POST", "profiles/*/selection", post_selection, MEDIUM_BODY, NULL},
    {"POST", "profiles/*/flame", post_flame, MEDIUM_BODY, NULL},
    {"GET", "profiles/*/markers", list_markers, 0, NULL},
    {"GET", "profiles/*/markers/*", get_markers, 0, NULL},
    {"PUT", "profiles/*/markers/*", put_markers, MARKERS_BODY, NULL},
    {"DELETE", "profiles/*/markers/*", delete_markers, SMALL_BODY, NULL},
    {"GET", "profiles/*/tables", list_tables, 0, NULL},
    {"POST", "profiles/*/sql", post_sql, MEDIUM_BODY, NULL},
    {"GET", "tools", list_tools, 0, NULL},
    {"GET", "profiles/*/tools/*", get_tool, 0, NULL},
    {"GET", "diff", get_diff, 0, NULL},
    {"GET", "runs", list_fleet_runs, 0, NULL},
    {"GET", "runs/*/*", get_fleet_run, 0, NULL},
    {"GET", "runs/*/*/report", get_fleet_report, 0, NULL},
    {"GET", "runs/*/*/lanes", get_fleet_lanes, 0, NULL},
    {"GET", "runs/*/*/heatmap", get_fleet_heatmap, 0, NULL},
    {"GET", "runs/*/*/worst", get_fleet_worst, 0, NULL},
    {"GET", "runs/*/*/steps/*", get_fleet_step, 0, NULL},
    {"GET", "runs/*/*/steps/*/lanes", get_fleet_lanes_of_step, 0, NULL},
    {"GET", "profiles/*/export", get_export, 0, NULL},
    {"GET", "profiles/*/source", get_source, 0, NULL},
    {"POST", "db/*/_search", search_database, MEDIUM_BODY, NULL},
    {"GET", "captures", get_captures, 0, NULL},
    {"POST", "captures", post_capture, SMALL_BODY, NULL},
    {"GET", "uploads", list_uploads, 0, NULL},
    {"POST", "uploads", post_upload, SMALL_BODY, NULL},
    {"PUT", "uploads/*/files/**", put_file, 0, begin_file},
    {"POST", "uploads/*/process", process_upload, SMALL_BODY, NULL},
    {"DELETE", "uploads/*", delete_upload, SMALL_BODY, NULL},
};
const size_t route_count = sizeof routes / sizeof *routes;

const struct route plugin_routes[] = {
    {"GET", "runs", plugin_runs, 0, NULL},
    {"GET", "run_tools", plugin_run_tools, 0, NULL},
    {"GET", "hosts", plugin_hosts, 0, NULL},
    {"GET", "data", plugin_data, 0, NULL},
    {"GET", "data_csv", plugin_csv, 0, NULL},
    {"GET", "module_list", plugin_modules, 0, NULL},
    {"GET", "config", plugin_config, 0, NULL},
    {"GET", "version", plugin_version, 0, NULL},
    {"POST", "generate_cache", plugin_prepare, 0, NULL},
};
const size_t plugin_route_count = sizeof plugin_routes / sizeof *plugin_routes;
