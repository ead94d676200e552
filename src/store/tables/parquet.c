/*
 * Writes Parquet files: consecutive row groups and the footer that describes them.
 */
#include "store/tables/parquet.h"

#include "store/tables/thrift.h"

#include <stdlib.h>

/* More constants of the format. */
enum { REQUIRED = 0, OPTIONAL = 1, REPEATED = 2 };
enum { CONVERTED_UTF8 = 0, CONVERTED_LIST = 3 };
enum { LOGICAL_STRING = 1, LOGICAL_LIST = 3 };
enum { CODEC_ZSTD = 6 };

bool parquet_open(struct parquet_file *file, const struct table_schema *schema, const char *path,
                  struct error *err)
{
    *file = (struct parquet_file){.schema = schema, .size = 4};
    if (!output_open(&file->out, path, err))
        return false;
    pthread_mutex_init(&file->lock, NULL);
    output_write(&file->out, "PAR1", 4);
    return true;
}

bool parquet_add(struct parquet_file *file, struct parquet_encoder *encoder,
                 const struct rows *rows, uint64_t number, struct error *err)
{
    size_t columns = rows->schema->field_count;
    struct parquet_group group = {.number = number, .rows = rows_count(rows)};
    group.chunks = mem_alloc(columns * sizeof *group.chunks);
    struct text pages = encode_rows(encoder, rows, group.chunks);
    pthread_mutex_lock(&file->lock);
    for (size_t i = 0; i < columns; i++)
        group.chunks[i].offset += file->size;
    output_write(&file->out, pages.data, pages.size);
    file->size += pages.size;
    file->rows += group.rows;
    *array_push(&file->groups) = group;
    bool ok = !file->out.failed;
    if (!ok)
        *err = file->out.error;
    pthread_mutex_unlock(&file->lock);
    return ok;
}

static void put_text_field(struct thrift *thrift, int field, const char *text)
{
    thrift_binary(thrift, field, text, strlen(text));
}

/* The logical type of a converted type: a union containing an empty struct. */
static void put_logical(struct thrift *thrift, int member)
{
    thrift_open(thrift, 10);
    thrift_open(thrift, member);
    thrift_close(thrift);
    thrift_close(thrift);
}

static void put_leaf(struct thrift *thrift, const char *name, enum field_type type, int repetition)
{
    thrift_open(thrift, 0);
    thrift_int(thrift, 1, physical_type(type), THRIFT_I32);
    thrift_int(thrift, 3, repetition, THRIFT_I32);
    put_text_field(thrift, 4, name);
    if (physical_type(type) == TYPE_BYTES) {
        thrift_int(thrift, 6, CONVERTED_UTF8, THRIFT_I32);
        put_logical(thrift, LOGICAL_STRING);
    }
    thrift_close(thrift);
}

static void put_list(struct thrift *thrift, const struct field *field)
{
    thrift_open(thrift, 0);
    thrift_int(thrift, 3, OPTIONAL, THRIFT_I32);
    put_text_field(thrift, 4, field->name);
    thrift_int(thrift, 5, 1, THRIFT_I32);
    thrift_int(thrift, 6, CONVERTED_LIST, THRIFT_I32);
    put_logical(thrift, LOGICAL_LIST);
    thrift_close(thrift);
    thrift_open(thrift, 0);
    thrift_int(thrift, 3, REPEATED, THRIFT_I32);
    put_text_field(thrift, 4, "list");
    thrift_int(thrift, 5, 1, THRIFT_I32);
    thrift_close(thrift);
    put_leaf(thrift, "element", field->type == FIELD_TEXT_LIST ? FIELD_TEXT : FIELD_INT64,
             REQUIRED);
}

static void put_schema(struct thrift *thrift, const struct table_schema *schema)
{
    size_t elements = 1;
    for (size_t i = 0; i < schema->field_count; i++)
        elements += field_is_list(&schema->fields[i]) ? 3 : 1;
    thrift_list(thrift, 2, elements, THRIFT_STRUCT);
    thrift_open(thrift, 0);
    put_text_field(thrift, 4, schema->name);
    thrift_int(thrift, 5, (int64_t)schema->field_count, THRIFT_I32);
    thrift_close(thrift);
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        if (field_is_list(field))
            put_list(thrift, field);
        else
            put_leaf(thrift, field->name, field->type, field->required ? REQUIRED : OPTIONAL);
    }
}

static void put_statistics(struct thrift *thrift, const struct field *field,
                           const struct parquet_chunk *chunk)
{
    size_t size = field->type == FIELD_INT32 ? 4 : 8;
    thrift_open(thrift, 12);
    thrift_int(thrift, 3, (int64_t)chunk->nulls, THRIFT_I64);
    if (chunk->has_range) {
        thrift_binary(thrift, 5, &chunk->most, size);
        thrift_binary(thrift, 6, &chunk->least, size);
    }
    thrift_close(thrift);
}

