/*
 * parties/command/machine.h - figures of machines, on which `trefoil plan` bases its times. Nothing
 * else depends on them. bench/README.md has the benchmarks that print them, and their machine.
 */
#pragma once

#define MACHINE_FAR_S 0.04 /* an exchange between servers in different countries */

/* Two cores for all three servers, a second: samples of either kind (bench_dp), and .. */
#define MACHINE_SAMPLES 200000
#define MACHINE_PROVED_SAMPLES 60000
/* .. bytes that a server sends to bound persons (bench_persons). */
#define MACHINE_BOUND_BYTES 120e6
#define MACHINE_PROVED_BOUND_BYTES 18e6

/*
 * One core of two servers, for encrypted rows (bench_fhaim): a ciphertext at its owner and at the
 * provider; a product of two; a result, hidden and decrypted.
 */
#define MACHINE_ENCRYPT_S 0.9e-3
#define MACHINE_PREPARE_S 0.5e-3
#define MACHINE_MULTIPLY_S 0.2e-3
#define MACHINE_HIDE_S 2.4e-3
#define MACHINE_DECRYPT_S 0.9e-3
