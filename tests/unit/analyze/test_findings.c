/*
 * Lists of findings: what each has from its rule, how long texts may be, how they are sorted.
 */
#include "analyze/findings/findings.h"

#include "support.h"

/* As an analysis has them. */
struct owner {
    struct findings findings;
};

TEST(a_finding_has_the_id_and_the_title_of_its_rule)
{
    struct owner owner = {0};
    const struct finding *finding = finding_add(&owner, RULE_HOST_BOUND, 7, 0.5, "the steps");
    assert_string_equal(finding->rule, "host-bound");
    assert_string_equal(finding->title, "The host hands over work too late");
    assert_string_equal(finding->text, "");
    assert_int_equal(finding->cost_ps, 7);
    assert_int_equal(finding->run.rank, -1);
    assert_true(findings_have(&owner.findings, RULE_HOST_BOUND));
    assert_false(findings_have(&owner.findings, RULE_IDLE));
    findings_free(&owner.findings);
    assert_int_equal(owner.findings.count, 0);
}

TEST(rules_on_different_data_may_share_an_id)
{
    struct owner owner = {0};
    finding_add(&owner, RULE_STEPS_RECOMPILATION, 1, 0.5, "the steps");
    assert_true(findings_have(&owner.findings, RULE_RECOMPILATION));
    findings_free(&owner.findings);
}

TEST(long_texts_are_cut_between_characters)
{
    enum { SIZE = 100 << 10, MOST = 64 << 10 };
    struct owner owner = {0};
    char *name = mem_zeroed(SIZE + 1, 1);
    name[0] = 'x';
    for (size_t i = 1; i + 1 < SIZE; i += 2)
        memcpy(name + i, "\u00e4", 2);
    const char *text = finding_text(&owner, "%s", name);
    assert_int_equal(strlen(text), MOST - 1); /* of the last character there is a half */
    assert_memory_equal(text, name, MOST - 1);
    assert_string_equal(finding_text(&owner, "%d of %s", 3, "4"), "3 of 4");
    mem_free(name);
    findings_free(&owner.findings);
}

TEST(no_more_evidence_is_kept_than_there_is_room_for)
{
    struct finding finding = {0};
    for (int64_t i = 0; i <= MAX_EVIDENCE; i++)
        finding_show(&finding, &(struct evidence){.from_ps = i});
    assert_int_equal(finding.evidence_count, MAX_EVIDENCE);
    assert_int_equal(finding.evidence[MAX_EVIDENCE - 1].from_ps, MAX_EVIDENCE - 1);
}

static void expect_order(finding_before *before, size_t first, const char *expected)
{
    struct owner owner = {0};
    finding_add(&owner, RULE_IDLE, 20, 0.1, "")->title = "a";
    finding_add(&owner, RULE_IDLE, 10, 0.3, "")->title = "b";
    finding_add(&owner, RULE_IDLE, 0, 0.9, "")->title = "c";
    finding_add(&owner, RULE_IDLE, 20, 0.1, "")->title = "d";
    owner.findings.items[0].run.cost_ns = owner.findings.items[3].run.cost_ns = 0.5;
    owner.findings.items[2].run.cost_ns = 0.75;
    findings_sort(&owner.findings, first, before);
    for (size_t i = 0; i < owner.findings.count; i++)
        assert_int_equal(owner.findings.items[i].title[0], expected[i]);
    findings_free(&owner.findings);
}

TEST(findings_are_sorted_by_cost_or_share_and_equal_ones_stay_in_order)
{
    expect_order(finding_costs_more, 0, "adbc");
    expect_order(finding_costs_more, 1, "adbc");
    expect_order(finding_costs_more, 2, "abdc");
    expect_order(finding_costs_more, 4, "abcd");
    expect_order(finding_has_more, 0, "badc");
    expect_order(finding_costs_run_more, 0, "cadb");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_has_the_id_and_the_title_of_its_rule),
        cmocka_unit_test(rules_on_different_data_may_share_an_id),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(no_more_evidence_is_kept_than_there_is_room_for),
        cmocka_unit_test(findings_are_sorted_by_cost_or_share_and_equal_ones_stay_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
