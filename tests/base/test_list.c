/* The intrusive list, against an array that does the same. */
#include "base/list.h"
#include "base/rng.h"
#include "test.h"

#include <string.h>

struct item {
    int value;
    struct list_node node;
};

#define value_of(n) (list_item(n, struct item, node)->value)

static void expect_is(struct list *list, const int *values, int count) {
    int i = 0;
    list_each(list, node) {
        EXPECT(i < count);
        EXPECT_EQ(value_of(node), values[i]);
        EXPECT(node->next->prev == node && node->prev->next == node);
        i++;
    }
    EXPECT_EQ(i, count);
    EXPECT(list_empty(list) == (count == 0));
}

TEST(list_pushes_and_pops_at_both_ends) {
    struct list list;
    struct item a = {.value = 1}, b = {.value = 2}, c = {.value = 3};
    list_init(&list);
    EXPECT(list_empty(&list) && !list_front(&list) && !list_pop_front(&list) && !list_pop_back(&list));
    list_push_back(&list, &b.node);
    list_push_back(&list, &c.node);
    list_push_front(&list, &a.node);
    expect_is(&list, (int[]){1, 2, 3}, 3);
    EXPECT(list_front(&list) == &a.node && list_holds(&a.node));
    EXPECT(list_pop_back(&list) == &c.node && !list_holds(&c.node));
    EXPECT(list_pop_front(&list) == &a.node);
    expect_is(&list, (int[]){2}, 1);
}

TEST(list_removes_in_the_middle_and_while_walking) {
    struct list list;
    struct item items[5] = {0};
    list_init(&list);
    for (int i = 0; i < 5; i++) {
        items[i].value = i;
        list_push_back(&list, &items[i].node);
    }
    list_remove(&items[2].node);
    expect_is(&list, (int[]){0, 1, 3, 4}, 4);
    list_each(&list, node) if (value_of(node) != 1) list_remove(node);
    expect_is(&list, (int[]){1}, 1);
}

TEST(list_splices_in_order) {
    struct list one, two;
    struct item items[4] = {{1, {0}}, {2, {0}}, {3, {0}}, {4, {0}}};
    list_init(&one);
    list_init(&two);
    list_splice_back(&one, &two);
    expect_is(&one, NULL, 0);
    for (int i = 0; i < 4; i++)
        list_push_back(i < 2 ? &one : &two, &items[i].node);
    list_splice_back(&one, &two);
    expect_is(&one, (int[]){1, 2, 3, 4}, 4);
    expect_is(&two, NULL, 0);
    list_splice_back(&two, &one);
    expect_is(&two, (int[]){1, 2, 3, 4}, 4);
}

TEST(list_agrees_with_an_array) {
    enum { ITEMS = 16 };
    struct list list;
    struct item items[ITEMS];
    int array[ITEMS], count = 0;
    struct rng rng;
    rng_seed(&rng, test_seed(1), 0);
    list_init(&list);
    for (int i = 0; i < ITEMS; i++) {
        items[i].value = i;
        list_node_init(&items[i].node);
    }
    for (int step = 0; step < 20000; step++) {
        int i = (int)rng_below(&rng, ITEMS);
        if (list_holds(&items[i].node)) {
            list_remove(&items[i].node);
            int at = 0;
            while (array[at] != i)
                at++;
            memmove(array + at, array + at + 1, (size_t)(--count - at) * sizeof array[0]);
        } else if (rng_below(&rng, 2)) {
            list_push_front(&list, &items[i].node);
            memmove(array + 1, array, (size_t)count++ * sizeof array[0]);
            array[0] = i;
        } else {
            list_push_back(&list, &items[i].node);
            array[count++] = i;
        }
        expect_is(&list, array, count);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
