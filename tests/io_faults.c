/* Preloaded into a process of the tests: the n-th call on a file of one folder fails, as on a full or broken disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[4096];
static long seen, first, last;
static int code;

/* Calls number `at` to `at + count - 1` on files below `path` fail from now on; returns how many calls there were. */
long io_faults(const char *path, long at, long count, int error) {
  long before = seen;
  snprintf(folder, sizeof folder, "%s", path);
  seen = 0, first = at, last = at + count, code = error;
  return before;
}

static int fails(const char *path) {
  if (!folder[0] || strncmp(path, folder, strlen(folder))) return 0;
  long now = ++seen;
  if (now < first || now >= last) return 0;
  errno = code;
  return 1;
}

static int fails_at(int file) {
  char link[64], path[4096];
  if (!folder[0]) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return fails(path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                 \
  int name(const char *path, int flags, ...) {     \
    va_list more;                                  \
    va_start(more, flags);                         \
    mode_t mode = va_arg(more, mode_t);            \
    va_end(more);                                  \
    if (fails(path)) return -1;                    \
    return NEXT(name)(path, flags, mode);          \
  }
OPEN(open)
OPEN(open64)

#define ON_FILE(type, name, parameters, ...)       \
  type name parameters {                           \
    if (fails_at(file)) return -1;                 \
    return NEXT(name)(__VA_ARGS__);                \
  }
ON_FILE(ssize_t, write, (int file, const void *data, size_t size), file, data, size)
ON_FILE(ssize_t, read, (int file, void *data, size_t size), file, data, size)
ON_FILE(ssize_t, pwrite64, (int file, const void *data, size_t size, off64_t at), file, data, size, at)
ON_FILE(ssize_t, pread64, (int file, void *data, size_t size, off64_t at), file, data, size, at)
ON_FILE(int, fsync, (int file), file)
ON_FILE(int, fdatasync, (int file), file)
ON_FILE(int, ftruncate64, (int file, off64_t size), file, size)

int rename(const char *from, const char *to) { return fails(from) ? -1 : NEXT(rename)(from, to); }
int unlink(const char *path) { return fails(path) ? -1 : NEXT(unlink)(path); }
int mkdir(const char *path, mode_t mode) { return fails(path) ? -1 : NEXT(mkdir)(path, mode); }
