// SPDX-License-Identifier: GPL-2.0-only
/*
 * Input of a qdisc in BPF: the time of the schedule, as the result of bpf_ktime_get_ns(). A replay does not wait for that
 * time. The kernel is not user-mode Linux, which has no trampolines for BPF and so cannot run such a qdisc.
 *
 * The hash of a flow is the packet's own, which packet.c sets, unless the qdisc reads addresses and ports itself. Random
 * numbers are the kernel's.
 */
#include <linux/kprobes.h>
#include <linux/sched.h>
#include "replay.h"

#ifdef CONFIG_UML
#error "random.c is for user-mode Linux"
#endif

static ktime_t now;
static const struct task_struct *caller;
static bool redirected;

static int give_time(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	if (current == READ_ONCE(caller))
		regs_set_return_value(regs, ktime_to_ns(now));
	return 0;
}

static struct kretprobe clock = {
	.kp.symbol_name = "bpf_ktime_get_ns",
	.handler = give_time,
};

int replay_redirect(void)
{
	int err;

	if (redirected)
		return 0;
	err = register_kretprobe(&clock);
	redirected = !err;
	return err;
}

void replay_restore(void)
{
	if (redirected)
		unregister_kretprobe(&clock);
	redirected = false;
}

void replay_seed(u64 seed, u32 skip)
{
}

void replay_hashes(const struct replay_request *request)
{
}

/* Another for each packet, as if the sender had timed out: it must have no effect. */
u32 replay_flow_label(const struct replay_request *request)
{
	return 1 + request->number % 0xfffff;
}

ktime_t replay_now(void)
{
	return now;
}

/* Fails if a call got the kernel's own time, because too many others called at the same time. */
int replay_sleep_until(ktime_t due)
{
	if (clock.nmissed)
		return -EBUSY;
	if (ktime_after(due, now))
		now = due;
	return 0;
}

void replay_enter(void)
{
	WRITE_ONCE(caller, current);
}

void replay_leave(void)
{
	WRITE_ONCE(caller, NULL);
}
