/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opd_parallel: a pool of threads that is started on first use and grows to what was asked for. One piece of work at a time; a
 * second caller, or a part that asks again, works alone. After fork the child starts a pool of its own.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include <opsdebug/kernel.h>

enum { MAX_THREADS = 64 };

static struct pool {
    pthread_mutex_t owner; /* held by the caller whose work is being done */
    pthread_mutex_t lock;  /* of what follows */
    pthread_cond_t has_work, is_done;
    int started; /* helpers, the caller not counted */
    int wanted;  /* helpers that may still join this piece of work */
    int busy;
    void (*body)(void *context, int64_t part);
    void *context;
    int64_t parts;
    atomic_int_fast64_t next;
} pool = {
    .owner = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .has_work = PTHREAD_COND_INITIALIZER,
    .is_done = PTHREAD_COND_INITIALIZER,
};

static _Thread_local bool is_inside;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void forget_threads(void)
{
    pthread_mutex_init(&pool.owner, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.has_work, NULL);
    pthread_cond_init(&pool.is_done, NULL);
    pool.started = 0;
    pool.wanted = 0;
    pool.busy = 0;
}

static void watch_fork(void)
{
    pthread_atfork(NULL, NULL, forget_threads);
}

static void do_parts(void)
{
    int64_t part = 0;
    while ((part = atomic_fetch_add(&pool.next, 1)) < pool.parts) {
        pool.body(pool.context, part);
    }
}

static void *help(void *unused)
{
    is_inside = true;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.wanted == 0) {
            pthread_cond_wait(&pool.has_work, &pool.lock);
        }
        pool.wanted--;
        pool.busy++;
        pthread_mutex_unlock(&pool.lock);
        do_parts();
        pthread_mutex_lock(&pool.lock);
        pool.busy--;
        if (pool.busy == 0) {
            pthread_cond_signal(&pool.is_done);
        }
    }
    return unused;
}

/* Helpers take no signals: those are the program's. */
static void start_helpers(int count)
{
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (pool.started < count) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, help, NULL) != 0) {
            break;
        }
        pthread_detach(thread);
        pool.started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void opd_parallel(int32_t threads, int64_t parts, void (*body)(void *context, int64_t part), void *context)
{
    int64_t helpers = threads < parts ? threads - 1 : parts - 1;
    helpers = helpers > MAX_THREADS - 1 ? MAX_THREADS - 1 : helpers;
    if (helpers <= 0 || is_inside || pthread_mutex_trylock(&pool.owner) != 0) {
        for (int64_t part = 0; part < parts; part++) {
            body(context, part);
        }
        return;
    }
    pthread_once(&fork_once, watch_fork);
    is_inside = true;
    pthread_mutex_lock(&pool.lock);
    start_helpers((int)helpers);
    pool.body = body;
    pool.context = context;
    pool.parts = parts;
    atomic_store(&pool.next, 0);
    pool.wanted = (int)helpers < pool.started ? (int)helpers : pool.started;
    pthread_cond_broadcast(&pool.has_work);
    pthread_mutex_unlock(&pool.lock);
    do_parts();
    pthread_mutex_lock(&pool.lock);
    pool.wanted = 0; /* who has not come by now is not needed */
    while (pool.busy > 0) {
        pthread_cond_wait(&pool.is_done, &pool.lock);
    }
    pthread_mutex_unlock(&pool.lock);
    is_inside = false;
    pthread_mutex_unlock(&pool.owner);
}
