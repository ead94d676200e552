/*
 * Compiles the search query language to SQL.
 */
#include "serve/runs/search.h"

#include "serve/http/server.h"
#include "store/tables/store.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { FIELD_SIZE = 64 };

enum relation { OP_EQUALS, OP_CONTAINS, OP_LESS, OP_MORE, OP_AT_MOST, OP_AT_LEAST };
static const char *const relation_sql[] = {"=", "", "<", ">", "<=", ">="};

struct condition {
    char field[FIELD_SIZE]; /* "" for bare words */
    enum relation relation;
    struct text value; /* in the query's buffer, unquoted */
};

/* Shorter names for columns. Of several columns with the same one, the first that the profile has
 * is meant; they are next to each other. */
static const char *const aliases[][2] = {
    {"duration", "duration_ns"},
    {"start", "start_ts"},
    {"end", "end_ts"},
    {"core", "nc_idx"},
    {"device", "device_idx"},
    {"stream", "framework_stream_id"},
    {"layer", "op_name"},
    {"size", "size_bytes"},
    {"size", "transfer_bytes"}, /* of a device */
    {"bytes", "size_bytes"},
    {"bytes", "transfer_bytes"},
    {"thread", "thread_id"},
    {"process", "process_id"},
    {"host", "instance_id"},
    {"instance", "instance_id"},
    {"source", "trace_event_source"},
    {"step", "number"},
    {"worker", "worker_gid"},
    {"module", "hlo_module"},
    {"file", "source_file"},
    {"line", "source_line"},
    {"function", "function_name"},
    {"attributes", "extra_attributes_json"},
    {"critical", "unit"}, /* of the critical path */
    {"queue", "queue_name"},
    {"tensor", "variable"},
    {"hlo", "hlo_name"},
    {"flops", "raw_flops"},
};

/* A table that can be joined to an event table. */
struct joined {
    const char *alias, *condition;
    const char *needs; /* alias of a table that must be joined first, or NULL */
    enum table_number table;
    bool is_repeated; /* has several rows for an event */
};

static const struct joined of_events[] = {
    {"k", "k.id = e.id", NULL, TABLE_KERNELS, false},
    {"o", "o.id = k.operation_id", "k", TABLE_OPERATIONS, false},
    {"c", "c.id = e.id", NULL, TABLE_COPIES, false},
    {"x", "x.id = e.id", NULL, TABLE_COLLECTIVES, false},
    {"m", "m.id = e.id", NULL, TABLE_ALLOCATIONS, false},
    {"v", "v.id = e.id", NULL, TABLE_COUNTERS, false},
    {"s", "s.id = e.step_id", NULL, TABLE_STEPS, false},
    {"p", "p.event_type_id = e.event_type_id", NULL, TABLE_PYTHON_FRAMES, false},
    {"i", "i.id = e.id", NULL, TABLE_INSTRUCTION, false},
    {"d", "d.id = e.id", NULL, TABLE_TRANSFER, false},
    {"w", "w.id = e.id", NULL, TABLE_CC_OP, false},
    {"t", "t.event_id = e.id", NULL, TABLE_CRITICAL_PATH, true},
};
static const struct joined of_runs[] = {
    {"o", "o.id = e.operation_id", NULL, TABLE_OPERATIONS, false},
    {"h", "h.id = e.module_id", NULL, TABLE_MODULES, false},
    {"s", "s.id = e.step_id", NULL, TABLE_STEPS, false},
};

/* An event table that is searched. */
struct base {
    enum table_number table;
    const struct joined *joined;
    size_t joined_count;
    const char *start, *duration;
};
static const struct base bases[] = {
    {TABLE_EVENTS, of_events, sizeof of_events / sizeof *of_events,
     "e.start_ts::HUGEINT * 1000 + e.start_fraction_ps",
     "e.duration_ns::HUGEINT * 1000 + e.duration_fraction_ps"},
    {TABLE_RUNS, of_runs, sizeof of_runs / sizeof *of_runs, "e.start_ts::HUGEINT * 1000",
     "e.duration_ns::HUGEINT * 1000"},
};
enum { BASES = sizeof bases / sizeof *bases };

