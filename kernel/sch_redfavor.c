// SPDX-License-Identifier: GPL-2.0-only
/*
 * REDFavor: random early detection that protects SYNs
 *
 * P. Anelli, F. Harivelo and R. Lorion, "TCP SYN Protection: An Evaluation",
 * ICN 2012, section III.
 *
 * SYNs (and SYN/ACKs) are served before all other packets, here called
 * standard. If RED would drop a SYN, or the queue is full, the last standard
 * packet is pushed out instead; a SYN is dropped only if the queue has none.
 * RED is the kernel's, on the bytes of all packets, including ECN: a SYN that
 * can be marked is marked and pushes out nothing.
 *
 * This is the paper's algorithm. By its text, RED does not check SYNs, and only
 * lack of space drops one: this is the flag exempt, which gives the paper's
 * results.
 *
 * Choices where the paper is silent, since the limit is in bytes: one SYN may
 * push out several packets; a SYN that would not fit even then is dropped and
 * pushes out nothing.
 *
 * Two limits are not in the paper; maxlen 0 share 100 turns them off. A SYN
 * that is longer than maxlen, or beyond the share of the bytes that SYNs may
 * take while other packets wait, is a standard packet. With a share below 100,
 * a SYN that RED would drop pushes out a packet only if the queue is full: a
 * long data packet itself raises the average above max, so that under a flood
 * the next SYN would always find it last in the queue.
 */

#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/timer.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/red.h>

#include "handshake.h"
#include "pkt_sch_redfavor.h"
#include "share.h"

#define REDFAVOR_DEFAULT_LIMIT	75000
#define REDFAVOR_DEFAULT_MAX_P	85899345	/* 2 % of 2^32 */
#define REDFAVOR_MAX_LIMIT	(1U << 30)

/* Maximum for which the span of the idle table fits Scell_max. */
#define REDFAVOR_MAX_SCELL_LOG	24

/* Floyd, Gummadi and Shenker, "Adaptive RED" (2001), section IV. */
#define REDFAVOR_ADAPT_INTERVAL	(HZ / 2)

struct redfavor_queue {
	struct sk_buff_head	packets;
	u32			bytes;
};

struct redfavor_sched_data {
	struct redfavor_queue	syns;
	struct redfavor_queue	standard;
	u32			limit;	/* bytes of both */
	u32			maxlen;	/* IP length; 0: no limit */
	struct share		share;	/* of protected SYNs */
	u8			flags;	/* TC_REDFAVOR_FLAGS */
	struct red_parms	parms;
	struct red_vars		vars;
	struct timer_list	adapt_timer;
	struct Qdisc		*sch;

	u64			prob_drop;
	u64			forced_drop;
	u64			tail_drop;
	u64			push_out;
	u64			syn_queued;
	u64			syn_saved;
	u64			syn_early_drop;
	u64			syn_tail_drop;
	u64			prob_mark;
	u64			forced_mark;
	u64			syn_toolong;
	u64			syn_overshare;
};

/* RED's decision on an arriving packet. */
enum redfavor_verdict {
	REDFAVOR_PASS,
	REDFAVOR_DROP_PROBABLE,
	REDFAVOR_DROP_FORCED,
};

static u32 redfavor_bytes(const struct redfavor_sched_data *q)
{
	return q->syns.bytes + q->standard.bytes;
}

static void redfavor_append(struct Qdisc *sch, struct redfavor_queue *queue,
			    struct sk_buff *skb)
{
	__skb_queue_tail(&queue->packets, skb);
	queue->bytes += qdisc_pkt_len(skb);
	qdisc_qstats_backlog_inc(sch, skb);
	qdisc_qlen_inc(sch);
}

static struct sk_buff *redfavor_take(struct Qdisc *sch,
				     struct redfavor_queue *queue, bool first)
{
	struct sk_buff *skb;

	skb = first ? __skb_dequeue(&queue->packets) :
		      __skb_dequeue_tail(&queue->packets);
	if (!skb)
		return NULL;
	queue->bytes -= qdisc_pkt_len(skb);
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_qlen_dec(sch);
	return skb;
}

