/* Writes down, in one order, all that processes do to the files of one directory.
 *
 * Loaded with LD_PRELOAD, it stands in front of the libc calls by which Python and SQLite change files.
 * Below POWER_DIR, each call that succeeded becomes a record at the end of POWER_JOURNAL; `disk.py` reads
 * them and says what a power cut would have left.
 *
 * Promises:
 * - The order of the records is one in which the calls could have happened: a lock (a mutex among threads,
 *   flock among processes) is held around the call and its record.
 * - A sync is recorded after it has returned success, a write with the bytes that it wrote.
 * - If a record cannot be written the process aborts: a gap would look like a safe disk.
 *
 * It knows a file by asking the kernel on every call (fstat, /proc/self/fd). There is no table of descriptors
 * to get wrong, so dup, inheritance and vfork need no care. It never opens a watched file itself: closing it
 * would drop the process's POSIX locks on it, and those are the locks that SQLite relies on.
 *
 * It does not see C stdio (fopen, fwrite), truncate by name, punched holes, io_uring, raw syscalls, nor mmap.
 * A shared writable mapping is recorded, so that the reader refuses it; the others show as a difference
 * between the replayed journal and the directory (`Journal.differences`). Copies inside the kernel, such as
 * sendfile, are refused: callers fall back on write. O_SYNC, sync(), syncfs() and sync_file_range() are not
 * counted as syncs, which errs on the strict side.
 *
 * A record (little endian, Linux with glibc on 64 bits), after which come `path`, `other` and `data`:
 *
 *   0       4    6   8        12        16      24       32       40
 *   | magic | op | 0 | path_n | other_n | inode | offset | data_n |
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "the open and open64 families must be the same");

enum operation {
    CREATE = 1, WRITE, TRUNCATE, EXTEND, FSYNC, FDATASYNC, UNLINK, RENAME, LINK, MKDIR, RMDIR, MAP
};

struct header {
    uint32_t magic;
    uint16_t op, zero;
    uint32_t path_n, other_n;
    uint64_t inode;
    int64_t offset;
    uint64_t data_n;
};
_Static_assert(sizeof(struct header) == 40, "disk.py reads forty bytes");

#define MAGIC 0x31525750u /* "PWR1" */
#define IOV_PARTS_MAX 1024