static bool is_field_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Parses an operator; returns its size, 0 for none. */
static size_t read_relation(const char *text, enum relation *relation)
{
    bool has_equals = text[0] && text[1] == '=';
    *relation = text[0] == ':'   ? OP_EQUALS
                : text[0] == '~' ? OP_CONTAINS
                : text[0] == '<' ? (has_equals ? OP_AT_MOST : OP_LESS)
                : text[0] == '>' ? (has_equals ? OP_AT_LEAST : OP_MORE)
                                 : OP_EQUALS;
    if (text[0] == '\0' || !strchr(":~<>", text[0]))
        return 0;
    return has_equals && (text[0] == '<' || text[0] == '>') ? 2 : 1;
}

/* Parses a word or quoted string, unescaped in place; NULL if unterminated. */
static char *read_value(char *at, struct text *value)
{
    char *out = at;
    *value = (struct text){at, 0};
    if (*at != '"') {
        at += strcspn(at, " \t\r\n");
        value->size = (size_t)(at - value->data);
        return at;
    }
    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1])
            at++;
        *out++ = *at;
    }
    value->size = (size_t)(out - value->data);
    return *at == '"' ? at + 1 : NULL;
}

/* Values are unquoted in place and point into the buffer, which must outlive the conditions. A word
 * is a field only if a relation follows it directly. */
static bool read_conditions(char *at, struct condition *conditions, size_t *count,
                            struct error *err)
{
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (!*at)
            return true;
        if (*count == SEARCH_MAX_CONDITIONS)
            return error_set(err, "too many conditions; %d at most", SEARCH_MAX_CONDITIONS);
        struct condition *condition = &conditions[(*count)++];
        *condition = (struct condition){.relation = OP_CONTAINS};
        size_t size = 0;
        while (is_field_char(at[size]))
            size++;
        enum relation relation;
        size_t relation_size = read_relation(at + size, &relation);
        if (size > 0 && relation_size > 0) {
            if (size >= FIELD_SIZE)
                return error_set(err, "field name too long");
            snprintf(condition->field, FIELD_SIZE, "%.*s", (int)size, at);
            condition->relation = relation;
            at += size + relation_size;
        }
        at = read_value(at, &condition->value);
        if (!at)
            return error_set(err, "missing closing quote");
        if (condition->value.size == 0)
            return error_set(err, "missing value%s%s", condition->field[0] ? " after " : "",
                             condition->field);
    }
}

enum { ALIASES = sizeof aliases / sizeof *aliases };

/* The next column from *at on that the field may mean; NULL behind the last. */
static const char *next_column(const char *field, size_t *at)
{
    for (; *at < ALIASES; ++*at)
        if (strcasecmp(aliases[*at][0], field) == 0)
            return aliases[(*at)++][1];
    return NULL;
}

static const struct field *find_column(enum table_number table, const char *name)
{
    const struct table_schema *schema = &table_schemas[table];
    for (size_t i = 0; i < schema->field_count; i++)
        if (strcasecmp(schema->fields[i].name, name) == 0)
            return &schema->fields[i];
    return NULL;
}

static bool unknown_field(const char *field, struct error *err)
{
    return error_set(err, "%s '%s'", SEARCH_UNKNOWN_FIELD, field);
}

static void put_fields(struct json *json, enum table_number table, struct intern *known)
{
    const struct table_schema *schema = &table_schemas[table];
    for (size_t i = 0; i < schema->field_count; i++) {
        struct text name = text_of(schema->fields[i].name);
        if (intern_find(known, name) == INTERN_NONE)
            json_text(json, name);
        intern_add(known, name);
    }
}

