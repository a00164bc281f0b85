/* base/embed.h - files of this tree, carried by the program. */
#pragma once

/*
 * Fills `extern const char name[]` with the file at `path`, from the top of the tree, and a NUL.
 * The Makefile says which object depends on which file.
 */
#define EMBED_TEXT(name, path)                                                                     \
    __asm__(".section .rodata; .globl " #name ";" #name ": .incbin \"" path                        \
            "\"; .byte 0; .previous")
/* The same for bytes, from name[] to end[], without a NUL. */
#define EMBED_BYTES(name, end, path)                                                               \
    __asm__(".section .rodata; .globl " #name ";" #name ": .incbin \"" path "\"; .globl " #end     \
            ";" #end ": .byte 0; .previous")
