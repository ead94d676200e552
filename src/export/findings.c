/*
 * Findings as text and as JSON.
 */
#include "export/describe.h"
#include "export/table.h"

/* Writes words into lines of the style's width, each after `indent` blanks. */
static void put_wrapped(struct output *out, const struct text_style *style, size_t indent,
                        const char *text)
{
    size_t room = style->width > indent + 20 ? style->width - indent : 20, used = 0;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (used > 0 && used + 1 + word > room) {
            output_char(out, '\n');
            used = 0;
        }
        if (used == 0)
            output_format(out, "%*s", (int)indent, "");
        else
            output_char(out, ' ');
        put_printable(out, (struct text){text, word});
        used += (used > 0) + word;
        text += word;
        text += *text == ' ';
    }
    output_char(out, '\n');
}

void put_findings_text(const struct analysis *analysis, const struct text_style *style,
                       struct output *out)
{
    put_heading(out, style, "Findings");
    if (analysis->findings.count == 0) {
        output_text(out, "  none: nothing that costs 3 % or more was found\n");
        return;
    }
    size_t number = 0;
    const struct finding *finding;
    array_each (finding, &analysis->findings) {
        char cost[QUANTITY_SIZE];
        output_format(out, "  %zu. %s%s%s: %s, %.0f %% of %s\n", ++number,
                      style->coloured ? "\033[1m" : "", finding->title,
                      style->coloured ? "\033[0m" : "", format_ps((double)finding->cost_ps, cost),
                      100 * finding->share, finding->share_of);
        put_wrapped(out, style, 5, finding->text);
        put_wrapped(out, style, 5, finding->advice);
    }
}

void put_findings_json(struct json *json, const struct analysis *analysis)
{
    json_key(json, "findings");
    json_open(json, '[');
    const struct finding *finding;
    array_each (finding, &analysis->findings) {
        json_open_row(json, '{');
        json_put_text(json, "rule", text_of(finding->rule));
        json_put_text(json, "title", text_of(finding->title));
        json_put_text(json, "text", text_of(finding->text));
        json_put_text(json, "advice", text_of(finding->advice));
        json_put_double(json, "cost_ns", (double)finding->cost_ps / 1e3);
        json_put_double(json, "share", finding->share);
        json_put_text(json, "share_of", text_of(finding->share_of));
        json_put_text(json, "sql", text_of(finding->sql));
        json_key(json, "evidence");
        json_open(json, '[');
        for (size_t i = 0; i < finding->evidence_count; i++) {
            const struct evidence *evidence = &finding->evidence[i];
            json_open(json, '{');
            json_put_text(json, "label", text_of(evidence->label));
            json_put_int(json, "from_ps", evidence->from_ps);
            json_put_int(json, "to_ps", evidence->to_ps);
            json_close(json, '}');
        }
        json_close(json, ']');
        json_close_row(json, '}');
    }
    json_close(json, ']');
}
