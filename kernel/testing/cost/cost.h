/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GENTLE_COST_H
#define GENTLE_COST_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>

#define COST_FRAME	1514	/* bytes of a packet, with its Ethernet header */

struct sk_buff *cost_packet(struct net_device *dev, unsigned int flow);

/* Counting needs user-mode Linux; what is counted must not sleep. */
int step_enable(u64 *trace, size_t room);
void step_disable(void);
u64 step_taken(void);

/*
 * Between these every instruction is counted, plus a constant number of theirs.
 *
 * The compiler may keep values below the stack pointer, where the flags would be pushed.
 */
static __always_inline void step_begin(void)
{
	asm volatile("lea -128(%%rsp), %%rsp\n\t"
		     "pushfq\n\t"
		     "orq $0x100, (%%rsp)\n\t"
		     "popfq\n\t"
		     "lea 128(%%rsp), %%rsp" ::: "memory", "cc");
}

static __always_inline void step_end(void)
{
	asm volatile("lea -128(%%rsp), %%rsp\n\t"
		     "pushfq\n\t"
		     "andq $~0x100, (%%rsp)\n\t"
		     "popfq\n\t"
		     "lea 128(%%rsp), %%rsp" ::: "memory", "cc");
}

#endif
