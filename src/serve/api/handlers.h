/*
 * Request handlers of all routes, internal to serve; documented in docs/api.md. A handler finds
 * what the request is about in request->subject, as its row in routes.c says; that stays open until
 * the handler returns.
 */
#ifndef KYMO_SERVE_API_HANDLERS_H
#define KYMO_SERVE_API_HANDLERS_H

#include "serve/runs/subjects.h"

/* About the number of a track that the profile does not have. */
#define UNKNOWN_TRACK "track %u not found"
/* Writes the key created of an entry of a list. */
void put_created(struct json *json, int64_t unix_ms);

/* Of routes.c. */
extern const struct router router;

handler get_health;
handler list_profiles, search_profiles, get_profile, patch_profile, delete_profile, process_profile;
handler get_summary;
handler get_tracks, post_timeline;
handler get_event, get_search, post_selection, post_flame;
handler list_markers, get_markers, put_markers, delete_markers;
handler list_tables, post_sql, search_database;
handler list_tools, list_profile_tools, get_tool;
handler list_figures, get_figures_query, get_run_figures_query;
handler get_diff;
handler get_diff_query;
handler list_fleet_runs, get_fleet_run, get_fleet_report, get_fleet_lanes, get_fleet_heatmap,
    get_fleet_worst, get_fleet_step, get_fleet_lanes_of_step;
handler get_export, get_source;
handler plugin_runs, plugin_run_tools, plugin_hosts, plugin_modules, plugin_data, plugin_csv,
    plugin_config, plugin_version, plugin_prepare, plugin_capture, plugin_trace;
handler get_captures, post_capture;
/* Over the network. */
bool captures_are_allowed(const struct server *server);
handler post_upload, begin_file, put_file, process_upload, delete_upload, list_uploads;

#endif
