/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the Linux versions that the modules support, 6.1 to 7.2,
 * in the interface of the latest. The build includes it in every file (Kbuild),
 * so that the sources are written for the latest.
 */
#ifndef COMPAT_H
#define COMPAT_H

#include <linux/timer.h>
#include <linux/version.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

/*
 * In 7.2 a qdisc gives reasons for drops, drops on dequeue are freed after the
 * root lock is released, and qlen is read without a lock. Some of this was
 * added a few versions earlier with different types and is not used there.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define qdisc_drop_reason(skb, sch, to_free, reason) \
	qdisc_drop(skb, sch, to_free)
#define qdisc_dequeue_drop(sch, skb, reason) kfree_skb(skb)
#define qdisc_qlen_inc(sch) ((void)(sch)->q.qlen++)
#define qdisc_qlen_dec(sch) ((void)(sch)->q.qlen--)
#ifndef TCQ_F_DEQUEUE_DROPS
#define TCQ_F_DEQUEUE_DROPS 0
#endif
#endif

#ifndef timer_container_of
#define timer_container_of(var, timer, field) from_timer(var, timer, field)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define timer_delete(timer) del_timer(timer)
#define timer_delete_sync(timer) del_timer_sync(timer)
#endif

/* Ranges of netlink policies are constant from 6.7 on. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#undef NLA_POLICY_FULL_RANGE
#define NLA_POLICY_FULL_RANGE(tp, _range) { \
	.type = NLA_ENSURE_UINT_OR_BINARY_TYPE(tp), \
	.validation_type = NLA_VALIDATE_RANGE_PTR, \
	.range = (struct netlink_range_validation *)(_range), \
}
#endif

#ifndef MODULE_ALIAS_NET_SCH
#define MODULE_ALIAS_NET_SCH(id) MODULE_ALIAS("net-sch-" id)
#endif

#endif