/* libc's own, looked up when first needed: other constructors may call us before ours has run. */
#define REAL(name) \
    ({ static __typeof__(&name) real_; \
       real_ ? real_ : (real_ = (__typeof__(&name))dlsym(RTLD_NEXT, #name)); })
/* On 64 bits the two names of a call, with and without 64, are one function. */
#define ALSO_NAMED(name) __attribute__((alias(name)))

static char watched[PATH_MAX + 1]; /* the real path of POWER_DIR with a final slash */
static size_t watched_n;       /* its length; 0 while there is nothing to watch */
static char journal_path[PATH_MAX];
static int journal_fd = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- the journal ----------------------------------------------------------------------------------- */

static void give_up(const char *why)
{ dprintf(2, "power shim: %s (%s)\n", why, strerror(errno)); abort(); }

static void open_journal(void)
{
    int fd = REAL(open)(journal_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    /* A high number stays out of the way of programs that close or reuse low ones. */
    journal_fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 500);
    if (journal_fd < 0) give_up("cannot open the journal");
    close(fd);
}

static void lock(void)
{
    pthread_mutex_lock(&mutex);
    while (flock(journal_fd, LOCK_EX))
        if (errno != EINTR) give_up("cannot lock the journal");
}

static void unlock(void)
{
    int saved = errno; /* why the real call failed, if it did */
    flock(journal_fd, LOCK_UN);
    pthread_mutex_unlock(&mutex);
    errno = saved;
}

static void before_fork(void) { pthread_mutex_lock(&mutex); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&mutex); }

static void after_fork_in_child(void)
{
    /* flock belongs to the open file, which fork shares: the child needs its own. */
    close(journal_fd);
    open_journal();
    pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void start(void)
{
    const char *directory = getenv("POWER_DIR"), *journal = getenv("POWER_JOURNAL");
    if (!directory || !journal) return;
    if (!realpath(directory, watched)) give_up("POWER_DIR is not a directory");
    snprintf(journal_path, sizeof journal_path, "%s", journal);
    open_journal();
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    watched_n = strlen(strcat(watched, "/"));
}

/* Appends one record whose data is given in `count` parts, of which `data_n` bytes count. */
static void record_parts(enum operation op, const char *path, const char *other, ino_t inode,
                         off_t offset, const struct iovec *parts, int count, size_t data_n)
{
    int used = 3;
    struct header header = {
        .magic = MAGIC, .op = (uint16_t)op, .path_n = (uint32_t)strlen(path),
        .other_n = (uint32_t)strlen(other), .inode = inode, .offset = offset, .data_n = data_n,
    };
    struct iovec out[IOV_PARTS_MAX + 3] = {
        {&header, sizeof header}, {(void *)path, header.path_n}, {(void *)other, header.other_n},
    };
    size_t total = sizeof header + header.path_n + header.other_n + data_n;
    for (int i = 0; i < count && data_n; i++, used++) {
        size_t take = parts[i].iov_len < data_n ? parts[i].iov_len : data_n;
        out[used] = (struct iovec){parts[i].iov_base, take};
        data_n -= take;
    }
    if (REAL(writev)(journal_fd, out, used) != (ssize_t)total) give_up("the journal is cut short");
}

static void record(enum operation op, const char *path, const char *other, ino_t inode, off_t offset)
{ record_parts(op, path, other, inode, offset, NULL, 0, 0); }

/* ---- which file is it? ----------------------------------------------------------------------------- */

struct file {
    char absolute[PATH_MAX + 16];
    const char *path; /* the part below POWER_DIR */
    ino_t inode;
};

/* Whether `absolute` is below POWER_DIR; its part below it, or NULL. */
static const char *below(const char *absolute)
{ return watched_n && !strncmp(absolute, watched, watched_n) ? absolute + watched_n : NULL; }

/* Whether the descriptor is a watched regular file that still has a name. */
static int find_file(int fd, struct file *file)
{
    struct stat st;
    char link[64];
    file->path = NULL;
    if (watched_n && fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, file->absolute, sizeof file->absolute - 1);
        if (n < 0) give_up("cannot read /proc/self/fd");
        file->absolute[n] = 0;
        file->inode = st.st_ino;
        file->path = below(file->absolute);
    }
    return file->path != NULL;
}

/* Asks again under the lock, as the file may have been unlinked or renamed while we waited. */
static int lock_file(int fd, struct file *file)
{
    if (!find_file(fd, file)) return 0;
    lock();
    if (find_file(fd, file)) return 1;
    unlock();
    return 0;
}

/* Makes the call; if the file is watched (`locked`), `note`s its answer under the same lock. */
#define RECORDED(type, locked, call, note) \
    struct file file; \
    if (!(locked)) return call; \
    type answer = call; \
    note; \
    unlock(); \
    return answer

/* The part of `path` below POWER_DIR once its folder's links are followed, or NULL. */
static const char *find_path(int dirfd, const char *path, struct file *file)
{
    char whole[2 * PATH_MAX] = "", link[64], *last;
    file->path = NULL;
    if (!watched_n || !path || strlen(path) >= PATH_MAX) return NULL;
    if (path[0] != '/') {
        snprintf(link, sizeof link, dirfd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", dirfd);
        if (readlink(link, whole, PATH_MAX - 1) < 0) return NULL;
        strcat(whole, "/");
    }
    strcat(whole, path);
    for (size_t n = strlen(whole); n > 1 && whole[n - 1] == '/'; n--) whole[n - 1] = 0;
    last = strrchr(whole, '/');
    *last++ = 0;
    if (!realpath(*whole ? whole : "/", file->absolute)) return NULL;
    size_t n = strlen(file->absolute);
    snprintf(file->absolute + n, sizeof file->absolute - n, "/%s", last);
    return file->path = below(file->absolute);
}

static int lock_path(int dirfd, const char *path, struct file *file)
{ return find_path(dirfd, path, file) ? (lock(), 1) : 0; }

/* ---- opening: creates, and may empty --------------------------------------------------------------- */

static int open_recorded(int dirfd, const char *path, int flags, mode_t mode)
{
    struct file file;
    struct stat st;
    if (!(flags & (O_CREAT | O_TRUNC)) || !lock_path(dirfd, path, &file))
        return REAL(openat)(dirfd, path, flags, mode);
    int existed = !fstatat(dirfd, path, &st, 0);
    int fd = REAL(openat)(dirfd, path, flags, mode);
    if (fd >= 0 && find_file(fd, &file)) {
        if (!existed) record(CREATE, file.path, "", file.inode, 0);
        else if (flags & O_TRUNC) record(TRUNCATE, file.path, "", file.inode, 0);
    }
    unlock();
    return fd;
}

/* Callers leave `mode` out when nothing can be created, and then it is not looked at. */
#define MODE_AFTER(flags) \
    ({ va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); mode; })

int open(const char *path, int flags, ...)
{ return open_recorded(AT_FDCWD, path, flags, MODE_AFTER(flags)); }
int openat(int dirfd, const char *path, int flags, ...)
{ return open_recorded(dirfd, path, flags, MODE_AFTER(flags)); }
int creat(const char *path, mode_t mode)
{ return open_recorded(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int open64(const char *, int, ...) ALSO_NAMED("open");
int openat64(int, const char *, int, ...) ALSO_NAMED("openat");
int creat64(const char *, mode_t) ALSO_NAMED("creat");

/* ---- writing --------------------------------------------------------------------------------------- */

/* Where the last `n` bytes went: at `offset`, or before the position when it is -1; and an
 * O_APPEND descriptor writes at the end whatever the offset says (so does Linux's pwrite). */
static off_t place_written(int fd, off_t offset, ssize_t n)
{
    struct stat st;
    if (fcntl(fd, F_GETFL) & O_APPEND) return fstat(fd, &st) ? -1 : st.st_size - n;
    return offset >= 0 ? offset : lseek(fd, 0, SEEK_CUR) - n;
}

#define WRITE_RECORDED(fd, offset, parts, count, call) \
    RECORDED(ssize_t, lock_file(fd, &file), call, if (answer > 0) record_parts( \
        WRITE, file.path, "", file.inode, place_written(fd, offset, answer), parts, count, (size_t)answer))

#define ONE_PART(data, size) (&(struct iovec){(void *)(data), size})

ssize_t write(int fd, const void *data, size_t size)
{ WRITE_RECORDED(fd, -1, ONE_PART(data, size), 1, REAL(write)(fd, data, size)); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{ WRITE_RECORDED(fd, offset, ONE_PART(data, size), 1, REAL(pwrite)(fd, data, size, offset)); }
ssize_t writev(int fd, const struct iovec *parts, int count)
{ WRITE_RECORDED(fd, -1, parts, count, REAL(writev)(fd, parts, count)); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{ WRITE_RECORDED(fd, offset, parts, count, REAL(pwritev)(fd, parts, count, offset)); }
ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{ WRITE_RECORDED(fd, offset, parts, count, REAL(pwritev2)(fd, parts, count, offset, flags)); }
ssize_t pwrite64(int, const void *, size_t, off64_t) ALSO_NAMED("pwrite");
ssize_t pwritev64(int, const struct iovec *, int, off64_t) ALSO_NAMED("pwritev");
ssize_t pwritev64v2(int, const struct iovec *, int, off64_t, int) ALSO_NAMED("pwritev2");

/* Copies made inside the kernel, whose bytes we cannot see. */
#define REFUSED_INTO(fd, call) \
    struct file file; \
    if (find_file(fd, &file)) { errno = EINVAL; return -1; } \
    return call

ssize_t sendfile(int out, int in, off_t *from, size_t size)
{ REFUSED_INTO(out, REAL(sendfile)(out, in, from, size)); }
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags)
{ REFUSED_INTO(out, REAL(copy_file_range)(in, from, out, to, size, flags)); }
ssize_t sendfile64(int, int, off64_t *, size_t) ALSO_NAMED("sendfile");

/* ---- size, syncs and maps -------------------------------------------------------------------------- */

#define FILE_RECORDED(op, fd, offset, call) \
    RECORDED(int, lock_file(fd, &file), call, if (!answer) record(op, file.path, "", file.inode, offset))

int fsync(int fd) { FILE_RECORDED(FSYNC, fd, 0, REAL(fsync)(fd)); }
int fdatasync(int fd) { FILE_RECORDED(FDATASYNC, fd, 0, REAL(fdatasync)(fd)); }
int ftruncate(int fd, off_t size) { FILE_RECORDED(TRUNCATE, fd, size, REAL(ftruncate)(fd, size)); }
int posix_fallocate(int fd, off_t from, off_t size)
{ FILE_RECORDED(EXTEND, fd, from + size, REAL(posix_fallocate)(fd, from, size)); }
int fallocate(int fd, int mode, off_t from, off_t size)
{ FILE_RECORDED(EXTEND, fd, mode ? 0 : from + size, REAL(fallocate)(fd, mode, from, size)); }
void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    struct file file;
    if ((flags & MAP_SHARED) && (protection & PROT_WRITE) && lock_file(fd, &file)) {
        record(MAP, file.path, "", file.inode, 0);
        unlock();
    }
    return REAL(mmap)(at, size, protection, flags, fd, offset);
}
int ftruncate64(int, off64_t) ALSO_NAMED("ftruncate");
int posix_fallocate64(int, off64_t, off64_t) ALSO_NAMED("posix_fallocate");
int fallocate64(int, int, off64_t, off64_t) ALSO_NAMED("fallocate");
void *mmap64(void *, size_t, int, int, int, off64_t) ALSO_NAMED("mmap");

/* ---- names ----------------------------------------------------------------------------------------- */

#define NAME_RECORDED(op, dirfd, name, call) \
    RECORDED(int, lock_path(dirfd, name, &file), call, if (!answer) record(op, file.path, "", 0, 0))

/* A name that is outside POWER_DIR is recorded as "". */
#define NAMES_RECORDED(op, from_fd, from, to_fd, to, call) \
    struct file to_; \
    const char *new = find_path(to_fd, to, &to_); \
    RECORDED(int, lock_path(from_fd, from, &file) || (new && (lock(), 1)), call, \
             if (!answer) record(op, file.path ? file.path : "", new ? new : "", 0, 0))

int unlinkat(int dirfd, const char *path, int flags)
{ NAME_RECORDED(flags & AT_REMOVEDIR ? RMDIR : UNLINK, dirfd, path, REAL(unlinkat)(dirfd, path, flags)); }
int mkdirat(int dirfd, const char *path, mode_t mode)
{ NAME_RECORDED(MKDIR, dirfd, path, REAL(mkdirat)(dirfd, path, mode)); }
int renameat(int from_fd, const char *from, int to_fd, const char *to)
{ NAMES_RECORDED(RENAME, from_fd, from, to_fd, to, REAL(renameat)(from_fd, from, to_fd, to)); }
int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{ NAMES_RECORDED(LINK, from_fd, from, to_fd, to, REAL(linkat)(from_fd, from, to_fd, to, flags)); }
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
