// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the instructions of a piece of the kernel, exactly and without a hardware counter.
 *
 * User-mode Linux is an ordinary process. With the trap flag set, its processor raises SIGTRAP behind every instruction;
 * the handler here takes the place of the kernel's while something is counted. The host clears the flag for every
 * handler and sets it again afterwards, so that interrupts of the machine, which are signals too, are not counted.
 */
#include <asm/sigcontext.h>
#include <linux/kernel.h>
#include "cost.h"

#if !defined(CONFIG_UML) || !defined(CONFIG_64BIT)
#error "instructions can be counted in 64-bit user-mode Linux only"
#endif

/* What the host knows of system calls and signals, on x86-64. */
#define HOST_RT_SIGACTION	13
#define HOST_SIGTRAP		5
#define HOST_SA_SIGINFO		0x00000004
#define HOST_SA_RESTORER	0x04000000
#define HOST_SA_ONSTACK		0x08000000

struct host_sigaction {
	void (*handler)(int sig, void *info, void *context);
	unsigned long flags;
	void (*restorer)(void);
	u64 mask;
};

struct host_ucontext {
	unsigned long flags;
	void *link;
	struct {
		void *sp;
		int flags;
		size_t size;
	} stack;
	struct sigcontext_64 registers;
};

static struct host_sigaction before;
static u64 taken;
static u64 *addresses;
static size_t space;

/* A handler returns through the system call rt_sigreturn. */
void step_return(void);
asm(".pushsection .text\n\t"
	".type step_return, @function\n"
	"step_return:\n\t"
	"mov $15, %eax\n\t"
	"syscall\n\t"
	".size step_return, . - step_return\n\t"
	".popsection");

static void step_trap(int sig, void *info, void *context)
{
	const struct host_ucontext *at = context;

	if (taken < space)
		addresses[taken] = at->registers.ip;
	taken++;
}

static long host_sigaction(const struct host_sigaction *new, struct host_sigaction *old)
{
	register unsigned long size asm("r10") = sizeof(new->mask);
	long ret;

	asm volatile("syscall"
		     : "=a"(ret)
		     : "0"(HOST_RT_SIGACTION), "D"(HOST_SIGTRAP), "S"(new), "d"(old), "r"(size)
		     : "rcx", "r11", "memory");
	return ret;
}

/* Starts again from zero; @trace gets the addresses, as far as there is @room. */
int step_enable(u64 *trace, size_t room)
{
	const struct host_sigaction action = {
		.handler	= step_trap,
		.flags		= HOST_SA_SIGINFO | HOST_SA_RESTORER | HOST_SA_ONSTACK,
		.restorer	= step_return,
		.mask		= ~0ULL,
	};

	taken = 0;
	addresses = trace;
	space = room;
	return host_sigaction(&action, &before);
}

void step_disable(void)
{
	host_sigaction(&before, NULL);
}

u64 step_taken(void)
{
	return taken;
}
