/*
 * Lines of text around tables.
 */
#include "export/lines.h"

void put_labeled(struct output *out, const char *label, const char *value)
{
    output_format(out, "  %-10s ", label);
    put_printable(out, text_of(value));
    output_char(out, '\n');
}

void put_heading(struct output *out, const struct text_style *style, const char *heading)
{
    output_format(out, "\n%s%s%s\n", style->colored ? "\033[1m" : "", heading,
                  style->colored ? "\033[0m" : "");
}

void put_messages_text(const struct catalog *catalog, const struct text_style *style,
                       struct output *out)
{
    bool is_first = true;
    const struct message *message;
    array_each (message, &catalog->messages) {
        if (message_is_drops(catalog, message))
            continue; /* reported first, on standard error */
        if (is_first)
            put_heading(out, style, "Messages of the capture");
        is_first = false;
        struct text host = catalog_text(catalog, catalog->hosts.items[message->host].name);
        struct text text = catalog_text(catalog, message->text);
        output_text(out, message->is_error ? "  error from " : "  warning from ");
        put_printable(out, host);
        output_text(out, ": ");
        put_printable(out, text);
        output_char(out, '\n');
    }
}

size_t rows_shown(size_t count, const struct text_style *style)
{
    return count < style->top ? count : style->top;
}

void put_omitted(size_t shown, size_t count, struct output *out)
{
    char text[QUANTITY_SIZE];
    if (count > shown)
        output_format(out, "  ... and %s more\n", format_count(count - shown, text));
}
