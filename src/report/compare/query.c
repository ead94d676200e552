/*
 * The queries that give a comparison's figures, over the tables of both profiles: what was read of
 * each side by the same queries, put together by those of queries/diff*.sql.
 */
#include "report/compare/compare.h"
#include "report/compare/embedded_queries.h"

#define KIND(kind) (1u << (kind))

/* Groups of their own; those of a kind of rows are diff.KIND and diff.values.KIND. */
static const struct {
    const char *id, *sql;
    unsigned kinds; /* of the rows that it is over */
} groups[] = {
    {"diff", compare_sql_diff, KIND(DIFF_STEPS)},
    {"diff.sides", compare_sql_diff_sides, 0},
    {"diff.step_times", compare_sql_diff_step_times, 0},
    {"diff.parts", compare_sql_diff_parts,
     KIND(DIFF_STEPS) | KIND(DIFF_OPERATORS) | KIND(DIFF_KERNELS) | KIND(DIFF_COLLECTIVES) |
         KIND(DIFF_COPIES)},
    {"diff.warnings", compare_sql_diff_warnings,
     KIND(DIFF_OPERATORS) | KIND(DIFF_KERNELS) | KIND(DIFF_HOST)},
};

static bool is_of_profiles(enum diff_kind kind)
{
    return kind != DIFF_RANKS && kind != DIFF_MACHINES;
}

/* The query and the kinds of rows that it is over; NULL: no such group. */
static const char *find_group(struct text id, unsigned *kinds)
{
    static const struct text values = TEXT("diff.values."), rows = TEXT("diff.");
    bool is_of_values = text_starts(id, values);
    size_t start = is_of_values ? values.size : rows.size;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (text_equal(id, text_of(groups[i].id))) {
            *kinds = groups[i].kinds;
            return groups[i].sql;
        }
    for (enum diff_kind kind = 0; text_starts(id, rows) && kind < DIFF_KINDS; kind++)
        if (is_of_profiles(kind) && text_equal((struct text){id.data + start, id.size - start},
                                               text_of(diff_kind_names[kind]))) {
            *kinds = KIND(kind);
            return is_of_values ? compare_sql_diff_values : compare_sql_diff_rows;
        }
    return NULL;
}

bool diff_has_query(struct text group, unsigned *kinds)
{
    return find_group(group, kinds) != NULL;
}

static const char *const letters[SIDES] = {"a", "b"};

static void put_relations(struct output *sql, const struct diff_side *side, const char *query)
{
    relations_put(sql, side->present, &(struct relation_options){0}, query);
}

static void put_definition(struct output *sql, const struct diff_side *side, enum side letter,
                           const char *name, const char *query)
{
    output_format(sql, "%s_%s AS (\n", letters[letter], name);
    tables_put(sql, side->present, query);
    output_text(sql, "\n),\n");
}

/* Values of rows of some kinds, as they were read. Of steps, the columns of their table are rows.
 */
static void put_values(struct output *sql, const struct diff_side *side, enum side letter,
                       unsigned kinds)
{
    static const char columns[] =
        "name, layer, shape, step, count, amount, inclusive, is_communication";
    const struct sql_blank blank = {.name = "SIDE", .text = letters[letter]};
    const char *before = "";
    output_format(sql, "%s_value AS (\n", letters[letter]);
    if (kinds & KIND(DIFF_STEPS)) {
        sql_fill(sql, compare_sql_diff_step_values, &blank, 1);
        before = "\nUNION ALL\n";
    }
    for (size_t i = 0; i < profile_query_count; i++) {
        enum diff_kind kind = profile_queries[i].kind;
        if (kind == DIFF_STEPS || !(kinds & KIND(kind)))
            continue;
        output_format(sql, "%sSELECT '%s' AS kind, *\nFROM (\n", before, diff_kind_names[kind]);
        put_relations(sql, side, profile_queries[i].sql);
        output_format(sql, "\n) AS value(%s)", columns);
        before = "\nUNION ALL\n";
    }
    output_text(sql, "\n),\n");
}

static void put_alike_row(struct output *sql, const struct side_row *row, enum side side,
                          size_t number)
{
    const struct text texts[] = {row->name, row->layer, row->shape};
    output_format(sql, "('%s', '%s'", diff_kind_names[row->kind], letters[side]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        output_text(sql, ", ");
        sql_put_quoted(sql, '\'', texts[i].data);
    }
    output_format(sql, ", %zu)", number);
}

/* Which rows have names that are alike, by their group. */
static void put_alike(struct output *sql, const struct diff *diff, unsigned kinds)
{
    bool is_empty = true;
    output_text(sql, "alike(kind, side, name, layer, shape, number) AS (\n");
    for (size_t i = 0; i < diff->groups.count; i++) {
        const struct match_group *group = &diff->groups.items[i];
        if (group->match != MATCH_NAME || !(kinds & KIND(group->rows[SIDE_A].items[0]->kind)))
            continue;
        for (enum side side = SIDE_A; side < SIDES; side++)
            for (size_t k = 0; k < group->rows[side].count; k++) {
                output_text(sql, is_empty ? "VALUES " : ",\n    ");
                put_alike_row(sql, group->rows[side].items[k], side, i);
                is_empty = false;
            }
    }
    if (is_empty)
        output_text(sql, "SELECT '', '', '', '', '', 0 WHERE false");
    output_text(sql, "\n),\n");
}

bool diff_put_query(const struct diff *diff, struct text group, struct output *sql)
{
    unsigned kinds = 0;
    const char *query = find_group(group, &kinds);
    if (!query || diff->is_of_runs)
        return false;
    struct output definitions;
    output_memory(&definitions);
    for (enum side side = SIDE_A; side < SIDES; side++) {
        const struct diff_side *one = diff->sides[side];
        present_in_schema(one->present, letters[side]);
        put_definition(&definitions, one, side, "step", compare_sql_profile_steps);
        put_definition(&definitions, one, side, "device", compare_sql_profile_devices);
        if (kinds)
            put_values(&definitions, one, side, kinds);
    }
    if (kinds)
        put_alike(&definitions, diff, kinds);
    output_text(sql, "-- Tables of A are in the schema a, those of B in the schema b.\n");
    definitions_put(sql, &definitions, query);
    output_discard(&definitions);
    return true;
}