/* ColumnChunk and ColumnMetaData of Parquet's Thrift; numbers are field ids. Offset 9 is the
 * data page, 11 the dictionary before it. */
static void put_chunk(struct thrift *thrift, const struct field *field,
                      const struct parquet_chunk *chunk)
{
    bool is_list = field_is_list(field);
    thrift_open(thrift, 0);
    thrift_int(thrift, 2, (int64_t)chunk->offset, THRIFT_I64);
    thrift_open(thrift, 3);
    thrift_int(thrift, 1, physical_type(field->type), THRIFT_I32);
    thrift_list(thrift, 2, chunk->dictionary_size ? 3 : 2, THRIFT_I32);
    thrift_item_int(thrift, chunk->encoding);
    thrift_item_int(thrift, ENCODING_RLE);
    if (chunk->dictionary_size)
        thrift_item_int(thrift, ENCODING_PLAIN);
    thrift_list(thrift, 3, is_list ? 3 : 1, THRIFT_BINARY);
    thrift_item_binary(thrift, field->name, strlen(field->name));
    if (is_list) {
        thrift_item_binary(thrift, "list", 4);
        thrift_item_binary(thrift, "element", 7);
    }
    thrift_int(thrift, 4, CODEC_ZSTD, THRIFT_I32);
    thrift_int(thrift, 5, (int64_t)chunk->values, THRIFT_I64);
    thrift_int(thrift, 6, (int64_t)chunk->plain_size, THRIFT_I64);
    thrift_int(thrift, 7, (int64_t)chunk->packed_size, THRIFT_I64);
    thrift_int(thrift, 9, (int64_t)(chunk->offset + chunk->dictionary_size), THRIFT_I64);
    if (chunk->dictionary_size)
        thrift_int(thrift, 11, (int64_t)chunk->offset, THRIFT_I64);
    if (!is_list)
        put_statistics(thrift, field, chunk);
    thrift_close(thrift);
    thrift_close(thrift);
}

static int by_number(const void *a, const void *b)
{
    const struct parquet_group *m = a, *n = b;
    return m->number < n->number ? -1 : m->number > n->number;
}

static void put_groups_of(struct thrift *thrift, struct parquet_file *file)
{
    size_t columns = file->schema->field_count;
    if (file->groups.count > 0)
        qsort(file->groups.items, file->groups.count, sizeof *file->groups.items, by_number);
    thrift_list(thrift, 4, file->groups.count, THRIFT_STRUCT);
    const struct parquet_group *group;
    array_each (group, &file->groups) {
        uint64_t plain_size = 0, packed_size = 0;
        thrift_open(thrift, 0);
        thrift_list(thrift, 1, columns, THRIFT_STRUCT);
        for (size_t i = 0; i < columns; i++) {
            put_chunk(thrift, &file->schema->fields[i], &group->chunks[i]);
            plain_size += group->chunks[i].plain_size;
            packed_size += group->chunks[i].packed_size;
        }
        thrift_int(thrift, 2, (int64_t)plain_size, THRIFT_I64);
        thrift_int(thrift, 3, (int64_t)group->rows, THRIFT_I64);
        thrift_int(thrift, 5, (int64_t)group->chunks[0].offset, THRIFT_I64);
        thrift_int(thrift, 6, (int64_t)packed_size, THRIFT_I64);
        thrift_close(thrift);
    }
}

/* Without column orders, readers must ignore column statistics. */
static void put_orders(struct thrift *thrift, size_t columns)
{
    thrift_list(thrift, 7, columns, THRIFT_STRUCT);
    for (size_t i = 0; i < columns; i++) {
        thrift_open(thrift, 0);
        thrift_open(thrift, 1);
        thrift_close(thrift);
        thrift_close(thrift);
    }
}

static void release(struct parquet_file *file)
{
    struct parquet_group *group;
    array_each (group, &file->groups)
        mem_free(group->chunks);
    array_free(&file->groups);
    pthread_mutex_destroy(&file->lock);
    file->schema = NULL;
}

bool parquet_commit(struct parquet_file *file, struct error *err)
{
    struct output footer;
    struct thrift thrift;
    output_memory(&footer);
    thrift_begin(&thrift, &footer);
    thrift_int(&thrift, 1, 2, THRIFT_I32);
    put_schema(&thrift, file->schema);
    thrift_int(&thrift, 3, (int64_t)file->rows, THRIFT_I64);
    put_groups_of(&thrift, file);
    put_text_field(&thrift, 6, "kymo");
    put_orders(&thrift, file->schema->field_count);
    thrift_close(&thrift);
    output_write(&file->out, footer.data, footer.size);
    uint32_t size = (uint32_t)footer.size;
    output_write(&file->out, (const char *)&size, sizeof size);
    output_write(&file->out, "PAR1", 4);
    output_discard(&footer);
    release(file);
    return output_commit(&file->out, err);
}

void parquet_discard(struct parquet_file *file)
{
    if (!file->schema)
        return;
    release(file);
    output_discard(&file->out);
}