/* Updates the average for an arriving packet. */
static void redfavor_average_arrival(struct redfavor_sched_data *q)
{
	q->vars.qavg = red_calc_qavg(&q->parms, &q->vars, redfavor_bytes(q));
	if (red_is_idling(&q->vars))
		red_end_of_idle_period(&q->vars);
}

static enum redfavor_verdict redfavor_decide(struct Qdisc *sch,
					     struct sk_buff *skb)
{
	struct redfavor_sched_data *q = qdisc_priv(sch);
	int action;

	action = red_action(&q->parms, &q->vars, q->vars.qavg);
	if (action == RED_DONT_MARK)
		return REDFAVOR_PASS;
	qdisc_qstats_overlimit(sch);

	if ((q->flags & TC_RED_ECN) &&
	    !(action == RED_HARD_MARK && (q->flags & TC_RED_HARDDROP))) {
		if (INET_ECN_set_ce(skb)) {
			if (action == RED_HARD_MARK)
				q->forced_mark++;
			else
				q->prob_mark++;
			return REDFAVOR_PASS;
		}
		if (q->flags & TC_RED_NODROP)
			return REDFAVOR_PASS;
	}
	return action == RED_HARD_MARK ? REDFAVOR_DROP_FORCED :
					 REDFAVOR_DROP_PROBABLE;
}

/* Returns true if the packet is a protected SYN. */
static bool redfavor_protects(struct redfavor_sched_data *q,
			      const struct sk_buff *skb)
{
	unsigned int len;

	if (likely(!(handshake_flags(skb, &len) & HANDSHAKE_SYN)))
		return false;
	if (q->maxlen && len > q->maxlen) {
		q->syn_toolong++;
		return false;
	}
	if (share_admit(&q->share, qdisc_pkt_len(skb), redfavor_bytes(q)) !=
	    SHARE_FIRST) {
		q->syn_overshare++;
		return false;
	}
	return true;
}

/*
 * Drops the last standard packet and adds its length to @bytes. Returns false
 * without one. The parent is informed only after the SYN is queued: it would
 * remove an empty class from its lists. (A class of hfsc with a qdisc between
 * stalls nevertheless: hfsc does not activate it again.)
 */
static bool redfavor_push_out(struct Qdisc *sch, struct sk_buff **to_free,
			      unsigned int *bytes)
{
	struct redfavor_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = redfavor_take(sch, &q->standard, false);

	if (!skb)
		return false;
	q->push_out++;
	*bytes += qdisc_pkt_len(skb);
	qdisc_drop_reason(skb, sch, to_free, QDISC_DROP_CONGESTED);
	return true;
}

static int redfavor_enqueue_syn(struct sk_buff *skb, struct Qdisc *sch,
				struct sk_buff **to_free, bool early)
{
	struct redfavor_sched_data *q = qdisc_priv(sch);
	unsigned int packets = 0, bytes = 0;
	u32 len = qdisc_pkt_len(skb);

	early = early && q->share.percent == SHARE_NO_BOUND;
	if (q->syns.bytes + len > q->limit) {
		q->syn_tail_drop++;
		return qdisc_drop_reason(skb, sch, to_free,
					 QDISC_DROP_OVERLIMIT);
	}
	/* Terminates: without standard packets the SYN fits. */
	while ((early && !packets) || redfavor_bytes(q) + len > q->limit) {
		if (!redfavor_push_out(sch, to_free, &bytes)) {
			q->syn_early_drop++;
			qdisc_drop_reason(skb, sch, to_free,
					  QDISC_DROP_CONGESTED);
			return NET_XMIT_CN;
		}
		packets++;
	}
	redfavor_append(sch, &q->syns, skb);
	q->syn_queued++;
	if (packets) {
		q->syn_saved++;
		qdisc_tree_reduce_backlog(sch, packets, bytes);
	}
	return NET_XMIT_SUCCESS;
}

