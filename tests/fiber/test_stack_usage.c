/* High-water marks by entry function. */
#include "victim.h"

#include "fiber/stack_usage.h"

static __attribute__((noinline)) void use(size_t bytes) {
    volatile char *room = alloca(bytes);
    for (size_t i = bytes; i > 512; i -= 512)
        room[i - 1] = 1;
    atom_store_rlx(&victim_sink, room[0]);
}

static atom_u64 ended;
static void shallow(void *arg) {
    (void)arg;
    atom_add_rel(&ended, 1);
}
static void deep(void *arg) {
    use((size_t)(uintptr_t)arg);
    weft_yield();
    atom_add_rel(&ended, 1);
}

static bool mark_of(weft_entry entry, size_t size, weft_stack_mark *mark) {
    weft_stack_mark marks[16];
    size_t count = weft_stack_marks(rt.runtime, marks, 16);
    EXPECT(count <= 16);
    for (size_t i = 0; i < count; i++)
        if (marks[i].entry == entry && marks[i].stack_size == size) {
            *mark = marks[i];
            return true;
        }
    return false;
}

static void tells_deep_from_shallow(void) {
    atom_store_rlx(&ended, 0);
    EXPECT_EQ(weft_stack_marks(rt.runtime, NULL, 0), 0);
    for (unsigned i = 0; i < 20; i++) {
        /* One after the other, on the same stacks: the mark of one must not be that of its predecessor. */
        weft_pid pid = i % 2 ? victim_spawn(deep, (void *)(uintptr_t)(i < 10 ? 30000 : 40000), 64 << 10, "diver")
                             : victim_spawn(shallow, NULL, 64 << 10, NULL);
        rt_wait(&ended, i + 1);
        while (weft_alive(pid))
            usleep(10);
    }
    weft_stack_mark mark;
    rt_wait_until_none_lives();
    EXPECT(mark_of(deep, 64 << 10, &mark));
    EXPECT(strcmp(mark.name, "diver") == 0);
    EXPECT(mark.measured > 0 && mark.measured <= 10 && mark.overflows == 0);
    EXPECT(mark.high_water >= 40000 && mark.high_water < 60000);
    EXPECT(mark_of(shallow, 64 << 10, &mark));
    EXPECT(!mark.name[0]);
    /* What the process itself needs, and its frames; sanitizers make it more. */
    EXPECT(mark.high_water >= 512 && mark.high_water <= (SANITIZED ? 30000 : 8192));
    EXPECT(!mark_of(shallow, 128 << 10, &mark));
}
TEST(stack_usage_tell_deep_from_shallow) { rt_each(tells_deep_from_shallow); }

/* Only as many as there is room for are written, and all are counted. */
static void few(void) {
    weft_stack_mark marks[3] = {{.stack_size = 1}, {.stack_size = 1}, {.stack_size = 1}};
    atom_store_rlx(&ended, 0);
    for (unsigned i = 0; i < 4; i++)
        victim_spawn(shallow, NULL, (size_t)(16 << 10) << i, NULL);
    rt_wait(&ended, 4);
    rt_wait_until_none_lives();
    size_t all = weft_stack_marks(rt.runtime, NULL, 0);
    EXPECT(all >= 1 && all <= 4); /* those born on another's stack are not measured */
    EXPECT_EQ(weft_stack_marks(rt.runtime, marks, 1), all);
    EXPECT(marks[0].entry == shallow && marks[1].stack_size == 1);
}
TEST(stack_usage_are_counted_and_written) { rt_each(few); }

/* More kinds than are kept: nothing breaks. */
static void from_table(void *arg) { atom_add_rel((atom_u64 *)arg, 1); }
TEST(stack_usage_table_can_be_full) {
    struct proc *proc = calloc(1, sizeof *proc); /* not a real one: only what marks look at */
    rt_start("ring", 1);
    struct runtime *runtime = (struct runtime *)rt.runtime;
    struct stack_cache cache;
    stack_cache_init(&cache, &runtime->stacks);
    struct stack *stack = stack_take(&cache, 0);
    EXPECT(proc && stack);
    for (uintptr_t i = 1; i <= STACK_USAGE_MOST + 50; i++) {
        fiber_start_of(proc)->entry = (weft_entry)i;
        stack_usage_end(runtime, proc, stack, i % 2);
    }
    EXPECT_EQ(weft_stack_marks(rt.runtime, NULL, 0), STACK_USAGE_MOST);
    stack_give(&cache, stack);
    stack_cache_flush(&cache);
    atom_store_rlx(&ended, 0);
    victim_spawn(from_table, &ended, 0, NULL);
    rt_wait(&ended, 1);
    rt_stop();
    free(proc);
}

/* No memory for the table: no marks, and no harm. */
TEST(stack_usage_without_memory) {
    if (ANNOTATE_THREAD) return; /* the script is changed while it is read */
    rt_start("ring", 1);
    atom_store_rlx(&ended, 0);
    victim_spawn(shallow, NULL, 0, NULL); /* what a first process needs is there afterwards */
    rt_wait(&ended, 1);
    rt_wait_until_none_lives();
    sys_scripted_recount();
    sys_script.alloc_fail_from = 1;
    victim_spawn(shallow, NULL, 0, NULL);
    rt_wait(&ended, 2);
    sys_script.alloc_fail_from = 0;
    rt_stop();
}

static atom_u64 used_before, used_after;
static void asks(void *arg) {
    (void)arg;
    atom_store_rlx(&used_before, weft_stack_used());
    use(50000);
    atom_store_rlx(&used_after, weft_stack_used());
    atom_add_rel(&ended, 1);
}
TEST(stack_usage_of_oneself) {
    rt_start("ring", 1);
    atom_store_rlx(&ended, 0);
    victim_spawn(asks, NULL, 128 << 10, NULL);
    rt_wait(&ended, 1);
    EXPECT(atom_load_rlx(&used_before) < 40000);
    EXPECT(atom_load_rlx(&used_after) >= 50000);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
