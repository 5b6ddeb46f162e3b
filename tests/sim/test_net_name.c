/* Names in the simulated world: the table that a program fills. */
#include "net_programs.h"

#include <weft/sim.h>

enum { SEEDS = 100 };

static int resolve(const char *host, weft_addr list[4]) { return weft_resolve(host, "80", NULL, list, 4, WEFT_FOREVER); }

static void addresses(void) {
    weft_addr list[4];
    char text[64];
    NEED(weft_sim_name("db.example", "10.0.0.7") == 0 && weft_sim_name("db.example", "fd00::7") == 0);
    NEED(weft_sim_name("db.example", "no address") == WEFT_EINVAL && weft_sim_name("other.example", "10.0.0.8") == 0);
    NEED(resolve("localhost.", list) == 2 && resolve("db.example.", list) == 2 && resolve("DB.example", list) == 2);
    NEED(strcmp(weft_addr_text(&list[0], text, sizeof text), "10.0.0.7:80") == 0);
    NEED(strcmp(weft_addr_text(&list[1], text, sizeof text), "[fd00::7]:80") == 0);
    NEED(resolve("nobody.example", list) == WEFT_ENOENT && resolve("localhost", list) == 2);
    NEED(weft_sim_name("db.example", NULL) == 0 && resolve("db.example", list) == WEFT_ENOENT);
    NEED(weft_sim_name("never.example", NULL) == 0 && resolve("other.example", list) == 1);
    NEED(weft_sim_name("dotted.example.", "10.0.0.9") == 0 && resolve("dotted.example", list) == 1 &&
         resolve("dotted", list) == WEFT_ENOENT);
    NEED(weft_sim_name("", "10.0.0.9") == WEFT_EINVAL && weft_sim_name_delay(NULL, 1) == WEFT_EINVAL);
}
PROGRAM(addresses)
TEST_WITHIN(names_come_from_the_table, 120) { seeds_pass(1, SEEDS, addresses_body); }

static void errors_and_delays(void) {
    weft_addr list[4];
    NEED(weft_sim_name("db.example", "10.0.0.7") == 0 && weft_sim_name_error("db.example", WEFT_EAGAIN) == 0);
    NEED(resolve("db.example", list) == WEFT_EAGAIN && weft_sim_name_error("db.example", 5) == WEFT_EINVAL);
    NEED(weft_sim_name_error("db.example", 0) == 0 && resolve("db.example", list) == 1);
    uint64_t begun = weft_now();
    NEED(weft_sim_name_delay("db.example", 10 * SECOND) == 0 && resolve("db.example", list) == 1);
    NEED(weft_now() >= begun + 10 * SECOND);
    NEED(weft_resolve("db.example", "80", NULL, list, 4, weft_in(5 * SECOND)) == WEFT_ETIMEDOUT);
    NEED(weft_sim_name("db.example", NULL) == 0 && weft_sim_name("db.example", "10.0.0.9") == 0); /* the delay is forgotten too */
    NEED(weft_resolve("db.example", "80", NULL, list, 4, weft_in(5 * SECOND)) == 1);
}
PROGRAM(errors_and_delays)
TEST_WITHIN(a_name_fails_or_takes_long, 120) { seeds_pass(1, SEEDS, errors_and_delays_body); }

/* The thread that looks it up is still there at the end. */
static void never_answers(void) {
    weft_addr list[4];
    NEED(weft_sim_name_delay("db.example", UINT64_MAX) == 0);
    NEED(weft_resolve("db.example", "80", NULL, list, 4, weft_in(5 * SECOND)) == WEFT_ETIMEDOUT);
}
PROGRAM(never_answers)
TEST_WITHIN(a_name_may_never_be_answered, 60) {
    struct seed_result result;
    seed_run(1, never_answers_body, &result);
    EXPECT(strstr(result.line, "verdict=unstopped"));
}

/* A client that connects by name reaches the second address when none listens at the first. */
static void connects(void) {
    char text[64];
    weft_fd listener = net_listen_at("127.0.0.1:900", 0, text, sizeof text);
    NEED(weft_sim_name("service.example", "127.0.0.9") == 0 && weft_sim_name("service.example", "127.0.0.1") == 0);
    weft_fd fd = weft_net_connect_name("service.example", "900", WEFT_FOREVER);
    NEED(fd > 0 && weft_fd_close(fd) == 0 && weft_fd_close(listener) == 0);
}
PROGRAM(connects)
TEST_WITHIN(one_address_after_the_other_is_tried, 120) { seeds_pass(1, SEEDS, connects_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
