/* SPDX-License-Identifier: Apache-2.0 */

/*
 * yard.h -- what a figure is measured by: the machine's memory, this very minute.
 *
 * thread:  any.
 */
#ifndef TESTS_BENCH_YARD_H
#define TESTS_BENCH_YARD_H

#include <stddef.h>

/*
 * yard_ns_per_miss -- a load from a random place that depends on the one before, over len_bytes.
 *
 * result:  ns of this thread's processor time; the program ends when there is no such memory.
 */
double yard_ns_per_miss(size_t len_bytes);

#endif
