/* SPDX-License-Identifier: Apache-2.0
 * runner_test FOLDER: who asks the runner for a run may be a kernel that has taken over its process. Whatever device it names, the run has no rights but those of
 * the devices that the user named. The runner executes this program again, which then tries what NVIDIA's driver may. */
#define _GNU_SOURCE
#include "impl/base/confine.h"
#include "replay/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HAS = 10, LACKS, NONE = 77 };
static int failures;

/* In the run. */
static int
names_thread(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)gettid());
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, "named", 5) == 5 ? HAS : LACKS;
}

/* In a process of its own, since there is one runner in each. */
static void
asks(const char *folder, bool nvidia, const char *on, int want)
{
    const struct cw_confinement c = { .temp = folder, .nvidia = nvidia };
    struct cwl_job job = { .seconds = 100 };
    int status = 0;
    const pid_t child = fork();
    if (!child) {
        snprintf(job.on, sizeof job.on, "%s", on);
        snprintf(job.files, sizeof job.files, "%s/0", folder);
        if (!cwl_runner_start(&c) || !cwl_runner_run(&job, NULL, &status))
            _exit(1);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != want) {
        fprintf(stderr, "%s, where the user named %s: status %#x, not %d\n", on, nvidia ? "NVIDIA's" : "the host", (unsigned)status, want);
        failures++;
    }
}

int
main(int argc, char **argv)
{
    struct cw_confine_error e = { "" };
    int status = 0;
    if (argc > 2)
        return names_thread();
    if (argc != 2 || (mkdir(argv[1], 0700) && errno != EEXIST))
        return 2;
    const pid_t child = fork();
    if (!child) {
        const bool can = cw_confine(&(struct cw_confinement){ .temp = argv[1] }, &e) == CW_OK;
        if (!can)
            printf("%s\n", e.text);
        fflush(NULL);
        _exit(can ? 0 : NONE);
    }
    waitpid(child, &status, 0);
    if (status)
        return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
    asks(argv[1], true, "cuda", HAS);
    asks(argv[1], true, "cuda-native:O0", HAS);
    asks(argv[1], true, "host", LACKS);
    asks(argv[1], false, "host", LACKS);
    asks(argv[1], false, "cuda", LACKS);
    asks(argv[1], false, "cuda-native", LACKS);
    return failures != 0;
}
