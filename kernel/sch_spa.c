// SPDX-License-Identifier: GPL-2.0-only
/* SPA: priority for handshake packets over two queues.
 *
 * Braud, Heusse, Duda: The Virtue of Gentleness: Improving Connection Response
 * Times with SYN Priority Active Queue Management. IFIP Networking 2018.
 *
 * Class 1 has SYNs and SYN/ACKs, and FINs with fin priority, and is served
 * first. Class 2 has all other packets. Each is a pfifo unless another qdisc is
 * grafted in its place: with codel in both this is SPA, with pfifo the paper's
 * SYN Prio and SYN/FIN Prio.
 *
 * A FIN with priority overtakes data of its own connection: the receiver then
 * reports a gap with SACK, and the sender takes the data for lost. By default
 * FINs are data.
 *
 * The share of bytes that class 1 may take while packets wait is limited,
 * against floods of SYNs: handshake packets beyond it are data, or dropped
 * (share.h).
 */

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "handshake.h"
#include "pkt_sch_spa.h"
#include "share.h"

enum spa_band {
	SPA_PRIORITY,
	SPA_DATA,
	SPA_BANDS
};

/**
 * struct spa_sched_data - private data of the qdisc
 * @queue: the children
 * @fin: TC_SPA_FIN_...
 * @maxlen: IP length above which a handshake packet is data; 0: no limit
 * @share: credit of the priority queue
 * @syn: SYNs with priority
 * @fins: FINs with priority
 * @toolong: handshake packets longer than @maxlen
 * @overshare: handshake packets beyond @share that were data
 * @flood_drop: handshake packets beyond @share that were dropped
 */
struct spa_sched_data {
	struct Qdisc	*queue[SPA_BANDS];
	u32		fin;
	u32		maxlen;
	struct share	share;

	u64		syn;
	u64		fins;
	u64		toolong;
	u64		overshare;
	u64		flood_drop;
};

static void spa_count(u64 *counter)
{
	WRITE_ONCE(*counter, *counter + 1);
}

/* The queue of a handshake packet, or SPA_BANDS to drop it. */
static noinline enum spa_band spa_classify(struct spa_sched_data *q,
					   const struct sk_buff *skb, u8 flags,
					   unsigned int len)
{
	bool waiting = qdisc_qlen(q->queue[SPA_PRIORITY]) ||
		       qdisc_qlen(q->queue[SPA_DATA]);
	bool syn = flags & HANDSHAKE_SYN;

	if (!syn && q->fin != TC_SPA_FIN_PRIORITY)
		return SPA_DATA;
	if (q->maxlen && len > q->maxlen) {
		spa_count(&q->toolong);
		return SPA_DATA;
	}
	switch (share_admit(&q->share, qdisc_pkt_len(skb), waiting)) {
	case SHARE_FIRST:
		spa_count(syn ? &q->syn : &q->fins);
		return SPA_PRIORITY;
	case SHARE_AS_DATA:
		spa_count(&q->overshare);
		return SPA_DATA;
	default:
		spa_count(&q->flood_drop);
		return SPA_BANDS;
	}
}

static int spa_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	enum spa_band band = SPA_DATA;
	unsigned int ip_len;
	u8 flags;
	int ret;

	flags = handshake_flags(skb, &ip_len);
	if (unlikely(flags)) {
		band = spa_classify(q, skb, flags, ip_len);
		if (band == SPA_BANDS)
			return qdisc_drop_reason(skb, sch, to_free,
						 QDISC_DROP_OVERLIMIT);
	}

	/* The child may free the packet. */
	ret = qdisc_enqueue(skb, q->queue[band], to_free);
	if (likely(ret == NET_XMIT_SUCCESS)) {
		WRITE_ONCE(sch->qstats.backlog, sch->qstats.backlog + len);
		qdisc_qlen_inc(sch);
	} else if (net_xmit_drop_count(ret)) {
		qdisc_qstats_drop(sch);
	}
	return ret;
}

