/* Loaded into every process of a test (LD_PRELOAD): makes chosen system calls fail or wait, by a plan that the test writes,
 * and records what is done to a folder, from which the test builds what a power cut would leave.
 *
 * FERMI_TEST_FAULTS names the plan, a file of RULES rules that all processes map: a rule that is set while they run holds at
 * once, and its counts are those of all of them together. FERMI_TEST_CALLS names a file to which every call goes that a rule
 * could be about. FERMI_TEST_RECORD names the file to which records go, and
 * FERMI_TEST_RECORDED the folder of which they are. The other side is tests/syscalls/{plan,recording}.rs. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define RULES 8

/* 256 bytes; the same in plan.rs. */
struct rule {
    _Atomic uint32_t armed;
    uint32_t nth;      /* from 1 */
    uint32_t times;    /* how many from there on; 0: all */
    uint32_t error;    /* 0: none, only the delay */
    uint32_t delay_ms;
    _Atomic uint32_t seen;
    _Atomic uint32_t fired;
    uint32_t unused;
    char kind[16];
    char call[16];
    char path[192];    /* a part of the path; the end of it when it ends in '$' */
};

static struct rule *plan;
static const char *kind = "";
static int depth;
static int is_run, is_supervise;
static int calls_fd = -1;
static int record_fd = -1;
static char recorded[PATH_MAX];
static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER;

/* `fermi run` becomes launcher, warden and supervisor by forks; `fermi supervise` begins as the warden. */
static void be_named(void)
{
    static const char *of_run[] = {"launcher", "warden", "supervisor"};
    int place = depth + (is_supervise ? 1 : 0);
    if (is_run || is_supervise)
        kind = place < 3 ? of_run[place] : "";
    else if (depth > 0)
        kind = "";
}

static void forked(void)
{
    depth++;
    be_named();
    pthread_mutex_init(&recording, NULL);
}

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

#define REAL(type, name, ...)                         \
    static type (*real)(__VA_ARGS__);                 \
    if (!real) real = (type (*)(__VA_ARGS__))next(name)

