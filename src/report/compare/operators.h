/*
 * Inside diff: what operators are told apart by, as columns of queries.
 */
#ifndef KYMO_REPORT_COMPARE_OPERATORS_H
#define KYMO_REPORT_COMPARE_OPERATORS_H

#define WITHOUT_LAYOUT(shape) "regexp_replace(coalesce(" shape ", ''), '\\{[^}]*\\}', '', 'g')"
#define LAST_OF(path)         "nullif(regexp_extract(" path ", '[^/]+$'), '')"
#define BEFORE_OF(path)       "coalesce(nullif(regexp_extract(" path ", '^(.*)/[^/]+$', 1), ''), '')"

/* Of HloOperation. */
#define HLO_COLUMNS                                                                                \
    "coalesce(" LAST_OF("op_name") ", opcode) AS name, " BEFORE_OF(                                \
        "op_name") " AS layer, " WITHOUT_LAYOUT("shape") " AS shape"
/* Of SystemProfileEvents, the call of an operator of PyTorch. */
#define CALL_COLUMNS                                                                               \
    "json_extract_string(extra_attributes_json, '$.\"Module Hierarchy\"') AS layer,"               \
    " json_extract(extra_attributes_json, '$.\"Input Dims\"')::VARCHAR AS shape"

#define NO_OPERATOR "'(no operator known)'"

#endif