void search_put_fields(struct json *json)
{
    struct intern known;
    intern_init(&known);
    json_open(json, '[');
    for (size_t i = 0; i < ALIASES; i++)
        if (i == 0 || strcmp(aliases[i - 1][0], aliases[i][0]) != 0)
            json_text(json, text_of(aliases[i][0]));
    for (size_t b = 0; b < BASES; b++) {
        put_fields(json, bases[b].table, &known);
        for (size_t i = 0; i < bases[b].joined_count; i++)
            put_fields(json, bases[b].joined[i].table, &known);
    }
    json_close(json, ']');
    intern_free(&known);
}

/* Converts a number with a unit to a decimal in the field's unit. */
static bool read_number(const struct field *field, struct text value, char *number, size_t size,
                        struct error *err)
{
    static const struct {
        const char *unit, *name;
        double factor;
    } units[] = {
        {"ns", "ps", 1e-3},        {"ns", "ns", 1},       {"ns", "us", 1e3}, {"ns", "ms", 1e6},
        {"ns", "s", 1e9},          {"ps", "ps", 1},       {"ps", "ns", 1e3}, {"B", "B", 1},
        {"B", "KB", 1e3},          {"B", "MB", 1e6},      {"B", "GB", 1e9},  {"B", "KiB", 1024},
        {"B", "MiB", 1024 * 1024}, {"B", "GiB", 1 << 30}, {"%", "%", 1},
    };
    char text[64];
    char *end;
    snprintf(text, sizeof text, "%.*s", (int)value.size, value.data);
    size_t digits = strspn(text + (text[0] == '-'), "0123456789.eE") + (text[0] == '-');
    double parsed = strtod(text, &end);
    bool ok = digits > (text[0] == '-') && end > text && value.size < sizeof text &&
              (size_t)(end - text) <= digits;
    double factor = ok && !*end ? 1 : 0;
    for (size_t i = 0; ok && *end && i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].unit, field->unit) == 0 && strcasecmp(units[i].name, end) == 0)
            factor = units[i].factor;
    if (factor == 0)
        return error_set(err, "%s must be a number%s, not '%s'", field->name,
                         strcmp(field->unit, "ns") == 0  ? " with ns, us, ms or s"
                         : strcmp(field->unit, "B") == 0 ? " with B, KB, MB or GB"
                                                         : "",
                         text);
    if (factor == 1)
        snprintf(number, size, "%.*s", (int)(end - text), text);
    else
        snprintf(number, size, "%.17g", parsed * factor);
    return true;
}

/* A GLOB pattern: * and ? stay wildcards, other special characters are escaped. */
static void put_pattern(struct output *sql, struct text value)
{
    struct output pattern;
    output_memory(&pattern);
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] == '[')
            output_text(&pattern, "[[]");
        else if (value.data[i] == '\\')
            output_text(&pattern, "\\\\");
        else
            output_char(&pattern, value.data[i]);
    put_sql_text(sql, (struct text){pattern.data, pattern.size});
    output_discard(&pattern);
}

static bool put_text_condition(struct output *sql, const struct condition *condition,
                               const char *column, const struct field *field, struct error *err)
{
    struct text value = condition->value;
    bool is_pattern = memchr(value.data, '*', value.size) || memchr(value.data, '?', value.size);
    if (condition->relation != OP_EQUALS && condition->relation != OP_CONTAINS)
        return error_set(err, "%s is a string; use : or ~", field->name);
    if (field->type == FIELD_TEXT_LIST)
        output_format(sql, "list_contains(%s, ", column);
    else if (condition->relation == OP_CONTAINS)
        output_format(sql, "contains(lower(%s), lower(", column);
    else
        output_format(sql, "lower(%s) %s lower(", column, is_pattern ? "GLOB" : "=");
    if (condition->relation == OP_EQUALS && is_pattern && field->type != FIELD_TEXT_LIST)
        put_pattern(sql, value);
    else
        put_sql_text(sql, value);
    output_text(sql,
                condition->relation == OP_CONTAINS && field->type != FIELD_TEXT_LIST ? "))" : ")");
    return true;
}

