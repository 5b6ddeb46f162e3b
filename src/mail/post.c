/* weft_signal_send, and how signal handlers reach a runtime's list of posts: without a lock. Each handler is counted in and out (queue/visitors.h),
 * so that a runtime closes when none is inside. */
#include "mail/post.h"

#include "mail/send.h"
#include "queue/visitors.h"
#include "sched/atfork.h"
#include "sched/sched.h"

#include <weft/signal.h>

/* Static, so that they outlive runtimes: a signal handler may run at any time. */
static struct {
    struct visitors visitors;
    struct runtime *runtime;
} post_doors[INSTANCES];

void post_open(struct runtime *runtime) {
    post_doors[runtime->instance].runtime = runtime;
    visitors_open(&post_doors[runtime->instance].visitors);
}

void post_close(struct runtime *runtime) { visitors_close(&post_doors[runtime->instance].visitors); }

#if WEFT_SIM
bool post_close_if_empty(const struct runtime *runtime) {
    uint32_t found = VISITORS_OPEN;
    return atom_cas_acq_rlx(&post_doors[runtime->instance].visitors.word, &found, 0) || found == 0; /* acq: as in visitors_close */
}
#endif

/* The runtime, valid until post_leave; or NULL. Also NULL in a child made by fork, which has no sysmon to deliver. */
static struct runtime *post_enter(unsigned instance) {
    if (atom_load_rlx(&atfork_is_child)) return NULL; /* rlx: written by the child's only thread */
    return visitors_enter(&post_doors[instance].visitors) ? post_doors[instance].runtime : NULL;
}

static void post_leave(struct runtime *runtime) { visitors_leave(&post_doors[runtime->instance].visitors); }

bool post_is_open(unsigned instance) {
    struct runtime *runtime = post_enter(instance);
    if (runtime) post_leave(runtime);
    return runtime != NULL;
}

void post_expect(unsigned instance, uint32_t by) {
    struct runtime *runtime = post_enter(instance);
    if (!runtime) return;
    atom_add_rlx(&runtime->expected, by); /* rlx: a number */
    post_leave(runtime);
}

static void post_hand_in(struct runtime *runtime, struct posted *posted) {
    posts_push(&runtime->posts, posted);
    parker_unpark(&runtime->sysmon.parker);
}

bool post_put(unsigned instance, struct posted *posted) {
    struct runtime *runtime = post_enter(instance);
    if (!runtime) return false;
    post_hand_in(runtime, posted);
    post_leave(runtime);
    return true;
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

static bool post_deliver(struct posted *posted) {
    struct post *post = (struct post *)posted;
    int error = send_past_bounds(post->to, post->tag, post->data, post->size);
    if (error == WEFT_ENOMEM || error == WEFT_ENOBUFS) return false; /* there is no memory for it now */
    post_free(post);
    return true;
}

/* Not memcpy: a debugging tool may have replaced it by one that is not async-signal-safe. */
static void post_copy(struct post *post, const unsigned char *data) {
    for (uint32_t i = 0; i < post->size; i++)
        ((volatile unsigned char *)post->data)[i] = data[i];
}

static int post_message(struct runtime *runtime, weft_pid to, uint64_t tag, const void *data, size_t size) {
    struct post *post = posts_claim(&runtime->posts);
    if (!post) return WEFT_EAGAIN;
    post->posted.deliver = post_deliver;
    post->to = to;
    post->tag = tag;
    post->size = (uint32_t)size;
    post_copy(post, data);
    post_hand_in(runtime, &post->posted);
    return 0;
}

int weft_signal_send(weft_pid to, uint64_t tag, const void *data, size_t size) {
    _Static_assert((int)POST_BYTES == (int)WEFT_SIGNAL_SEND_MOST, "what the header promises");
    if (size > POST_BYTES) return WEFT_EMSGSIZE;
    struct runtime *runtime = post_enter(pid_instance(to));
    if (!runtime) return WEFT_EFOREIGN;
    int error = post_message(runtime, to, tag, data, size);
    post_leave(runtime);
    return error;
}
