/* No terminal. */
#ifndef SMALL_IOCTL_H
#define SMALL_IOCTL_H

struct winsize {
    unsigned short ws_col;
};
#define TIOCGWINSZ 0
#define ioctl(fd, what, size) ((size)->ws_col = 0, -1)

#endif
