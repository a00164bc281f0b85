#include "bench/hog.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define FOLDER "/usr/share/datasets/fashion-mnist"
#define PIXELS (HOG_SIDE * HOG_SIDE)
#define CELLS 6
#define ANGLES 7
#define WIDTH ((double)HOG_SIDE / CELLS)

bool hog_present(void)
{
    return access(FOLDER "/train-images-idx3-ubyte.gz", R_OK) == 0;
}

enum err hog_domain(struct domain **d, struct log *log)
{
    char name[16];
    TRY(domain_new(d));
    for (unsigned i = 1; i <= HOG_FEATURES; i++) {
        snprintf(name, sizeof name, "f%u", i);
        TRY(domain_add_integer(*d, name, 0, 15, NULL, DOMAIN_CLIP, log));
    }
    return domain_add_integer(*d, "class", 0, HOG_CLASSES - 1, NULL, DOMAIN_REJECT, log);
}

struct hog {
    double cell[CELLS][CELLS][ANGLES];
};

/* A pixel's magnitude, to the cells that it is near. */
static void add_pixel(struct hog *h, int x, int y, double gx, double gy)
{
    const double size = hypot(gx, gy), turn = atan2(gy, gx) / (2 * M_PI);
    const double at = (turn < 0 ? turn + 1 : turn) * ANGLES;
    const unsigned low = (unsigned)at % ANGLES, high = (low + 1) % ANGLES;
    const double part = at - floor(at);
    for (unsigned i = 0; i < CELLS; i++)
        for (unsigned k = 0; k < CELLS; k++) {
            const double far_y = fabs(y - ((i + 0.5) * WIDTH - 0.5)) / WIDTH;
            const double far_x = fabs(x - ((k + 0.5) * WIDTH - 0.5)) / WIDTH;
            const double weight = size * fmax(0, 1 - far_y) * fmax(0, 1 - far_x);
            h->cell[i][k][low] += weight * (1 - part);
            h->cell[i][k][high] += weight * part;
        }
}

static double energy(const struct hog *h, int i, int k)
{
    double sum = 0;
    if (i < 0 || k < 0 || i >= CELLS || k >= CELLS)
        return 0;
    for (unsigned a = 0; a < ANGLES; a++)
        sum += h->cell[i][k][a] * h->cell[i][k][a];
    return sum;
}

static double around(const struct hog *h, int i, int k)
{
    double sum = 0;
    for (int y = i - 1; y <= i + 1; y++)
        for (int x = k - 1; x <= k + 1; x++)
            sum += energy(h, y, x);
    return sum / 9;
}

static int at(int x)
{
    return x < 0 ? 0 : x >= HOG_SIDE ? HOG_SIDE - 1 : x;
}

void hog_features(const uint8_t *image, uint16_t *feature)
{
    struct hog h = {0};
    double value[HOG_FEATURES], squares = 0;
    size_t n = 0;
    for (int y = 0; y < HOG_SIDE; y++)
        for (int x = 0; x < HOG_SIDE; x++)
            add_pixel(&h, x, y,
                      (image[y * HOG_SIDE + at(x + 1)] - image[y * HOG_SIDE + at(x - 1)]) / 510.0,
                      (image[at(y + 1) * HOG_SIDE + x] - image[at(y - 1) * HOG_SIDE + x]) / 510.0);
    for (int i = 0; i < CELLS; i++)
        for (int k = 0; k < CELLS; k++) {
            const double by = sqrt(around(&h, i, k) + 1e-4);
            for (unsigned a = 0; a < ANGLES; a++) {
                value[n] = h.cell[i][k][a] / by;
                squares += value[n] * value[n];
                n++;
            }
        }
    for (size_t i = 0; i < HOG_FEATURES; i++)
        feature[i] = (uint16_t)fmin(15, rint(46 * value[i] / sqrt(squares + 1e-3)));
}

/* Opens a file of the set, behind the big-endian numbers of its head. */
static FILE *open_idx(const char *part, const char *name, size_t head)
{
    char command[256];
    uint8_t skipped[16];
    FILE *f;
    snprintf(command, sizeof command, "gzip -dc " FOLDER "/%s-%s.gz", part, name);
    f = popen(command, "r");
    if (f != NULL && fread(skipped, 1, head, f) != head) {
        pclose(f);
        f = NULL;
    }
    return f;
}

static enum err read_rows(struct table *t, FILE *images, FILE *labels, size_t rows)
{
    uint8_t image[PIXELS], label;
    uint16_t codes[HOG_FEATURES + 1];
    for (size_t i = 0; rows == 0 || i < rows; i++) {
        if (fread(image, 1, PIXELS, images) != PIXELS || fread(&label, 1, 1, labels) != 1)
            break;
        hog_features(image, codes);
        codes[HOG_FEATURES] = label;
        TRY(table_append(t, codes));
    }
    return t->rows >= rows && t->rows > 0 ? ERR_OK : ERR_DATA;
}

enum err hog_read(struct table **t, const struct domain *d, const char *part, size_t rows,
                  struct log *log)
{
    FILE *images = open_idx(part, "images-idx3-ubyte", 16),
         *labels = open_idx(part, "labels-idx1-ubyte", 8);
    enum err e = images != NULL && labels != NULL ? table_new(t, d, 0) : ERR_SYSTEM;
    if (e == ERR_OK)
        e = read_rows(*t, images, labels, rows);
    if (images != NULL)
        pclose(images);
    if (labels != NULL)
        pclose(labels);
    return e == ERR_OK ? ERR_OK : log_fail(log, e, "cannot read the images in " FOLDER);
}
