/* Logs what a process writes below one folder, and when it waits for the disk. Preloaded into it.
 *
 * Each record: a letter (W a write, T a truncation, S a sync, U a removal), the path as u16 length and bytes,
 * u64 offset or new size, u32 length and the bytes written; numbers are little-endian.
 * A lock makes the order of the records the order in which things happened.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;

/* The path of `fd` below the folder, or NULL if it is none of ours. */
static const char *watched(int fd, char path[4096]) {
    char link[64];
    const char *folder = getenv("POWER_FOLDER");
    if (folder == NULL) return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, 4095);
    if (length < 0) return NULL;
    path[length] = 0;
    size_t prefix = strlen(folder);
    if (strncmp(path, folder, prefix) != 0 || path[prefix] != '/') return NULL;
    return path + prefix + 1;
}

static void put(const void *data, size_t size) {
    if (REAL(write)(log_fd, data, size) != (ssize_t)size) abort();
}

static void note(char what, const char *path, uint64_t offset, const void *data, uint32_t size) {
    if (log_fd < 0) log_fd = open(getenv("POWER_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    uint16_t path_size = (uint16_t)strlen(path);
    put(&what, 1);
    put(&path_size, 2);
    put(path, path_size);
    put(&offset, 8);
    put(&size, 4);
    put(data, size);
}

static ssize_t noted_pwrite(int fd, const void *data, size_t size, off64_t offset) {
    char buffer[4096];
    const char *path = watched(fd, buffer);
    if (path == NULL) return REAL(pwrite64)(fd, data, size, offset);
    pthread_mutex_lock(&lock);
    ssize_t written = REAL(pwrite64)(fd, data, size, offset);
    if (written > 0) note('W', path, (uint64_t)offset, data, (uint32_t)written);
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    return noted_pwrite(fd, data, size, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    return noted_pwrite(fd, data, size, offset);
}

ssize_t write(int fd, const void *data, size_t size) {
    char buffer[4096];
    const char *path = watched(fd, buffer);
    if (path == NULL) return REAL(write)(fd, data, size);
    pthread_mutex_lock(&lock);
    uint64_t offset = (uint64_t)lseek(fd, 0, SEEK_CUR);
    ssize_t written = REAL(write)(fd, data, size);
    if (written > 0) note('W', path, offset, data, (uint32_t)written);
    pthread_mutex_unlock(&lock);
    return written;
}

static int noted_sync(int fd, int (*sync)(int)) {
    char buffer[4096];
    const char *path = watched(fd, buffer);
    if (path == NULL) return sync(fd);
    pthread_mutex_lock(&lock);
    int failed = sync(fd);
    if (!failed) note('S', path, 0, "", 0);
    pthread_mutex_unlock(&lock);
    return failed;
}

int fsync(int fd) { return noted_sync(fd, REAL(fsync)); }

int fdatasync(int fd) { return noted_sync(fd, REAL(fdatasync)); }

static int noted_truncation(int fd, off64_t size) {
    char buffer[4096];
    const char *path = watched(fd, buffer);
    if (path == NULL) return REAL(ftruncate64)(fd, size);
    pthread_mutex_lock(&lock);
    int failed = REAL(ftruncate64)(fd, size);
    if (!failed) note('T', path, (uint64_t)size, "", 0);
    pthread_mutex_unlock(&lock);
    return failed;
}

int ftruncate(int fd, off_t size) { return noted_truncation(fd, size); }

int ftruncate64(int fd, off64_t size) { return noted_truncation(fd, size); }

int unlink(const char *path) {
    const char *folder = getenv("POWER_FOLDER");
    size_t prefix = folder == NULL ? 0 : strlen(folder);
    if (prefix == 0 || strncmp(path, folder, prefix) != 0 || path[prefix] != '/') return REAL(unlink)(path);
    pthread_mutex_lock(&lock);
    int failed = REAL(unlink)(path);
    if (!failed) note('U', path + prefix + 1, 0, "", 0);
    pthread_mutex_unlock(&lock);
    return failed;
}