static int redfavor_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			    struct sk_buff **to_free)
{
	struct redfavor_sched_data *q = qdisc_priv(sch);
	enum redfavor_verdict verdict = REDFAVOR_PASS;
	bool syn = redfavor_protects(q, skb);

	redfavor_average_arrival(q);
	if (!syn || !(q->flags & TC_REDFAVOR_EXEMPT))
		verdict = redfavor_decide(sch, skb);

	if (syn)
		return redfavor_enqueue_syn(skb, sch, to_free,
					    verdict != REDFAVOR_PASS);

	if (verdict != REDFAVOR_PASS) {
		if (verdict == REDFAVOR_DROP_FORCED)
			q->forced_drop++;
		else
			q->prob_drop++;
		qdisc_drop_reason(skb, sch, to_free, QDISC_DROP_CONGESTED);
		return NET_XMIT_CN;
	}
	if (redfavor_bytes(q) + qdisc_pkt_len(skb) > q->limit) {
		q->tail_drop++;
		return qdisc_drop_reason(skb, sch, to_free,
					 QDISC_DROP_OVERLIMIT);
	}
	redfavor_append(sch, &q->standard, skb);
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *redfavor_dequeue(struct Qdisc *sch)
{
	struct redfavor_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	skb = redfavor_take(sch, &q->syns, true);
	if (!skb)
		skb = redfavor_take(sch, &q->standard, true);
	if (skb) {
		share_earn(&q->share, qdisc_pkt_len(skb));
		qdisc_bstats_update(sch, skb);
	} else if (!red_is_idling(&q->vars)) {
		red_start_of_idle_period(&q->vars);
	}
	return skb;
}

/* As in prio, a SYN that arrives after a peek still goes first. */
static struct sk_buff *redfavor_peek(struct Qdisc *sch)
{
	struct redfavor_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = skb_peek(&q->syns.packets);

	return skb ? skb : skb_peek(&q->standard.packets);
}

static void redfavor_purge(struct redfavor_queue *queue)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(&queue->packets)))
		rtnl_kfree_skbs(skb, skb);
	queue->bytes = 0;
}

static void redfavor_reset(struct Qdisc *sch)
{
	struct redfavor_sched_data *q = qdisc_priv(sch);

	redfavor_purge(&q->syns);
	redfavor_purge(&q->standard);
	red_restart(&q->vars);
	share_init(&q->share, q->share.percent);
}

static void redfavor_adapt(struct timer_list *timer)
{
	struct redfavor_sched_data *q = timer_container_of(q, timer,
							   adapt_timer);
	spinlock_t *root_lock;

	rcu_read_lock();
	root_lock = qdisc_lock(qdisc_root_sleeping(q->sch));
	spin_lock(root_lock);
	/* The adaptation may have been turned off since. */
	if (q->flags & TC_RED_ADAPTATIVE) {
		red_adaptative_algo(&q->parms, &q->vars);
		mod_timer(&q->adapt_timer, jiffies + REDFAVOR_ADAPT_INTERVAL);
	}
	spin_unlock(root_lock);
	rcu_read_unlock();
}

static const struct netlink_range_validation redfavor_limit_range = {
	.min = 1,
	.max = REDFAVOR_MAX_LIMIT,
};

static const struct netlink_range_validation redfavor_max_p_range = {
	.min = 1,
	.max = U32_MAX,
};

static const struct netlink_range_validation redfavor_maxlen_range = {
	.max = HANDSHAKE_MAXLEN_MAX,
};

static const struct nla_policy redfavor_policy[TCA_REDFAVOR_MAX + 1] = {
	[TCA_REDFAVOR_LIMIT] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &redfavor_limit_range),
	[TCA_REDFAVOR_QTH_MIN] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &redfavor_limit_range),
	[TCA_REDFAVOR_QTH_MAX] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &redfavor_limit_range),
	[TCA_REDFAVOR_WLOG] = NLA_POLICY_RANGE(NLA_U32, 1, 30),
	[TCA_REDFAVOR_SCELL_LOG] =
		NLA_POLICY_MAX(NLA_U32, REDFAVOR_MAX_SCELL_LOG),
	[TCA_REDFAVOR_STAB] = NLA_POLICY_EXACT_LEN(TC_REDFAVOR_STAB_SIZE),
	[TCA_REDFAVOR_MAX_P] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &redfavor_max_p_range),
	[TCA_REDFAVOR_FLAGS] = NLA_POLICY_BITFIELD32(TC_REDFAVOR_FLAGS),
	[TCA_REDFAVOR_MAXLEN] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &redfavor_maxlen_range),
	[TCA_REDFAVOR_SHARE] = NLA_POLICY_RANGE(NLA_U32, 1, 100),
};