static bool put_condition(struct output *sql, const struct condition *condition, const char *alias,
                          const struct field *field, struct error *err)
{
    char column[FIELD_SIZE + 8], number[64];
    snprintf(column, sizeof column, "%s.\"%s\"", alias, field->name);
    if (field->type == FIELD_NAME || field->type == FIELD_TEXT || field->type == FIELD_TEXT_LIST)
        return put_text_condition(sql, condition, column, field, err);
    if (field->type == FIELD_BOOL) {
        bool is_true =
            condition->value.size == 4 && strncasecmp(condition->value.data, "true", 4) == 0;
        bool is_false =
            condition->value.size == 5 && strncasecmp(condition->value.data, "false", 5) == 0;
        if (condition->relation != OP_EQUALS || (!is_true && !is_false))
            return error_set(err, "%s must be true or false", field->name);
        output_format(sql, "%s = %s", column, is_true ? "true" : "false");
        return true;
    }
    if (condition->relation == OP_CONTAINS)
        return error_set(err, "%s is a number; use : < > <= or >=", field->name);
    if (!read_number(field, condition->value, number, sizeof number, err))
        return false;
    output_format(sql, "%s %s %s", column, relation_sql[condition->relation], number);
    return true;
}

/* The WHERE clause and joins for one event table. */
struct plan {
    const struct base *base;
    bool is_used[sizeof of_events / sizeof *of_events];
    bool is_empty; /* nothing can match */
    struct output where;
};

static void use_table(struct plan *plan, size_t index)
{
    const struct joined *joined = &plan->base->joined[index];
    plan->is_used[index] = true;
    for (size_t i = 0; joined->needs && i < plan->base->joined_count; i++)
        if (strcmp(plan->base->joined[i].alias, joined->needs) == 0)
            plan->is_used[i] = true;
}

static bool is_usable(const struct plan *plan, size_t index, const char *column, column_test *has,
                      const void *context)
{
    const struct joined *joined = &plan->base->joined[index];
    bool ok = has(context, table_schemas[joined->table].name, column);
    for (size_t i = 0; joined->needs && i < plan->base->joined_count; i++)
        if (strcmp(plan->base->joined[i].alias, joined->needs) == 0)
            ok = ok && has(context, table_schemas[plan->base->joined[i].table].name, NULL);
    return ok;
}

/* Finds a column in the base table or a joinable one, NULL if the profile has none; *alias is then
 * its table. Sets *is_known if any table has the column. */
static const struct field *plan_column(struct plan *plan, const char *name, column_test *has,
                                       const void *context, bool *is_known, const char **alias)
{
    const struct field *field = find_column(plan->base->table, name);
    *alias = "e";
    *is_known |= field != NULL;
    if (field && !has(context, table_schemas[plan->base->table].name, field->name))
        field = NULL;
    for (size_t i = 0; i < plan->base->joined_count && !field; i++) {
        const struct field *found = find_column(plan->base->joined[i].table, name);
        *is_known |= found != NULL;
        if (!found || !is_usable(plan, i, found->name, has, context))
            continue;
        field = found;
        *alias = plan->base->joined[i].alias;
        use_table(plan, i);
    }
    return field;
}

/* A name is what was recorded, or the shorter one that is shown. */
static bool put_name_condition(struct output *sql, const struct condition *condition,
                               const struct field *field, struct error *err)
{
    const struct field *shown = find_column(TABLE_EVENT_TYPES, "display_name");
    output_char(sql, '(');
    bool ok = put_condition(sql, condition, "e", field, err);
    output_text(sql, " OR e.event_type_id IN (SELECT y.id FROM EventType y WHERE ");
    ok = ok && put_condition(sql, condition, "y", shown, err);
    output_text(sql, "))");
    return ok;
}

