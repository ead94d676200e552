/*
 * kymo --show-profile-schema: prints the tables and columns of processed profiles.
 */
#include "cli/cli.h"
#include "store/tables/store.h"

#include <stdio.h>

static void print_field(const struct field *field, int name_width)
{
    char type[32];
    snprintf(type, sizeof type, "%s%s", field_type_name(field->type), field->required ? "" : "?");
    printf("  %-*s  %-13s %-4s %s", name_width, field->name, type, field->unit, field->meaning);
    if (field->choices)
        printf(" One of: %s.", field->choices);
    printf(" Example: %s\n", field->example);
}

int print_profile_schema(void)
{
    printf(
        "Tables of a profile, schema %s. Tables without rows are not written, "
        "except\nSystemProfileEvents. Columns: name, type (? if it may be NULL), unit, meaning.\n",
        SCHEMA_VERSION);
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        const struct table_schema *table = &table_schemas[i];
        int width = 0;
        for (size_t k = 0; k < table->field_count; k++)
            if ((int)strlen(table->fields[k].name) > width)
                width = (int)strlen(table->fields[k].name);
        printf("\n%s: %s\n", table->name, table->meaning);
        for (size_t k = 0; k < table->field_count; k++)
            print_field(&table->fields[k], width);
    }
    return finish_printing();
}