static const u8 redfavor_average[] = {
	TCA_REDFAVOR_QTH_MIN,
	TCA_REDFAVOR_QTH_MAX,
	TCA_REDFAVOR_WLOG,
	TCA_REDFAVOR_SCELL_LOG,
	TCA_REDFAVOR_STAB,
};

/* Returns whether tb describes an average; if not, q must have one. */
static int redfavor_check_average(const struct redfavor_sched_data *q,
				  struct nlattr **tb,
				  struct netlink_ext_ack *extack)
{
	unsigned int i, given = 0;
	u32 min, max, wlog;

	for (i = 0; i < ARRAY_SIZE(redfavor_average); i++)
		given += !!tb[redfavor_average[i]];
	if (!given && q->parms.qth_max)
		return 0;
	if (given < ARRAY_SIZE(redfavor_average)) {
		NL_SET_ERR_MSG_MOD(extack,
				   "min, max, weight of the average and idle table belong together");
		return -EINVAL;
	}

	min = nla_get_u32(tb[TCA_REDFAVOR_QTH_MIN]);
	max = nla_get_u32(tb[TCA_REDFAVOR_QTH_MAX]);
	wlog = nla_get_u32(tb[TCA_REDFAVOR_WLOG]);
	if (min >= max) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_REDFAVOR_QTH_MIN],
				    "min is not below max");
		return -EINVAL;
	}
	if (fls(max) + wlog >= 32) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_REDFAVOR_QTH_MAX],
				    "max does not fit 32 bits with the weight of the average");
		return -EINVAL;
	}
	if (!red_check_params(min, max, wlog,
			      nla_get_u32(tb[TCA_REDFAVOR_SCELL_LOG]),
			      nla_data(tb[TCA_REDFAVOR_STAB]))) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_REDFAVOR_STAB],
				    "the idle table shifts by more than 31");
		return -EINVAL;
	}
	return 1;
}

/* The average restarts only if its parameters have changed. */
static void redfavor_set_red(struct redfavor_sched_data *q, struct nlattr **tb,
			     bool average)
{
	struct red_parms *p = &q->parms;
	u32 max_p = p->max_P ? p->max_P : REDFAVOR_DEFAULT_MAX_P;

	if (tb[TCA_REDFAVOR_MAX_P])
		max_p = nla_get_u32(tb[TCA_REDFAVOR_MAX_P]);

	if (average) {
		red_set_parms(p, nla_get_u32(tb[TCA_REDFAVOR_QTH_MIN]),
			      nla_get_u32(tb[TCA_REDFAVOR_QTH_MAX]),
			      nla_get_u32(tb[TCA_REDFAVOR_WLOG]), 0,
			      nla_get_u32(tb[TCA_REDFAVOR_SCELL_LOG]),
			      nla_data(tb[TCA_REDFAVOR_STAB]), max_p);
		red_set_vars(&q->vars);
	} else if (tb[TCA_REDFAVOR_MAX_P]) {
		red_set_parms(p, p->qth_min >> p->Wlog, p->qth_max >> p->Wlog,
			      p->Wlog, 0, p->Scell_log, NULL, max_p);
	}
}

/* Drops packets beyond the limit: the last standard packets, then SYNs. */
static void redfavor_trim(struct Qdisc *sch)
{
	struct redfavor_sched_data *q = qdisc_priv(sch);
	unsigned int packets = 0, bytes = 0;
	struct sk_buff *skb;

	while (redfavor_bytes(q) > q->limit) {
		skb = redfavor_take(sch, &q->standard, false);
		if (skb) {
			q->tail_drop++;
		} else {
			skb = redfavor_take(sch, &q->syns, false);
			q->syn_tail_drop++;
		}
		packets++;
		bytes += qdisc_pkt_len(skb);
		rtnl_qdisc_drop(skb, sch);
	}
	qdisc_tree_reduce_backlog(sch, packets, bytes);
}