static struct sk_buff *spa_dequeue(struct Qdisc *sch)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	skb = qdisc_dequeue_peeked(q->queue[SPA_PRIORITY]) ?:
	      qdisc_dequeue_peeked(q->queue[SPA_DATA]);
	if (!skb)
		return NULL;
	share_earn(&q->share, qdisc_pkt_len(skb));
	qdisc_bstats_update(sch, skb);
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_qlen_dec(sch);
	return skb;
}

static void spa_reset(struct Qdisc *sch)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	int i;

	for (i = 0; i < SPA_BANDS; i++)
		if (q->queue[i])
			qdisc_reset(q->queue[i]);
	share_init(&q->share, q->share.percent);
}

static void spa_destroy(struct Qdisc *sch)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	int i;

	for (i = 0; i < SPA_BANDS; i++)
		qdisc_put(q->queue[i]);
}

static const struct netlink_range_validation spa_maxlen_range = {
	.max = HANDSHAKE_MAXLEN_MAX,
};

static const struct nla_policy spa_policy[TCA_SPA_MAX + 1] = {
	[TCA_SPA_FIN]		= NLA_POLICY_MAX(NLA_U32, TC_SPA_FIN_MAX),
	[TCA_SPA_MAXLEN]	=
		NLA_POLICY_FULL_RANGE(NLA_U32, &spa_maxlen_range),
	[TCA_SPA_SHARE]		= NLA_POLICY_RANGE(NLA_U32, 1, 100),
};

static int spa_change(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_SPA_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_SPA_MAX, opt, spa_policy, extack);
	if (err < 0)
		return err;

	sch_tree_lock(sch);
	if (tb[TCA_SPA_FIN])
		WRITE_ONCE(q->fin, nla_get_u32(tb[TCA_SPA_FIN]));
	if (tb[TCA_SPA_MAXLEN])
		WRITE_ONCE(q->maxlen, nla_get_u32(tb[TCA_SPA_MAXLEN]));
	if (tb[TCA_SPA_SHARE])
		share_change(&q->share, nla_get_u32(tb[TCA_SPA_SHARE]));
	sch_tree_unlock(sch);
	return 0;
}

static struct Qdisc *spa_default_child(struct Qdisc *sch, enum spa_band band,
				       struct netlink_ext_ack *extack)
{
	u32 classid = TC_H_MAKE(sch->handle, band + 1);
	struct Qdisc *child;

	child = qdisc_create_dflt(sch->dev_queue, &pfifo_qdisc_ops, classid,
				  extack);
	if (child)
		qdisc_hash_add(child, true);
	return child;
}

static int spa_init(struct Qdisc *sch, struct nlattr *opt,
		    struct netlink_ext_ack *extack)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	int i;

	q->fin = TC_SPA_FIN_NONE;
	q->maxlen = HANDSHAKE_MAXLEN;
	share_init(&q->share, SHARE_DEFAULT);

	for (i = 0; i < SPA_BANDS; i++) {
		q->queue[i] = spa_default_child(sch, i, extack);
		if (!q->queue[i])
			return -ENOMEM;
	}
	return opt ? spa_change(sch, opt, extack) : 0;
}

static int spa_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct spa_sched_data *q = qdisc_priv(sch);
	struct nlattr *opts;

	opts = nla_nest_start(skb, TCA_OPTIONS);
	if (!opts)
		goto nla_put_failure;

	if (nla_put_u32(skb, TCA_SPA_FIN, READ_ONCE(q->fin)) ||
	    nla_put_u32(skb, TCA_SPA_MAXLEN, READ_ONCE(q->maxlen)) ||
	    nla_put_u32(skb, TCA_SPA_SHARE, READ_ONCE(q->share.percent)))
		goto nla_put_failure;

	return nla_nest_end(skb, opts);

nla_put_failure:
	nla_nest_cancel(skb, opts);
	return -EMSGSIZE;
}