/* Adds a condition. A field that is an alias may also be a column: "layer" of instructions. */
static bool plan_condition(struct plan *plan, const struct condition *condition, column_test *has,
                           const void *context, bool *is_known, struct error *err)
{
    const char *own = condition->field[0] ? condition->field : "name", *alias, *name;
    const struct field *field = NULL;
    for (size_t at = 0; !field && (name = next_column(own, &at));)
        field = plan_column(plan, name, has, context, is_known, &alias);
    if (!field)
        field = plan_column(plan, own, has, context, is_known, &alias);
    if (!field) {
        plan->is_empty = true;
        return true;
    }
    output_text(&plan->where, plan->where.size ? " AND " : " WHERE ");
    bool is_name = plan->base->table == TABLE_EVENTS && strcmp(field->name, "name") == 0 &&
                   strcmp(alias, "e") == 0 && has(context, "EventType", "display_name");
    return is_name ? put_name_condition(&plan->where, condition, field, err)
                   : put_condition(&plan->where, condition, alias, field, err);
}

/* Operations and modules on a stream contain no others. */
static const char *self_sql(const struct base *base, bool has_self)
{
    if (base->table == TABLE_RUNS)
        return base->duration;
    return has_self ? SEARCH_SELF : "NULL::HUGEINT";
}

static void put_select(const struct plan *plan, bool has_self, struct output *sql)
{
    const struct base *base = plan->base;
    const char *table = table_schemas[base->table].name;
    bool is_repeated = false;
    for (size_t i = 0; i < base->joined_count; i++)
        is_repeated |= plan->is_used[i] && base->joined[i].is_repeated;
    output_format(sql,
                  "%sSELECT %s'%s' AS tbl, e.id AS id, e.name AS name, e.track_id AS track, "
                  "%s AS start_ps, %s AS duration_ps, %s AS self_ps FROM \"%s\" e",
                  sql->size ? " UNION ALL " : "", is_repeated ? "DISTINCT " : "", table,
                  base->start, base->duration, self_sql(base, has_self), table);
    for (size_t i = 0; i < base->joined_count; i++)
        if (plan->is_used[i])
            output_format(sql, " JOIN \"%s\" %s ON %s", table_schemas[base->joined[i].table].name,
                          base->joined[i].alias, base->joined[i].condition);
    output_write(sql, plan->where.data, plan->where.size);
}

/* Each event table gets its own SELECT. A field must be known to at least one of them: a table
 * without it has no matches, but a field that no table has is a typo. */
bool search_compile(const char *query, bool has_self, column_test *has, const void *context,
                    struct output *sql, struct error *err)
{
    struct condition conditions[SEARCH_MAX_CONDITIONS];
    bool is_known[SEARCH_MAX_CONDITIONS] = {false};
    size_t count = 0;
    if (strlen(query) > SEARCH_MAX_BYTES)
        return error_set(err, "query too long; %d bytes at most", SEARCH_MAX_BYTES);
    char *buffer = mem_copy_text(query, strlen(query));
    bool ok = read_conditions(buffer, conditions, &count, err);
    for (size_t b = 0; b < BASES && ok; b++) {
        struct plan plan = {.base = &bases[b]};
        output_memory(&plan.where);
        for (size_t i = 0; i < count && ok; i++)
            ok = plan_condition(&plan, &conditions[i], has, context, &is_known[i], err);
        if (ok && !plan.is_empty && has(context, table_schemas[plan.base->table].name, NULL))
            put_select(&plan, has_self, sql);
        output_discard(&plan.where);
    }
    for (size_t i = 0; i < count && ok; i++)
        if (!is_known[i])
            ok = unknown_field(conditions[i].field, err);
    mem_free(buffer);
    return ok;
}