static int redfavor_change(struct Qdisc *sch, struct nlattr *opt,
			   struct netlink_ext_ack *extack)
{
	struct redfavor_sched_data *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_REDFAVOR_MAX + 1];
	u8 flags = q->flags;
	int average, err;

	err = nla_parse_nested(tb, TCA_REDFAVOR_MAX, opt, redfavor_policy,
			       extack);
	if (err < 0)
		return err;
	average = redfavor_check_average(q, tb, extack);
	if (average < 0)
		return average;
	if (tb[TCA_REDFAVOR_FLAGS]) {
		struct nla_bitfield32 given;

		given = nla_get_bitfield32(tb[TCA_REDFAVOR_FLAGS]);
		flags = (flags & ~given.selector) | given.value;
		err = red_validate_flags(flags, extack);
		if (err)
			return err;
	}

	sch_tree_lock(sch);
	WRITE_ONCE(q->flags, flags);
	if (tb[TCA_REDFAVOR_LIMIT])
		WRITE_ONCE(q->limit, nla_get_u32(tb[TCA_REDFAVOR_LIMIT]));
	WRITE_ONCE(sch->limit, q->limit);
	if (tb[TCA_REDFAVOR_MAXLEN])
		WRITE_ONCE(q->maxlen, nla_get_u32(tb[TCA_REDFAVOR_MAXLEN]));
	if (tb[TCA_REDFAVOR_SHARE])
		share_change(&q->share, nla_get_u32(tb[TCA_REDFAVOR_SHARE]));
	redfavor_set_red(q, tb, average);
	redfavor_trim(sch);
	if (!redfavor_bytes(q) && !red_is_idling(&q->vars))
		red_start_of_idle_period(&q->vars);
	if ((flags & TC_RED_ADAPTATIVE) && !timer_pending(&q->adapt_timer))
		mod_timer(&q->adapt_timer, jiffies + REDFAVOR_ADAPT_INTERVAL);
	sch_tree_unlock(sch);
	return 0;
}

static int redfavor_init(struct Qdisc *sch, struct nlattr *opt,
			 struct netlink_ext_ack *extack)
{
	struct redfavor_sched_data *q = qdisc_priv(sch);

	q->sch = sch;
	q->limit = REDFAVOR_DEFAULT_LIMIT;
	q->maxlen = HANDSHAKE_MAXLEN;
	share_init(&q->share, SHARE_DEFAULT);
	__skb_queue_head_init(&q->syns.packets);
	__skb_queue_head_init(&q->standard.packets);
	timer_setup(&q->adapt_timer, redfavor_adapt, 0);

	if (!opt) {
		NL_SET_ERR_MSG_MOD(extack,
				   "options needed: tc computes them if it has the plug-in q_redfavor.so");
		return -EINVAL;
	}
	return redfavor_change(sch, opt, extack);
}

static void redfavor_destroy(struct Qdisc *sch)
{
	struct redfavor_sched_data *q = qdisc_priv(sch);

	timer_delete_sync(&q->adapt_timer);
}

/* Without the lock: a change may be concurrent, as in red. */
static int redfavor_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct redfavor_sched_data *q = qdisc_priv(sch);
	const struct red_parms *p = &q->parms;
	struct nlattr *opts;

	opts = nla_nest_start(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_REDFAVOR_LIMIT, READ_ONCE(q->limit)) ||
	    nla_put_u32(skb, TCA_REDFAVOR_QTH_MIN, p->qth_min >> p->Wlog) ||
	    nla_put_u32(skb, TCA_REDFAVOR_QTH_MAX, p->qth_max >> p->Wlog) ||
	    nla_put_u32(skb, TCA_REDFAVOR_WLOG, p->Wlog) ||
	    nla_put_u32(skb, TCA_REDFAVOR_SCELL_LOG, p->Scell_log) ||
	    nla_put(skb, TCA_REDFAVOR_STAB, sizeof(p->Stab), p->Stab) ||
	    nla_put_u32(skb, TCA_REDFAVOR_MAX_P, READ_ONCE(p->max_P)) ||
	    nla_put_bitfield32(skb, TCA_REDFAVOR_FLAGS, READ_ONCE(q->flags),
			       TC_REDFAVOR_FLAGS) ||
	    nla_put_u32(skb, TCA_REDFAVOR_MAXLEN, READ_ONCE(q->maxlen)) ||
	    nla_put_u32(skb, TCA_REDFAVOR_SHARE,
			READ_ONCE(q->share.percent))) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

