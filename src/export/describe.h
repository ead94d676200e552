/*
 * Inside export: writes the parts of a profile that several JSON documents share.
 */
#ifndef KYMO_EXPORT_DESCRIBE_H
#define KYMO_EXPORT_DESCRIBE_H

#include "base/wire/wire.h"
#include "export/export.h"

/* The name of the host a track belongs to. */
struct text host_of(const struct catalog *catalog, uint32_t track);

/* The type of framework events, and the group of a location, as in system_profile.json. */
enum { FRAMEWORK_EVENT = 99999, MAX_GROUP_NAME = 64 };
struct text location_group(const struct location *location, char name[static MAX_GROUP_NAME]);

/* The first fields of every document: "format", "start_epoch_ns", ... */
void put_profile_fields(struct json *json, const struct analysis *analysis);
void put_hosts(struct json *json, const struct catalog *catalog);
void put_messages(struct json *json, const struct catalog *catalog);
/* The symbol of a unit; empty for none. */
const char *counter_unit_name(enum counter_unit unit);
/* The analysis's findings, the costliest first. */
void put_findings_json(struct json *json, const struct analysis *analysis);
void put_findings_text(const struct analysis *analysis, const struct text_style *style,
                       struct output *out);
/* The summary of a profile, as an object. */
void put_summary(struct json *json, const struct analysis *analysis);
/* The metrics of a device profile, as an object. */
void put_device_summary(struct json *json, const struct device_analysis *analysis,
                        const char *version);
void put_args(struct json *json, const struct catalog *catalog, const struct arg_list *args);

#endif
