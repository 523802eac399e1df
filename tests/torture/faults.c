/*
 * Fails, or kills, the nth call that changes a file below a directory. Preloaded into every process of a case.
 *
 * The state is a file that all processes of a case map (TORTURE_STATE, of struct state): the runner arms it, each
 * watched call counts itself, and the one whose number is reached fails with an errno or kills its process group.
 * Calls on files elsewhere (caches, logs, /proc) pass through and do not count.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_FD 65536
#define KILL_ACTION -1

struct state {
    atomic_long calls;      /* watched calls so far */
    long nth;               /* the call that fails, counted from 1; 0: none */
    long action;            /* errno, or KILL_ACTION */
    long lasting;           /* whether every later call fails, too */
    atomic_long hits;       /* calls that failed */
    char directory[1024];   /* what is watched, absolute */
    char place[1024];       /* "call path" of the first call that failed */
};

static struct state *state;
static unsigned char watched[MAX_FD];

__attribute__((constructor)) static void attach(void)
{
    const char *path = getenv("TORTURE_STATE");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR) : -1;
    if (fd < 0)
        return;
    void *map = mmap(NULL, sizeof(struct state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map != MAP_FAILED)
        state = map;
}

static int below(int dirfd, const char *path)
{
    char full[PATH_MAX * 2], base[PATH_MAX] = "";
    if (!state || !path || !state->directory[0])
        return 0;
    if (path[0] != '/') {
        if (dirfd == AT_FDCWD) {
            if (!getcwd(base, sizeof base))
                return 0;
        } else {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd);
            ssize_t n = readlink(link, base, sizeof base - 1);
            if (n < 0)
                return 0;
            base[n] = 0;
        }
    }
    snprintf(full, sizeof full, "%s%s%s", base, path[0] == '/' ? "" : "/", path);
    size_t length = strlen(state->directory);
    return strncmp(full, state->directory, length) == 0 && (full[length] == '/' || full[length] == 0);
}

/* Count one watched call; return whether it has to fail, with errno set. */
static int strikes(const char *call, const char *path)
{
    int saved = errno;
    long number = atomic_fetch_add(&state->calls, 1) + 1;
    if (!state->nth || number < state->nth || (number > state->nth && !state->lasting))
        return errno = saved, 0;
    if (atomic_fetch_add(&state->hits, 1) == 0)
        snprintf(state->place, sizeof state->place, "%s %s", call, path ? path : "");
    if (state->action == KILL_ACTION) {
        kill(0, SIGKILL);
        pause();
    }
    errno = (int)state->action;
    return 1;
}

static int strikes_fd(const char *call, int fd)
{
    char link[64], path[PATH_MAX];
    if (!state || fd < 0 || fd >= MAX_FD || !watched[fd])
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n < 0 ? 0 : n] = 0;
    return strikes(call, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int opened(int fd, int is_watched)
{
    if (fd >= 0 && fd < MAX_FD)
        watched[fd] = (unsigned char)is_watched;
    return fd;
}

#define OPEN(name, dirfd, args)                                               \
    {                                                                         \
        mode_t mode = 0;                                                      \
        if (flags & (O_CREAT | O_TMPFILE)) {                                  \
            va_list list;                                                     \
            va_start(list, flags);                                            \
            mode = va_arg(list, mode_t);                                      \
            va_end(list);                                                     \
        }                                                                     \
        int writes = (flags & O_ACCMODE) != O_RDONLY && below(dirfd, path);   \
        if (writes && strikes("open", path))                                  \
            return -1;                                                        \
        return opened(REAL(name) args, writes);                               \
    }

int open(const char *path, int flags, ...) OPEN(open, AT_FDCWD, (path, flags, mode))
int open64(const char *path, int flags, ...) OPEN(open64, AT_FDCWD, (path, flags, mode))
int openat(int dirfd, const char *path, int flags, ...) OPEN(openat, dirfd, (dirfd, path, flags, mode))
int openat64(int dirfd, const char *path, int flags, ...) OPEN(openat64, dirfd, (dirfd, path, flags, mode))

ssize_t write(int fd, const void *data, size_t n) { return strikes_fd("write", fd) ? -1 : REAL(write)(fd, data, n); }
ssize_t writev(int fd, const struct iovec *v, int n) { return strikes_fd("writev", fd) ? -1 : REAL(writev)(fd, v, n); }
ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    return strikes_fd("pwrite", fd) ? -1 : REAL(pwrite)(fd, data, n, at);
}
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
    return strikes_fd("pwrite", fd) ? -1 : REAL(pwrite64)(fd, data, n, at);
}
int ftruncate(int fd, off_t n) { return strikes_fd("ftruncate", fd) ? -1 : REAL(ftruncate)(fd, n); }
int ftruncate64(int fd, off64_t n) { return strikes_fd("ftruncate", fd) ? -1 : REAL(ftruncate64)(fd, n); }
int fsync(int fd) { return strikes_fd("fsync", fd) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return strikes_fd("fdatasync", fd) ? -1 : REAL(fdatasync)(fd); }

#define ON_PATH(call, dirfd, path, run) return below(dirfd, path) && strikes(call, path) ? -1 : run

int mkdir(const char *p, mode_t m) { ON_PATH("mkdir", AT_FDCWD, p, REAL(mkdir)(p, m)); }
int mkdirat(int d, const char *p, mode_t m) { ON_PATH("mkdir", d, p, REAL(mkdirat)(d, p, m)); }
int rename(const char *a, const char *b) { ON_PATH("rename", AT_FDCWD, b, REAL(rename)(a, b)); }
int renameat(int c, const char *a, int d, const char *b) { ON_PATH("rename", d, b, REAL(renameat)(c, a, d, b)); }
int link(const char *a, const char *b) { ON_PATH("link", AT_FDCWD, b, REAL(link)(a, b)); }
int symlink(const char *a, const char *b) { ON_PATH("symlink", AT_FDCWD, b, REAL(symlink)(a, b)); }
int unlink(const char *p) { ON_PATH("unlink", AT_FDCWD, p, REAL(unlink)(p)); }
int unlinkat(int d, const char *p, int f) { ON_PATH("unlink", d, p, REAL(unlinkat)(d, p, f)); }
int rmdir(const char *p) { ON_PATH("rmdir", AT_FDCWD, p, REAL(rmdir)(p)); }