/* Counters are read without the lock, as in red. */
static int redfavor_put_u64(struct sk_buff *skb, int attr, const u64 *counter)
{
	return nla_put_u64_64bit(skb, attr, READ_ONCE(*counter),
				 TCA_REDFAVOR_XSTATS_PAD);
}

static int redfavor_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct redfavor_sched_data *q = qdisc_priv(sch);
	unsigned long qavg = READ_ONCE(q->vars.qavg);
	struct sk_buff *skb = d->skb;
	struct nlattr *nest;

	if (red_is_idling(&q->vars))
		qavg = red_calc_qavg_from_idle_time(&q->parms, &q->vars);

	nest = nla_nest_start(skb, TCA_STATS_APP);
	if (!nest)
		return -1;
	if (redfavor_put_u64(skb, TCA_REDFAVOR_XSTATS_PROB_DROP,
			     &q->prob_drop) ||
	    redfavor_put_u64(skb, TCA_REDFAVOR_XSTATS_FORCED_DROP,
			     &q->forced_drop) ||
	    redfavor_put_u64(skb, TCA_REDFAVOR_XSTATS_TAIL_DROP,
			     &q->tail_drop) ||
	    redfavor_put_u64(skb, TCA_REDFAVOR_XSTATS_PUSH_OUT,
			     &q->push_out) ||
	    redfavor_put_u64(skb, TCA_REDFAVOR_XSTATS_SYN_QUEUED,
			     &q->syn_queued) ||
	    redfavor_put_u64(skb, TCA_REDFAVOR_XSTATS_SYN_SAVED,
			     &q->syn_saved) ||
	    redfavor_put_u64(skb, TCA_REDFAVOR_XSTATS_SYN_EARLY_DROP,
			     &q->syn_early_drop) ||
	    redfavor_put_u64(skb, TCA_REDFAVOR_XSTATS_SYN_TAIL_DROP,
			     &q->syn_tail_drop) ||
	    redfavor_put_u64(skb, TCA_REDFAVOR_XSTATS_PROB_MARK,
			     &q->prob_mark) ||
	    redfavor_put_u64(skb, TCA_REDFAVOR_XSTATS_FORCED_MARK,
			     &q->forced_mark) ||
	    redfavor_put_u64(skb, TCA_REDFAVOR_XSTATS_SYN_TOOLONG,
			     &q->syn_toolong) ||
	    redfavor_put_u64(skb, TCA_REDFAVOR_XSTATS_SYN_OVERSHARE,
			     &q->syn_overshare) ||
	    nla_put_u32(skb, TCA_REDFAVOR_XSTATS_QAVG,
			qavg >> q->parms.Wlog) ||
	    nla_put_u32(skb, TCA_REDFAVOR_XSTATS_MAX_P,
			READ_ONCE(q->parms.max_P)) ||
	    nla_put_u32(skb, TCA_REDFAVOR_XSTATS_SYN_QLEN,
			skb_queue_len_lockless(&q->syns.packets)) ||
	    nla_put_u32(skb, TCA_REDFAVOR_XSTATS_SYN_BACKLOG,
			READ_ONCE(q->syns.bytes))) {
		nla_nest_cancel(skb, nest);
		return -1;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static struct Qdisc_ops redfavor_qdisc_ops __read_mostly = {
	.id		= "redfavor",
	.priv_size	= sizeof(struct redfavor_sched_data),
	.enqueue	= redfavor_enqueue,
	.dequeue	= redfavor_dequeue,
	.peek		= redfavor_peek,
	.init		= redfavor_init,
	.reset		= redfavor_reset,
	.destroy	= redfavor_destroy,
	.change		= redfavor_change,
	.dump		= redfavor_dump,
	.dump_stats	= redfavor_dump_stats,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("redfavor");

static int __init redfavor_module_init(void)
{
	handshake_init();
	return register_qdisc(&redfavor_qdisc_ops);
}

static void __exit redfavor_module_exit(void)
{
	unregister_qdisc(&redfavor_qdisc_ops);
}

module_init(redfavor_module_init)
module_exit(redfavor_module_exit)

MODULE_AUTHOR("The gentle authors");
MODULE_DESCRIPTION("RED that protects SYNs (REDFavor) qdisc");
MODULE_LICENSE("GPL");
