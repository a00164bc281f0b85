/*
 * A fuzz target without a fuzzer (tests/fuzz/fuzz.h):
 *
 *   fuzz_NAME FOLDER           feeds it its seeds and every file there; prints a line of TAP
 *   fuzz_NAME --seeds FOLDER   writes its seeds there, for the fuzzer to begin with
 */
#include "tests/fuzz/fuzz.h"

#include "base/bytes.h"
#include "base/file.h"

#include <dirent.h>

struct writer {
    const char *folder;
    unsigned count;
};

static void write_seed(void *self, const void *data, size_t size)
{
    struct writer *w = self;
    char path[4096];
    snprintf(path, sizeof path, "%s/seed-%u", w->folder, w->count++);
    if (file_write(path, 0644, data, size, NULL) != ERR_OK) {
        perror(path);
        exit(1);
    }
}

static void try_seed(void *self, const void *data, size_t size)
{
    unsigned *count = self;
    (void)LLVMFuzzerTestOneInput(data, size);
    ++*count;
}

static unsigned try_folder(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *entry;
    unsigned count = 0;
    while (d != NULL && (entry = readdir(d)) != NULL) {
        struct bytes b CLEAN(bytes_clear) = {0};
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || file_read(path, (size_t)1 << 24, &b, NULL) != ERR_OK)
            continue;
        printf("# %s\n", path);
        fflush(stdout); /* if it crashes, this one did it */
        (void)LLVMFuzzerTestOneInput(b.data, b.size);
        count++;
    }
    if (d != NULL)
        closedir(d);
    return count;
}

int main(int argc, char **argv)
{
    unsigned seeds = 0, files;
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        struct writer w = {.folder = argv[2]};
        fuzz_seeds(write_seed, &w);
        return 0;
    }
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER | --seeds FOLDER\n", argv[0]);
        return 2;
    }
    fuzz_seeds(try_seed, &seeds);
    files = try_folder(argv[1]);
    printf("%s 1 - %u seeds and %u files of %s\n1..1\n", seeds + files > 0 ? "ok" : "not ok", seeds,
           files, argv[1]);
    return seeds + files > 0 ? 0 : 1;
}
