/*
 * JSON files, inside the importers: opening them, what they are, putting several on one clock, and
 * values on their way to the catalog.
 */
#ifndef KYMO_IMPORT_JSON_FILE_H
#define KYMO_IMPORT_JSON_FILE_H

#include "import/import.h"
#include "wire/wire.h"

struct json_file {
    struct file map;
    uint8_t *unpacked; /* NULL when the map itself is read */
    const char *path, *label;
    const char *data;
    size_t size;
    int64_t anchor_us; /* times are counted from here: since 1970 they do not fit 64 bits */
    int64_t base_ps;   /* added to such times, it gives times of the profile */
    int64_t start_ps;  /* when the file's own time begins, in the profile */
};

typedef ARRAY(struct json_file) json_file_list;

/* Unpacks it if need be and adds it to the catalog's hosts; the path, or the data, must be set. */
bool json_file_open(struct json_file *file, struct catalog *catalog, struct error *err);
void json_files_free(json_file_list *files);
/* Maps the files of a capture one after the other and hands them to `add`, which owns them from
 * then on. */
typedef bool json_file_add(void *context, struct json_file *file, struct error *err);
bool json_files_each(const struct capture *capture, json_file_add *add, void *context,
                     struct error *err);
/* Files of one profile are aligned by the wall-clock time each of them tells in its host; sets the
 * catalog's times and the files' base_ps and start_ps. */
void json_files_align(struct catalog *catalog, json_file_list *files);

enum json_format {
    JSON_FORMAT_NONE,
    JSON_FORMAT_OTHER,   /* JSON that is none of these */
    JSON_FORMAT_UNKNOWN, /* it may be anything */
    JSON_FORMAT_CHROME,
    JSON_FORMAT_SYSTEM_TRACE,
    JSON_FORMAT_EXPLORER,       /* a system profile */
    JSON_FORMAT_DEVICE_PROFILE, /* Explorer's too */
};

/* What a file's text, or the beginning of it, is. */
enum json_format json_recognise(const uint8_t *data, size_t size);

bool json_damaged(const struct json_file *file, const struct json_reader *in, struct error *err);
void import_message(struct catalog *catalog, uint32_t file, bool is_error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A number as an arg. */
struct arg number_arg(uint32_t key, const struct json_number *number);
/* A value as an arg of the catalog; lists and objects stay in the file. */
struct arg value_arg(struct catalog *catalog, uint32_t key, const struct json_value *value);
/* A string of the file, escapes resolved, in the catalog. */
uint32_t value_string(struct catalog *catalog, const struct json_value *value);
/* The member of an object; false when it is none or has none of this name. */
bool value_member(const struct json_value *object, struct text name, struct json_value *value);
/* A number, also in quotes. */
bool value_number(const struct json_value *value, struct json_number *number);
/* A whole number, also in quotes. */
bool value_whole(const struct json_value *value, int64_t *whole);
/* Members of an object: a text as a string of the catalog, a number; nothing is 0. */
uint32_t member_string(struct catalog *catalog, const struct json_value *object, struct text key);
bool member_whole(const struct json_value *object, struct text key, int64_t *number);
/* A list of texts as messages; false when it is something else, and then nothing was done. */
bool take_messages(struct catalog *catalog, uint32_t file, bool is_error,
                   const struct json_value *value);

#endif
