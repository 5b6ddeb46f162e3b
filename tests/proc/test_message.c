/* Messages: small ones from the pool, large ones from the system, none when there is no memory. */
#include "proc/message.h"
#include "scripted.h"
#include "test.h"

static struct pool pool;
static struct pool_cache rooms;
static struct message_cache cache = {.rooms = &rooms};

static void begin(void) {
    sys_scripted_install();
    pool_init(&pool);
    cache_init(&rooms, &pool);
    cache_init(&cache.pool, &message_pool);
}
static void end(void) {
    pool_destroy(&pool);
    cache_flush(&cache.pool);
    pool_trim_all(&message_pool); /* nothing is in use */
    EXPECT_EQ(sys_scripted_live(), 0);
}

TEST(message_takes_the_smallest_block_that_fits) {
    begin();
    for (size_t size = 0; size < 5000; size += size < 200 ? 1 : 97) {
        struct message *message = message_new(&cache, size);
        EXPECT(message);
        EXPECT_EQ(message->size, size);
        EXPECT_EQ((uintptr_t)message->data % 8, 0);
        if (message->class < POOL_CLASSES) {
            EXPECT(sizeof *message + size <= pool_class_size(message->class));
            EXPECT(message->class == 0 || sizeof *message + size > pool_class_size(message->class - 1));
        } else {
            EXPECT(sizeof *message + size > pool_class_size(POOL_CLASSES - 1));
        }
        memset(message->data, 0xee, size);
        EXPECT(message_of(&message->node) == message);
        message_free(&cache, message);
    }
    end();
}

TEST(message_large_ones_go_back_to_the_system) {
    begin();
    struct message *messages[20];
    uint64_t before = sys_scripted_live();
    for (unsigned i = 0; i < 20; i++)
        EXPECT(messages[i] = message_new(&cache, 3000 + 20000 * i));
    EXPECT_EQ(sys_scripted_live(), before + 20);
    for (unsigned i = 0; i < 20; i++) {
        EXPECT_EQ(messages[i]->size, 3000 + 20000 * i);
        message_free(&cache, messages[i]);
    }
    EXPECT_EQ(sys_scripted_live(), before);
    end();
}

TEST(message_without_memory) {
    begin();
    sys_script.alloc_fail_from = 1;
    for (size_t size = 0; size < 200000; size = size * 3 + 1)
        EXPECT(!message_new(&cache, size));
    sys_script.alloc_fail_from = 0;
    EXPECT(!message_new(&cache, (size_t)UINT32_MAX + 1)); /* its size would not fit */
    EXPECT(!message_new(&cache, SIZE_MAX));
    EXPECT(!message_new(&cache, SIZE_MAX - sizeof(struct message) + 1));
    end();
}

/* At most a fifth of a block is not used. */
TEST(message_blocks_do_not_waste_half) {
    begin();
    for (size_t size = 40; size <= 2000; size += 20) {
        struct message *message = message_new(&cache, size);
        EXPECT(message->class < POOL_CLASSES);
        EXPECT(pool_class_size(message->class) * 4 / 5 <= sizeof *message + size);
        message_free(&cache, message);
    }
    end();
}

/* Rooms for completions are of the other pool, and go with it. */
TEST(message_rooms_go_with_their_pool) {
    begin();
    for (unsigned i = 0; i < 1000; i++) {
        struct message *room = message_new_room(&cache, i % 50);
        EXPECT(room);
        EXPECT_EQ(room->size, i % 50);
        EXPECT(message_capacity(room) >= i % 50);
        if (i % 2) message_free(&cache, room);
    }
    EXPECT(!message_pool.chunks);
    end();
}

static unsigned released;
static char user;
static void release(void *buffer, size_t size, void *given) {
    EXPECT(buffer == &released && size == 77 && given == &user);
    released++;
}
static struct message *moved(weft_release with) { return message_new_moved(&cache, &(struct message_moved){&released, 77, with, &user}); }

TEST(message_moved_is_released_once) {
    begin();
    for (unsigned i = 0; i < 200; i++) {
        struct message *message = moved(i % 2 ? release : NULL);
        EXPECT(message);
        struct message_payload payload = message_payload(message);
        EXPECT(payload.data == &released);
        EXPECT_EQ(payload.size, 77);
        message_free(&cache, message);
        EXPECT_EQ(released, (i + 1) / 2);
    }
    end();
}

TEST(message_payload_of_each_type) {
    begin();
    static const struct {
        uint8_t type;
        size_t before;
    } types[] = {{WEFT_EVENT_MESSAGE, 0}, {WEFT_EVENT_COMPLETION, 0}, {WEFT_EVENT_REQUEST, 16}, {MESSAGE_REPLY, 16}};
    for (unsigned i = 0; i < 4; i++)
        for (size_t size = types[i].before; size < 5000; size += 1111) {
            struct message *message = message_new(&cache, size);
            message->type = types[i].type;
            struct message_payload payload = message_payload(message);
            EXPECT(payload.data == message->data + types[i].before);
            EXPECT_EQ(payload.size, size - types[i].before);
            message_free(&cache, message);
        }
    end();
}

/* By threads without a cache. */
TEST(message_is_freed_anywhere) {
    begin();
    released = 0;
    for (unsigned i = 0; i < 3000; i++) {
        struct message *message = i % 3 ? message_new(&cache, i) : moved(release);
        EXPECT(message);
        message_free_anywhere(message);
    }
    EXPECT_EQ(released, 1000);
    end();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
