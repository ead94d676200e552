/*
 * Inside export: how the parts of a profile that several documents contain are written.
 */
#ifndef KYMO_EXPORT_DESCRIBE_H
#define KYMO_EXPORT_DESCRIBE_H

#include "export/export.h"
#include "wire/wire.h"

/* What a device calls itself, where the source says; else empty. */
struct text device_model(const struct catalog *catalog, uint32_t track);
/* The name of the host a track belongs to. */
struct text host_of(const struct catalog *catalog, uint32_t track);

/* The type of events of the framework, and the group of a location, in the published format's
 * words.
 */
enum { FRAMEWORK_EVENT = 99999, LONGEST_GROUP = 64 };
struct text location_group(const struct location *location, char name[static LONGEST_GROUP]);

/* "format", "start_epoch_ns" and so on: fields every document begins with. */
void put_profile_fields(struct json *json, const struct analysis *analysis);
void put_hosts(struct json *json, const struct catalog *catalog);
void put_messages(struct json *json, const struct catalog *catalog);
void put_args(struct json *json, const struct catalog *catalog, const struct arg_list *args);

#endif