static int spa_put_u64(struct sk_buff *skb, int attr, const u64 *counter)
{
	return nla_put_u64_64bit(skb, attr, READ_ONCE(*counter),
				 TCA_SPA_XSTATS_PAD);
}

static int spa_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	const struct spa_sched_data *q = qdisc_priv(sch);
	struct nlattr *nest = nla_nest_start(d->skb, TCA_STATS_APP);

	if (!nest)
		return -1;
	if (spa_put_u64(d->skb, TCA_SPA_XSTATS_SYN, &q->syn) ||
	    spa_put_u64(d->skb, TCA_SPA_XSTATS_FIN, &q->fins) ||
	    spa_put_u64(d->skb, TCA_SPA_XSTATS_TOOLONG, &q->toolong) ||
	    spa_put_u64(d->skb, TCA_SPA_XSTATS_OVERSHARE, &q->overshare) ||
	    spa_put_u64(d->skb, TCA_SPA_XSTATS_FLOOD_DROP, &q->flood_drop)) {
		nla_nest_cancel(d->skb, nest);
		return -1;
	}
	nla_nest_end(d->skb, nest);
	return 0;
}

/* Classes */

static unsigned long spa_find(struct Qdisc *sch, u32 classid)
{
	u32 minor = TC_H_MIN(classid);

	return minor >= 1 && minor <= SPA_BANDS ? minor : 0;
}

static struct Qdisc *spa_leaf(struct Qdisc *sch, unsigned long cl)
{
	struct spa_sched_data *q = qdisc_priv(sch);

	return q->queue[cl - 1];
}

static void spa_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	int i;

	if (arg->stop)
		return;
	for (i = 1; i <= SPA_BANDS; i++)
		if (!tc_qdisc_stats_dump(sch, i, arg))
			break;
}

static int spa_graft(struct Qdisc *sch, unsigned long cl, struct Qdisc *new,
		     struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct spa_sched_data *q = qdisc_priv(sch);

	if (!new)
		new = spa_default_child(sch, cl - 1, extack) ?: &noop_qdisc;
	*old = qdisc_replace(sch, new, &q->queue[cl - 1]);
	return 0;
}

static int spa_dump_class(struct Qdisc *sch, unsigned long cl,
			  struct sk_buff *skb, struct tcmsg *tcm)
{
	tcm->tcm_handle |= TC_H_MIN(cl);
	tcm->tcm_info = spa_leaf(sch, cl)->handle;
	return 0;
}

static int spa_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				struct gnet_dump *d)
{
	struct Qdisc *child = spa_leaf(sch, cl);

	if (gnet_stats_copy_basic(d, child->cpu_bstats, &child->bstats,
				  true) < 0 ||
	    qdisc_qstats_copy(d, child) < 0)
		return -1;
	return 0;
}

static const struct Qdisc_class_ops spa_class_ops = {
	.graft		= spa_graft,
	.leaf		= spa_leaf,
	.find		= spa_find,
	.walk		= spa_walk,
	.dump		= spa_dump_class,
	.dump_stats	= spa_dump_class_stats,
};

static struct Qdisc_ops spa_qdisc_ops __read_mostly = {
	.cl_ops		= &spa_class_ops,
	.id		= "spa",
	.priv_size	= sizeof(struct spa_sched_data),
	.enqueue	= spa_enqueue,
	.dequeue	= spa_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= spa_init,
	.reset		= spa_reset,
	.destroy	= spa_destroy,
	.change		= spa_change,
	.dump		= spa_dump,
	.dump_stats	= spa_dump_stats,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("spa");

static int __init spa_module_init(void)
{
	handshake_init();
	return register_qdisc(&spa_qdisc_ops);
}

static void __exit spa_module_exit(void)
{
	unregister_qdisc(&spa_qdisc_ops);
}

module_init(spa_module_init)
module_exit(spa_module_exit)

MODULE_AUTHOR("The gentle authors");
MODULE_DESCRIPTION("SYN priority active queue management");
MODULE_LICENSE("GPL");
