/* Exit reasons: their kinds, their texts, and the details that several hold. */
#include "proc/reason.h"

#include "scripted.h"
#include "test.h"

#include <signal.h>
#include <string.h>

TEST(reason_kinds) {
    EXPECT_EQ(weft_reason_kind(0), WEFT_REASON_NORMAL);
    EXPECT_EQ(weft_reason_kind(7), WEFT_REASON_ERROR);
    EXPECT_EQ(weft_reason_kind(WEFT_EINVAL), WEFT_REASON_ERROR);
    EXPECT_EQ(weft_reason_kind(WEFT_EKILLED), WEFT_REASON_KILLED);
    EXPECT_EQ(weft_reason_kind(WEFT_ECANCELED), WEFT_REASON_CANCELLED);
    EXPECT_EQ(weft_reason_kind(WEFT_ETIMEDOUT), WEFT_REASON_DEADLINE);
    EXPECT_EQ(weft_reason_kind(WEFT_ESTACK), WEFT_REASON_STACK);
    EXPECT_EQ(weft_reason_kind(WEFT_ENOSTACK), WEFT_REASON_STACK);
    EXPECT_EQ(weft_reason_kind(WEFT_EFAULTED), WEFT_REASON_FAULT);
    EXPECT_EQ(weft_reason_kind(WEFT_ENOPROC), WEFT_REASON_NOPROC);
}

static void expect_text(weft_reason reason, const char *expected) {
    char text[128];
    EXPECT(weft_reason_text(&reason, text, sizeof text) == text);
    if (strcmp(text, expected) != 0) test_fail(__FILE__, __LINE__, "'%s', not '%s'", text, expected);
}
TEST(reason_texts) {
    expect_text((weft_reason){.code = 0}, "normal");
    expect_text((weft_reason){.code = 3}, "error 3");
    expect_text((weft_reason){.code = WEFT_EPIPE}, "error -32 (WEFT_EPIPE): the other end is closed");
    expect_text((weft_reason){.code = WEFT_ETIMEDOUT}, "error -110 (WEFT_ETIMEDOUT): the deadline has passed");
    expect_text((weft_reason){.code = WEFT_EKILLED}, "killed");
    expect_text((weft_reason){.code = WEFT_ECANCELED}, "cancelled");
    expect_text((weft_reason){.code = WEFT_ESTACK}, "stack overflow");
    expect_text((weft_reason){.code = WEFT_ENOSTACK}, "no stack");
    expect_text((weft_reason){.code = WEFT_ENOPROC}, "no such process");
    expect_text((weft_reason){.code = WEFT_EFAULTED, .signal = SIGBUS, .address = (void *)16}, "fault: SIGBUS at 0x10");
    expect_text((weft_reason){.code = WEFT_EFAULTED, .signal = SIGILL, .address = (void *)1}, "fault: SIGILL at 0x1");
    expect_text((weft_reason){.code = WEFT_EFAULTED, .signal = SIGUSR1, .address = (void *)1}, "fault: a signal at 0x1");
}
TEST(reason_text_is_cut_off) {
    char text[8] = "xxxxxxx";
    weft_reason_text(&(weft_reason){.code = WEFT_EKILLED}, text, 5);
    EXPECT(strcmp(text, "kill") == 0 && text[5] == 'x');
}

TEST(reason_detail_lives_until_the_last_has_dropped_it) {
    sys_scripted_install();
    struct reason_detail *detail = reason_detail_new(5, SIGSEGV, (void *)8, "why", 4);
    EXPECT(detail && reason_detail_hold(detail) == detail);
    weft_reason shown = reason_shown((struct reason){5, detail});
    reason_detail_drop(detail);
    EXPECT_EQ(shown.code, 5);
    EXPECT_EQ(shown.signal, SIGSEGV);
    EXPECT(shown.address == (void *)8 && shown.size == 4 && strcmp(shown.data, "why") == 0);
    EXPECT(sys_scripted_live() > 0);
    weft_reason_free(&shown);
    EXPECT_EQ(sys_scripted_live(), 0);
    EXPECT(!shown.data && !shown.keeper && shown.code == 5);
    weft_reason_free(&shown); /* again, and nothing */
    weft_reason_free(NULL);
    reason_detail_drop(NULL);
    EXPECT(!reason_detail_hold(NULL));
}
TEST(reason_without_data) {
    struct reason_detail *detail = reason_detail_new(5, 0, NULL, NULL, 0);
    weft_reason shown = reason_shown((struct reason){5, detail});
    EXPECT(!shown.data && shown.size == 0);
    weft_reason_free(&shown);
}
TEST(reason_detail_without_memory) {
    sys_scripted_install();
    sys_script.alloc_fail_from = 1;
    EXPECT(!reason_detail_new(5, 0, NULL, "why", 4));
    sys_script.alloc_fail_from = 0;
    EXPECT(!reason_detail_new(5, 0, NULL, "why", SIZE_MAX));
}

int main(int argc, char **argv) { return test_main(argc, argv); }
