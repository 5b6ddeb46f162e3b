#include "chk.h"
#include "mutants_toy/toy.h"

SHARED struct toy toy;
SHARED bool answer[2];

static void publisher(void) { toy_publish(&toy, 7); }
static void consumer(void) {
    int data = toy_consume(&toy);
    chk_assert(data == 0 || data == 7, "all of it or nothing");
}
SCENARIO(toy_message, .about = "a value is handed over", .threads = {publisher, consumer})

static void hitter(void) { toy_hit(&toy); }
static void both_counted(void) { chk_assert(atom_load_rlx(&toy.hits) == 2, "both hits count"); }
SCENARIO(toy_count, .about = "two hits", .threads = {hitter, hitter}, .finish = both_counted)

static void enter_0(void) { answer[0] = toy_enter(&toy, 0); }
static void enter_1(void) { answer[1] = toy_enter(&toy, 1); }
static void not_both(void) { chk_assert(!(answer[0] && answer[1]), "at most one enters"); }
SCENARIO(toy_two_enter, .about = "two try to enter", .threads = {enter_0, enter_1}, .finish = not_both)

static void often(void) { answer[0] = toy_see_often(&toy); }
static void rarely(void) { answer[1] = toy_see_rarely(&toy); }
static void one_sees(void) { chk_assert(answer[0] || answer[1], "one sees the other"); }
SCENARIO(toy_asymmetric, .about = "a light fence meets a heavy one", .threads = {often, rarely}, .finish = one_sees)

static void scorer(void) { toy_score(&toy); }
static void peeker(void) { toy_score(&toy), chk_assert(toy_peek(&toy) == 0, "it is never written"); }
static void both_scored(void) { chk_assert(toy.score == 2, "both score"); }
SCENARIO(toy_scores, .about = "two add under a lock", .threads = {scorer, peeker}, .finish = both_scored)

/* What is meant to fail does not count against a mutant. */
SCENARIO(toy_flawed, .about = "expected to fail", .threads = {often, often}, .finish = one_sees, .flawed_in = CHK_ALL)

/* Nor does what is not meant for a model: in C11 and TSO nothing of this runs, which is no verdict. */
SCENARIO(toy_elsewhere, .about = "not for the models in which mutants are tried", .threads = {often, rarely}, .models = CHK_SC)
SCENARIO(toy_one_model, .about = "for one of them", .threads = {often, rarely}, .models = CHK_SC | CHK_TSO)
