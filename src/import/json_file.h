/*
 * JSON files, internal to the importers: opening, format detection, time alignment of several
 * files, and conversion of values for the catalog.
 */
#ifndef KYMO_IMPORT_JSON_FILE_H
#define KYMO_IMPORT_JSON_FILE_H

#include "base/wire/wire.h"
#include "import/import.h"

struct json_file {
    struct file map;
    uint8_t *unpacked; /* NULL when the mapping itself is read */
    const char *path, *label;
    const char *data;
    size_t size;
    int64_t anchor_us; /* origin of times: picoseconds since 1970 do not fit in 64 bits */
    int64_t base_ps;   /* added to such times to get times of the profile */
    int64_t start_ps;  /* start of the file's own time, in the profile */
};

typedef ARRAY(struct json_file) json_file_list;

/* Decompresses it if necessary and adds it to the catalog's hosts; the path or the data must be
 * set. */
bool json_file_open(struct json_file *file, struct catalog *catalog, struct error *err);
void json_files_free(json_file_list *files);
/* Maps the files of a capture one by one and passes them to `add`, which takes ownership. */
typedef bool json_file_add(void *context, struct json_file *file, struct error *err);
bool json_files_each(const struct capture *capture, json_file_add *add, void *context,
                     struct error *err);
/* Aligns the files of a profile by the wall-clock start in their hosts; sets the catalog's times
 * and the files' base_ps and start_ps. */
void json_files_align(struct catalog *catalog, json_file_list *files);

enum json_format {
    JSON_FORMAT_NONE,
    JSON_FORMAT_OTHER,   /* JSON of another format */
    JSON_FORMAT_UNKNOWN, /* undecided */
    JSON_FORMAT_CHROME,
    JSON_FORMAT_SYSTEM_TRACE,
    JSON_FORMAT_EXPLORER,       /* a system profile */
    JSON_FORMAT_DEVICE_PROFILE, /* Explorer's as well */
};

/* The format of a file's text, or of its beginning. */
enum json_format json_recognize(const uint8_t *data, size_t size);

bool json_damaged(const struct json_file *file, const struct json_reader *in, struct error *err);
void import_message(struct catalog *catalog, uint32_t file, bool is_error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A number as an arg. */
struct arg number_arg(uint32_t key, const struct json_number *number);
/* A value as an arg of the catalog; lists and objects are not copied. */
struct arg value_arg(struct catalog *catalog, uint32_t key, const struct json_value *value);
/* Adds a string, unescaped, to the catalog. */
uint32_t value_string(struct catalog *catalog, const struct json_value *value);
/* Looks up a member; false when the value is not an object or has no such member. */
bool value_member(const struct json_value *object, struct text name, struct json_value *value);
/* A number, possibly quoted. */
bool value_number(const struct json_value *value, struct json_number *number);
/* An integer, possibly quoted. */
bool value_whole(const struct json_value *value, int64_t *whole);
/* Members of an object: a text as a string of the catalog, a number; 0 when missing. */
uint32_t member_string(struct catalog *catalog, const struct json_value *object, struct text key);
bool member_whole(const struct json_value *object, struct text key, int64_t *number);
/* Adds a list of texts as messages; false, and without effect, when it is something else. */
bool take_messages(struct catalog *catalog, uint32_t file, bool is_error,
                   const struct json_value *value);

#endif
