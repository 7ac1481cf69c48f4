#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "CoherenceRuntime.h"

#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif
#endif

#if !defined(MAP_NORESERVE)
#define MAP_NORESERVE 0
#endif
#if !defined(MAP_STACK)
#define MAP_STACK 0
#endif

/// The lowest address of the stack that the thread runs on. 0 before the first request, 1 if it is unknown.
static _Thread_local uintptr_t stack_end;

static uintptr_t end_of_thread_stack(void) {
#if defined(__APPLE__)
    pthread_t thread = pthread_self();
    return (uintptr_t)pthread_get_stackaddr_np(thread) - pthread_get_stacksize_np(thread);
#elif defined(__linux__)
    pthread_attr_t attributes;
    void *start = NULL;
    size_t size = 0, guard = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 1;
    int failure = pthread_attr_getstack(&attributes, &start, &size);
    if (failure == 0) failure = pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    // Systems differ in whether the guard is a part of the stack that they report.
    return failure == 0 && start != NULL ? (uintptr_t)start + guard : 1;
#else
    return 1;
#endif
}

size_t coherence_frame_count(size_t limit) {
#if defined(__linux__)
    pthread_attr_t attributes;
    void *start = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
    int failure = pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    if (failure != 0 || start == NULL) return 0;
    uintptr_t top = (uintptr_t)start + size;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (frame < (uintptr_t)start) return 0;
    size_t count = 0;
    // A frame holds the address of its caller's frame, and the return address.
    while (count < limit && frame % sizeof(uintptr_t) == 0 && frame < top && top - frame >= 2 * sizeof(uintptr_t)) {
        count += 1;
        uintptr_t next = *(const uintptr_t *)frame;
        if (next <= frame) break;
        frame = next;
    }
    return count;
#else
    (void)limit;
    return 0;
#endif
}

bool coherence_has_stack(size_t bytes) {
    if (stack_end == 0) stack_end = end_of_thread_stack();
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    // An address below the end belongs to another stack, such as a fiber's, of unknown size.
    return here < stack_end || here - stack_end > bytes;
}

/// Moves the stack pointer, calls the function, and restores the pointer from a register that the callee preserves.
__attribute__((noinline)) static void call_on(void *top, void (*body)(void *), void *argument) {
#if defined(__x86_64__)
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %[top], %%rsp\n\t"
                     "callq *%[body]\n\t"
                     "movq %%rbx, %%rsp"
                     : "+D"(argument)
                     : [top] "r"(top), [body] "r"(body)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                       "xmm13", "xmm14", "xmm15");
#elif defined(__aarch64__)
    register void *first __asm__("x0") = argument;
    __asm__ volatile("mov x20, sp\n\t"
                     "mov sp, %[top]\n\t"
                     "blr %[body]\n\t"
                     "mov sp, x20"
                     : "+r"(first)
                     : [top] "r"(top), [body] "r"(body)
                     :
#if !defined(__APPLE__)
                       "x18",
#endif
                       "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                       "x16", "x17", "x20", "x30", "memory", "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8",
                       "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22",
                       "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
#else
    (void)top;
    body(argument);
#endif
}

void coherence_call_on_stack(size_t bytes, void (*body)(void *), void *argument) {
#if defined(__x86_64__) || defined(__aarch64__)
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (bytes + page - 1) / page * page + page;
    char *start = mmap(
        NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (start == MAP_FAILED) return body(argument);
    // The page below the stack is a guard page.
    mprotect(start, page, PROT_NONE);
    uintptr_t former = stack_end;
    stack_end = (uintptr_t)start + page;
#if defined(WITH_THREAD_SANITIZER)
    // The sanitizer keeps a list of calls for each stack, of a fixed length.
    void *caller = __tsan_get_current_fiber(), *fiber = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(fiber, 0);
#endif
    call_on(start + size, body, argument);
#if defined(WITH_THREAD_SANITIZER)
    __tsan_switch_to_fiber(caller, 0);
    __tsan_destroy_fiber(fiber);
#endif
    stack_end = former;
    munmap(start, size);
#else
    (void)bytes;
    body(argument);
#endif
}