__attribute__((constructor)) static void begin(void)
{
    char words[4096];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    long length = fd < 0 ? 0 : syscall(SYS_read, fd, words, sizeof words - 1);
    if (fd >= 0) syscall(SYS_close, fd);
    words[length > 0 ? length : 0] = 0;
    const char *program = strrchr(words, '/');
    program = program ? program + 1 : words;
    if (strcmp(program, "fermi") != 0) return;
    const char *command = words + strlen(words) + 1 < words + length ? words + strlen(words) + 1 : "";
    if (!strcmp(command, "server")) kind = "server";
    else if (!strcmp(command, "agent")) kind = "agent";
    else if (!strcmp(command, "run")) is_run = 1;
    else if (!strcmp(command, "supervise")) is_supervise = 1;
    else return;
    be_named();
    pthread_atfork(NULL, NULL, forked);
    const char *name = getenv("FERMI_TEST_FAULTS");
    if (name && (fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC)) >= 0) {
        void *page = mmap(NULL, RULES * sizeof(struct rule), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        plan = page == MAP_FAILED ? NULL : page;
        syscall(SYS_close, fd);
    }
    if ((name = getenv("FERMI_TEST_CALLS")))
        calls_fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    name = getenv("FERMI_TEST_RECORD");
    const char *folder = getenv("FERMI_TEST_RECORDED");
    if (name && folder && !strcmp(kind, "server")) {
        snprintf(recorded, sizeof recorded, "%s", folder);
        record_fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
}

static int matches(const struct rule *rule, const char *path)
{
    size_t part = strlen(rule->path), whole = strlen(path);
    if (part && rule->path[part - 1] == '$')
        return whole >= part - 1 && !strncmp(path + whole - (part - 1), rule->path, part - 1);
    return strstr(path, rule->path) != NULL;
}

/* The path of a descriptor, as the kernel has it. */
static const char *path_of(int fd, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
    return path;
}

static const char *path_at(int folder, const char *name, char *path)
{
    path[0] = 0;
    if (name[0] != '/') {
        if (folder != AT_FDCWD) path_of(folder, path);
        else if (!getcwd(path, PATH_MAX)) path[0] = 0;
        strncat(path, "/", PATH_MAX - strlen(path) - 1);
    }
    strncat(path, name, PATH_MAX - strlen(path) - 1);
    return path;
}

static void tell_call(const char *call, const char *path)
{
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%s %s %s\n", kind, call, path);
    syscall(SYS_write, calls_fd, line, length);
}

/* Whether a rule holds for this call; then errno is set, and it has waited if it shall. */
static int fails(const char *call, int folder, const char *name, int fd)
{
    if (!plan || !*kind) return 0;
    char path[PATH_MAX];
    int is_known = 0;
    if (calls_fd >= 0) {
        int before = errno;
        tell_call(call, name ? path_at(folder, name, path) : path_of(fd, path));
        errno = before;
        is_known = 1;
    }
    for (int index = 0; index < RULES; index++) {
        struct rule *rule = &plan[index];
        if (!atomic_load(&rule->armed) || strcmp(rule->kind, kind) || strcmp(rule->call, call)) continue;
        if (!is_known) {
            int before = errno;
            if (name) path_at(folder, name, path);
            else path_of(fd, path);
            errno = before;
            is_known = 1;
        }
        if (!matches(rule, path)) continue;
        uint32_t turn = atomic_fetch_add(&rule->seen, 1) + 1;
        if (turn < rule->nth || (rule->times && turn >= rule->nth + rule->times)) continue;
        atomic_fetch_add(&rule->fired, 1);
        if (rule->delay_ms) {
            struct timespec wait = {rule->delay_ms / 1000, (rule->delay_ms % 1000) * 1000000L};
            nanosleep(&wait, NULL);
        }
        if (rule->error) {
            errno = (int)rule->error;
            return 1;
        }
    }
    return 0;
}

/* Records. One is: total length, operation, lengths of two paths, an offset, lengths of data; then these. */
struct record {
    uint32_t bytes;
    uint32_t operation;
    uint32_t path;
    uint32_t other;
    uint64_t number;
    uint64_t inode;
};

enum operation { CREATE = 1, WRITE, RESIZE, SYNC, RENAME, UNLINK, MKDIR, RMDIR, LINK };

static int is_recorded(const char *path)
{
    size_t length = strlen(recorded);
    return record_fd >= 0 && length && !strncmp(path, recorded, length) && (path[length] == '/' || !path[length]);
}

static void keep(enum operation operation, const char *path, const char *other, uint64_t number, uint64_t inode,
                 const void *data, size_t size)
{
    struct record head = {0, operation, (uint32_t)strlen(path), other ? (uint32_t)strlen(other) : 0, number, inode};
    head.bytes = (uint32_t)(sizeof head + head.path + head.other + size);
    struct iovec parts[] = {{&head, sizeof head}, {(void *)path, head.path}, {(void *)(other ? other : ""), head.other},
                            {(void *)data, size}};
    syscall(SYS_writev, record_fd, parts, 4);
}

static uint64_t inode_of(int fd)
{
    struct stat about;
    return syscall(SYS_fstat, fd, &about) == 0 ? about.st_ino : 0;
}

static void lock_records(void) { if (record_fd >= 0) pthread_mutex_lock(&recording); }
static void unlock_records(void) { if (record_fd >= 0) pthread_mutex_unlock(&recording); }

static void keep_write(int fd, const void *data, ssize_t size, uint64_t offset)
{
    char path[PATH_MAX];
    if (record_fd < 0 || size <= 0 || !is_recorded(path_of(fd, path))) return;
    int before = errno;
    keep(WRITE, path, NULL, offset, inode_of(fd), data, (size_t)size);
    errno = before;
}

static uint64_t place_of(int fd)
{
    if (record_fd < 0) return 0;
    if (fcntl(fd, F_GETFL) & O_APPEND) {
        struct stat about;
        return syscall(SYS_fstat, fd, &about) == 0 ? (uint64_t)about.st_size : 0;
    }
    return (uint64_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
}

/* open */

static int opened(int folder, const char *name, int flags, mode_t mode)
{
    if (fails("open", folder, name, -1)) return -1;
    char path[PATH_MAX];
    int is_ours = 0, is_new = 0;
    if (record_fd >= 0 && (flags & (O_CREAT | O_TRUNC)) && is_recorded(path_at(folder, name, path))) {
        struct stat about;
        is_ours = 1;
        lock_records();
        is_new = syscall(SYS_newfstatat, AT_FDCWD, path, &about, 0) != 0;
    }
    int fd = (int)syscall(SYS_openat, folder, name, flags, mode);
    if (is_ours) {
        int before = errno;
        if (fd >= 0 && is_new) keep(CREATE, path, NULL, 0, inode_of(fd), NULL, 0);
        else if (fd >= 0 && flags & O_TRUNC) keep(RESIZE, path, NULL, 0, inode_of(fd), NULL, 0);
        unlock_records();
        errno = before;
    }
    return fd;
}

static mode_t mode_in(int flags, va_list rest)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

#define OPEN(name)                                                       \
    int name(const char *path, int flags, ...)                           \
    {                                                                    \
        va_list rest;                                                    \
        va_start(rest, flags);                                           \
        mode_t mode = mode_in(flags, rest);                              \
        va_end(rest);                                                    \
        return opened(AT_FDCWD, path, flags, mode);                      \
    }
#define OPENAT(name)                                                     \
    int name(int folder, const char *path, int flags, ...)               \
    {                                                                    \
        va_list rest;                                                    \
        va_start(rest, flags);                                           \
        mode_t mode = mode_in(flags, rest);                              \
        va_end(rest);                                                    \
        return opened(folder, path, flags, mode);                        \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

DIR *opendir(const char *name)
{
    REAL(DIR *, "opendir", const char *);
    return fails("open", AT_FDCWD, name, -1) ? NULL : real(name);
}

/* write */

ssize_t write(int fd, const void *data, size_t size)
{
    if (fails("write", 0, NULL, fd)) return -1;
    lock_records();
    uint64_t place = place_of(fd);
    ssize_t done = syscall(SYS_write, fd, data, size);
    keep_write(fd, data, done, place);
    unlock_records();
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    char path[PATH_MAX];
    if (record_fd >= 0 && count > 0 && is_recorded(path_of(fd, path)))
        return write(fd, parts[0].iov_base, parts[0].iov_len);
    if (fails("write", 0, NULL, fd)) return -1;
    return syscall(SYS_writev, fd, parts, count);
}

static ssize_t written_at(int fd, const void *data, size_t size, off_t offset)
{
    if (fails("write", 0, NULL, fd)) return -1;
    lock_records();
    ssize_t done = syscall(SYS_pwrite64, fd, data, size, offset);
    keep_write(fd, data, done, (uint64_t)offset);
    unlock_records();
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return written_at(fd, data, size, offset); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) { return written_at(fd, data, size, offset); }

/* std falls back to write, which is recorded. */
ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *there, size_t size, unsigned flags)
{
    if (record_fd >= 0) {
        errno = ENOSYS;
        return -1;
    }
    return syscall(SYS_copy_file_range, from, at, to, there, size, flags);
}

ssize_t sendfile64(int to, int from, off64_t *at, size_t size)
{
    if (record_fd >= 0) {
        errno = ENOSYS;
        return -1;
    }
    return syscall(SYS_sendfile, to, from, at, size);
}

/* truncate */

static int resized(int fd, off_t size)
{
    char path[PATH_MAX];
    if (fails("truncate", 0, NULL, fd)) return -1;
    lock_records();
    int done = (int)syscall(SYS_ftruncate, fd, size);
    if (done == 0 && record_fd >= 0 && is_recorded(path_of(fd, path)))
        keep(RESIZE, path, NULL, (uint64_t)size, inode_of(fd), NULL, 0);
    unlock_records();
    return done;
}

int ftruncate(int fd, off_t size) { return resized(fd, size); }
int ftruncate64(int fd, off64_t size) { return resized(fd, size); }

/* fsync */

static int synced(int fd, long number)
{
    char path[PATH_MAX];
    if (fails("fsync", 0, NULL, fd)) return -1;
    lock_records();
    int done = (int)syscall(number, fd);
    if (done == 0 && record_fd >= 0 && is_recorded(path_of(fd, path)))
        keep(SYNC, path, NULL, 0, inode_of(fd), NULL, 0);
    unlock_records();
    return done;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

/* names */

static int renamed(int from_folder, const char *from, int to_folder, const char *to)
{
    char old[PATH_MAX], new[PATH_MAX];
    if (fails("rename", to_folder, to, -1)) return -1;
    lock_records();
    int done = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
    if (done == 0 && record_fd >= 0) {
        path_at(from_folder, from, old);
        path_at(to_folder, to, new);
        if (is_recorded(old) || is_recorded(new)) keep(RENAME, old, new, 0, 0, NULL, 0);
    }
    unlock_records();
    return done;
}

int rename(const char *from, const char *to) { return renamed(AT_FDCWD, from, AT_FDCWD, to); }
int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return renamed(from_folder, from, to_folder, to);
}

static int unlinked(int folder, const char *name, int flags)
{
    char path[PATH_MAX];
    if (fails("unlink", folder, name, -1)) return -1;
    lock_records();
    int done = (int)syscall(SYS_unlinkat, folder, name, flags);
    if (done == 0 && record_fd >= 0 && is_recorded(path_at(folder, name, path)))
        keep(flags & AT_REMOVEDIR ? RMDIR : UNLINK, path, NULL, 0, 0, NULL, 0);
    unlock_records();
    return done;
}

int unlink(const char *name) { return unlinked(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinked(AT_FDCWD, name, AT_REMOVEDIR); }
int unlinkat(int folder, const char *name, int flags) { return unlinked(folder, name, flags); }

int mkdir(const char *name, mode_t mode)
{
    char path[PATH_MAX];
    if (fails("mkdir", AT_FDCWD, name, -1)) return -1;
    lock_records();
    int done = (int)syscall(SYS_mkdirat, AT_FDCWD, name, mode);
    if (done == 0 && record_fd >= 0 && is_recorded(path_at(AT_FDCWD, name, path)))
        keep(MKDIR, path, NULL, 0, 0, NULL, 0);
    unlock_records();
    return done;
}

/* locks */

int flock(int fd, int operation)
{
    if (fails("flock", 0, NULL, fd)) return -1;
    return (int)syscall(SYS_flock, fd, operation);
}
