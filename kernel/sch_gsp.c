// SPDX-License-Identifier: GPL-2.0-only
/*
 * Global synchronization protection (GSP)
 *
 * W. Lautenschlaeger and A. Francini, "Global Synchronization Protection for
 * Bandwidth Sharing TCP Flows in High-Speed Links", IEEE HPSR 2015; also
 * draft-lauten-aqm-gsp-03.
 *
 * A FIFO. When the queue exceeds a threshold, one packet is dropped, then none
 * for an interval of about two round-trip times, in which the flow that lost
 * the packet backs off. The adaptive mode shortens the interval while the
 * queue stays above the threshold:
 *
 *	cumul += alpha * (time above) - (time below), within [0, maxtime]
 *	interval * tau / (tau + cumul)
 *
 * The queue is observed on arrivals only. The time since the last arrival
 * counts as spent on the side of the threshold on which the queue is now.
 * After an overflow, time below does not count until the queue has been empty
 * and then above the threshold.
 *
 * With a threshold in packets or bytes the clock is read only near the
 * threshold: time below is one span regardless of the number of arrivals, and
 * a packet can find the queue above the threshold only if the packet before
 * has left it there. Below the threshold a packet therefore costs the same as
 * in pfifo. A threshold that is a delay needs the time of every arrival, but
 * nothing else for a packet that finds the queue below it. The interval is
 * divided only when a packet is dropped.
 */

#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "pkt_sch_gsp.h"

#define GSP_DEFAULT_DELAY	(10 * NSEC_PER_MSEC)
#define GSP_DEFAULT_INTERVAL	(200 * NSEC_PER_MSEC)
#define GSP_DEFAULT_ALPHA	2
#define GSP_DEFAULT_LIMIT	1000
#define GSP_MAX_PACKETS		1000000
#define GSP_MAX_BYTES		(1U << 30)

/* Unless given, tau derives from interval, and maxtime from tau. */
#define GSP_TAU_INTERVALS	5
#define GSP_MAXTIME_TAUS	99

enum gsp_unit {
	GSP_DELAY,
	GSP_BYTES,
	GSP_PACKETS,
};

struct gsp_params {
	u64		threshold;	/* ns, bytes or packets */
	u64		interval;	/* ns, as are tau and maxtime */
	u64		tau;
	u64		maxtime;
	u32		limit;		/* packets */
	u32		limit_bytes;
	u32		alpha;
	enum gsp_unit	unit;
	bool		adaptive;
	bool		tau_given;
	bool		maxtime_given;
};

struct gsp_sched_data {
	/* Queue length up to which an arrival needs no processing. */
	u32			fast_packets;
	u32			fast_bytes;

	/* The last packet that found the queue below a delay: until then time
	 * below counts, but has not been counted.
	 */
	u64			below;
	enum gsp_overflow	overflow;
	bool			emptied; /* empty since last or below */

	struct gsp_params	params;

	u64			expiry;	/* no early drop until this time */
	u64			last;	/* time of the last update of cumul */
	u64			cumul;

	u64			early_drop;
	u64			tail_drop;
};

struct gsp_skb_cb {
	u64	enqueue_time;	/* ns; set only if the threshold is a delay */
};

static struct gsp_skb_cb *gsp_skb_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct gsp_skb_cb));
	return (struct gsp_skb_cb *)qdisc_skb_cb(skb)->data;
}

/*
 * A requeued packet is not in sch->q and may have come past the queue without
 * a stamp, so the first one behind it counts as the head.
 */
static u64 gsp_head_delay(const struct Qdisc *sch, u64 now)
{
	const struct sk_buff *head = sch->q.head;
	u64 stamp;

	if (!head)
		return 0;
	stamp = gsp_skb_cb(head)->enqueue_time;
	return now > stamp ? now - stamp : 0;
}

/*
 * One packet alone waits at least for the one on the wire, so a queue of one
 * is below any delay. A full queue is above any.
 */
static bool gsp_delay_above(const struct Qdisc *sch, u64 threshold, u64 now,
			    bool full)
{
	if (full)
		return sch->q.qlen > 0;
	return sch->q.qlen > 1 && gsp_head_delay(sch, now) > threshold;
}

static bool gsp_above(struct Qdisc *sch, u64 now, bool full)
{
	const struct gsp_sched_data *q = qdisc_priv(sch);
	const struct gsp_params *p = &q->params;

	switch (p->unit) {
	case GSP_BYTES:
		return sch->qstats.backlog > p->threshold;
	case GSP_PACKETS:
		return sch->q.qlen > p->threshold;
	default:
		return gsp_delay_above(sch, p->threshold, now, full);
	}
}

static bool gsp_full(const struct sk_buff *skb, const struct Qdisc *sch,
		     const struct gsp_params *p)
{
	return sch->q.qlen >= p->limit ||
	       (u64)sch->qstats.backlog + qdisc_pkt_len(skb) > p->limit_bytes;
}

/* Adds a span above or below the threshold to cumulated time. */
static u64 gsp_add_span(const struct gsp_sched_data *q, u64 cumul, u64 span,
			bool above)
{
	const struct gsp_params *p = &q->params;

	if (above) {
		if (span >= p->maxtime)
			return p->maxtime;
		return min(cumul + span * p->alpha, p->maxtime);
	}
	if (q->overflow != GSP_OVERFLOW_NONE)
		return cumul;
	return cumul - min(cumul, span);
}

/* Counts the time below that has been recorded but not counted. */
static void gsp_catch_up(const struct gsp_sched_data *q, u64 *cumul, u64 *last)
{
	if (q->below > *last) {
		*cumul = gsp_add_span(q, *cumul, q->below - *last, false);
		*last = q->below;
	}
}

/*
 * A queue that has been empty was below the threshold when the next packet
 * arrived, even if it is above now: packets that bypass an empty qdisc are not
 * seen here, but a driver may requeue them.
 */
static void gsp_observe(struct gsp_sched_data *q, u64 now, bool above)
{
	gsp_catch_up(q, &q->cumul, &q->last);
	if (q->emptied) {
		q->emptied = false;
		above = false;
		if (q->overflow == GSP_OVERFLOW_HAPPENED)
			q->overflow = GSP_OVERFLOW_DRAINED;
	} else if (above && q->overflow == GSP_OVERFLOW_DRAINED) {
		q->overflow = GSP_OVERFLOW_NONE;
	}
	q->cumul = gsp_add_span(q, q->cumul, now - q->last, above);
	q->last = now;
}

static u64 gsp_interval(const struct gsp_params *p, u64 cumul)
{
	if (!p->adaptive)
		return p->interval;
	return mul_u64_u64_div_u64(p->interval, p->tau, p->tau + cumul);
}

/* Enqueues a packet that may find the queue above the threshold or full. */
static noinline int gsp_decide(struct sk_buff *skb, struct Qdisc *sch,
			       struct sk_buff **to_free, u64 now)
{
	struct gsp_sched_data *q = qdisc_priv(sch);
	const struct gsp_params *p = &q->params;
	bool full = gsp_full(skb, sch, p);
	bool above = gsp_above(sch, now, full);

	if (p->adaptive)
		gsp_observe(q, now, above);

	if (above && now > q->expiry) {
		q->expiry = now + gsp_interval(p, q->cumul);
		q->early_drop++;
		qdisc_qstats_overlimit(sch);
		qdisc_drop_reason(skb, sch, to_free, QDISC_DROP_CONGESTED);
		return NET_XMIT_CN;
	}
	if (full) {
		if (p->adaptive)
			q->overflow = GSP_OVERFLOW_HAPPENED;
		q->tail_drop++;
		return qdisc_drop_reason(skb, sch, to_free,
					 QDISC_DROP_OVERLIMIT);
	}
	return qdisc_enqueue_tail(skb, sch);
}

/*
 * Enqueues where the threshold is a delay. That the queue has been empty
 * matters to a packet that finds it below the threshold only after an overflow.
 */
static noinline int gsp_enqueue_timed(struct sk_buff *skb, struct Qdisc *sch,
				      struct sk_buff **to_free)
{
	struct gsp_sched_data *q = qdisc_priv(sch);
	const struct gsp_params *p = &q->params;
	u64 now = ktime_get_ns();

	gsp_skb_cb(skb)->enqueue_time = now;
	if (unlikely(gsp_full(skb, sch, p) ||
		     q->overflow == GSP_OVERFLOW_HAPPENED ||
		     gsp_delay_above(sch, p->threshold, now, false)))
		return gsp_decide(skb, sch, to_free, now);
	q->below = now;
	q->emptied = false;
	return qdisc_enqueue_tail(skb, sch);
}

static noinline int gsp_enqueue_near(struct sk_buff *skb, struct Qdisc *sch,
				     struct sk_buff **to_free)
{
	return gsp_decide(skb, sch, to_free, ktime_get_ns());
}

static int gsp_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	const struct gsp_sched_data *q = qdisc_priv(sch);

	if (likely(sch->q.qlen < q->fast_packets &&
		   (u64)sch->qstats.backlog + qdisc_pkt_len(skb) <=
			q->fast_bytes))
		return qdisc_enqueue_tail(skb, sch);
	if (q->params.unit == GSP_DELAY)
		return gsp_enqueue_timed(skb, sch, to_free);
	return gsp_enqueue_near(skb, sch, to_free);
}

static struct sk_buff *gsp_dequeue(struct Qdisc *sch)
{
	struct gsp_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_dequeue_head(sch);

	if (!sch->q.qlen)
		q->emptied = true;
	return skb;
}

static void gsp_restart(struct gsp_sched_data *q)
{
	q->expiry = 0;
	q->last = 0;
	q->below = 0;
	q->cumul = 0;
	q->overflow = GSP_OVERFLOW_NONE;
	q->emptied = true;
}

static void gsp_reset(struct Qdisc *sch)
{
	qdisc_reset_queue(sch);
	gsp_restart(qdisc_priv(sch));
}

static const struct netlink_range_validation gsp_delay_range = {
	.min = NSEC_PER_USEC,
	.max = 10ULL * NSEC_PER_SEC,
};

static const struct netlink_range_validation gsp_interval_range = {
	.min = NSEC_PER_USEC,
	.max = 60ULL * NSEC_PER_SEC,
};

static const struct netlink_range_validation gsp_tau_range = {
	.min = NSEC_PER_USEC,
	.max = 600ULL * NSEC_PER_SEC,
};

static const struct netlink_range_validation gsp_maxtime_range = {
	.max = 60000ULL * NSEC_PER_SEC,
};

static const struct netlink_range_validation gsp_packets_range = {
	.min = 1,
	.max = GSP_MAX_PACKETS,
};

static const struct netlink_range_validation gsp_bytes_range = {
	.min = 1,
	.max = GSP_MAX_BYTES,
};

static const struct nla_policy gsp_policy[TCA_GSP_MAX + 1] = {
	[TCA_GSP_THRESHOLD_DELAY] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &gsp_delay_range),
	[TCA_GSP_THRESHOLD_BYTES] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &gsp_bytes_range),
	[TCA_GSP_THRESHOLD_PACKETS] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &gsp_packets_range),
	[TCA_GSP_INTERVAL] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &gsp_interval_range),
	[TCA_GSP_MODE] = NLA_POLICY_MAX(NLA_U32, GSP_MODE_ADAPTIVE),
	[TCA_GSP_ALPHA] = NLA_POLICY_RANGE(NLA_U32, 1, 64),
	[TCA_GSP_TAU] = NLA_POLICY_FULL_RANGE(NLA_U64, &gsp_tau_range),
	[TCA_GSP_MAXTIME] = NLA_POLICY_FULL_RANGE(NLA_U64, &gsp_maxtime_range),
	[TCA_GSP_LIMIT] = NLA_POLICY_FULL_RANGE(NLA_U32, &gsp_packets_range),
	[TCA_GSP_LIMIT_BYTES] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &gsp_bytes_range),
};

static int gsp_parse_threshold(struct gsp_params *p, struct nlattr **tb,
			       struct netlink_ext_ack *extack)
{
	if (!!tb[TCA_GSP_THRESHOLD_DELAY] + !!tb[TCA_GSP_THRESHOLD_BYTES] +
	    !!tb[TCA_GSP_THRESHOLD_PACKETS] > 1) {
		NL_SET_ERR_MSG_MOD(extack,
				   "threshold given twice; expected a delay, bytes or packets");
		return -EINVAL;
	}
	if (tb[TCA_GSP_THRESHOLD_DELAY]) {
		p->unit = GSP_DELAY;
		p->threshold = nla_get_u64(tb[TCA_GSP_THRESHOLD_DELAY]);
	} else if (tb[TCA_GSP_THRESHOLD_BYTES]) {
		p->unit = GSP_BYTES;
		p->threshold = nla_get_u32(tb[TCA_GSP_THRESHOLD_BYTES]);
	} else if (tb[TCA_GSP_THRESHOLD_PACKETS]) {
		p->unit = GSP_PACKETS;
		p->threshold = nla_get_u32(tb[TCA_GSP_THRESHOLD_PACKETS]);
	}
	if (p->unit == GSP_BYTES && p->threshold >= p->limit_bytes) {
		NL_SET_ERR_MSG_MOD(extack,
				   "threshold in bytes is not below limit_bytes");
		return -EINVAL;
	}
	if (p->unit == GSP_PACKETS && p->threshold >= p->limit) {
		NL_SET_ERR_MSG_MOD(extack,
				   "threshold in packets is not below limit");
		return -EINVAL;
	}
	return 0;
}

/* Applies the options opt to p. After an error p is undefined. */
static int gsp_parse(struct gsp_params *p, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_GSP_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_GSP_MAX, opt, gsp_policy, extack);
	if (err < 0)
		return err;

	if (tb[TCA_GSP_INTERVAL])
		p->interval = nla_get_u64(tb[TCA_GSP_INTERVAL]);
	if (tb[TCA_GSP_MODE])
		p->adaptive = nla_get_u32(tb[TCA_GSP_MODE]) ==
			      GSP_MODE_ADAPTIVE;
	if (tb[TCA_GSP_ALPHA])
		p->alpha = nla_get_u32(tb[TCA_GSP_ALPHA]);
	if (tb[TCA_GSP_TAU]) {
		p->tau = nla_get_u64(tb[TCA_GSP_TAU]);
		p->tau_given = true;
	}
	if (!p->tau_given)
		p->tau = p->interval * GSP_TAU_INTERVALS;
	if (tb[TCA_GSP_MAXTIME]) {
		p->maxtime = nla_get_u64(tb[TCA_GSP_MAXTIME]);
		p->maxtime_given = true;
	}
	if (!p->maxtime_given)
		p->maxtime = p->tau * GSP_MAXTIME_TAUS;
	if (tb[TCA_GSP_LIMIT])
		p->limit = nla_get_u32(tb[TCA_GSP_LIMIT]);
	if (tb[TCA_GSP_LIMIT_BYTES])
		p->limit_bytes = nla_get_u32(tb[TCA_GSP_LIMIT_BYTES]);
	return gsp_parse_threshold(p, tb, extack);
}

static bool gsp_same_law(const struct gsp_params *a, const struct gsp_params *b)
{
	return a->unit == b->unit && a->threshold == b->threshold &&
	       a->adaptive == b->adaptive && a->interval == b->interval &&
	       a->alpha == b->alpha && a->tau == b->tau &&
	       a->maxtime == b->maxtime;
}

/* Adapts the state to changed parameters. */
static void gsp_update_state(struct Qdisc *sch, const struct gsp_params *new)
{
	struct gsp_sched_data *q = qdisc_priv(sch);
	u64 now = ktime_get_ns();
	struct sk_buff *skb;

	if (q->params.adaptive && new->adaptive) {
		gsp_observe(q, now, gsp_above(sch, now, false));
		q->cumul = min(q->cumul, new->maxtime);
	} else {
		q->cumul = 0;
		q->last = now;
		q->overflow = GSP_OVERFLOW_NONE;
		q->emptied = !sch->q.qlen;
	}
	/* No wait may be longer than one that started now. */
	q->expiry = min(q->expiry, now + gsp_interval(new, q->cumul));

	if (new->unit == GSP_DELAY && q->params.unit != GSP_DELAY)
		for (skb = sch->q.head; skb; skb = skb->next)
			gsp_skb_cb(skb)->enqueue_time = now;
}

/* For gsp_enqueue(): thresholds are below the limits. */
static void gsp_set_fast_path(struct gsp_sched_data *q)
{
	const struct gsp_params *p = &q->params;

	switch (p->unit) {
	case GSP_BYTES:
		q->fast_packets = p->limit;
		q->fast_bytes = p->threshold;
		break;
	case GSP_PACKETS:
		q->fast_packets = p->threshold;
		q->fast_bytes = p->limit_bytes;
		break;
	default:
		/* The time of every arrival is needed. */
		q->fast_packets = 0;
		q->fast_bytes = 0;
	}
}

/* Dumps read single parameters without the lock. */
static void gsp_store_params(struct gsp_params *p, const struct gsp_params *new)
{
	WRITE_ONCE(p->threshold, new->threshold);
	WRITE_ONCE(p->interval, new->interval);
	WRITE_ONCE(p->tau, new->tau);
	WRITE_ONCE(p->maxtime, new->maxtime);
	WRITE_ONCE(p->limit, new->limit);
	WRITE_ONCE(p->limit_bytes, new->limit_bytes);
	WRITE_ONCE(p->alpha, new->alpha);
	WRITE_ONCE(p->unit, new->unit);
	WRITE_ONCE(p->adaptive, new->adaptive);
	p->tau_given = new->tau_given;
	p->maxtime_given = new->maxtime_given;
}

/* Installs new parameters. Equal parameters have no effect. */
static void gsp_set_params(struct Qdisc *sch, const struct gsp_params *new)
{
	struct gsp_sched_data *q = qdisc_priv(sch);

	if (!gsp_same_law(&q->params, new))
		gsp_update_state(sch, new);
	gsp_store_params(&q->params, new);
	gsp_set_fast_path(q);
	WRITE_ONCE(sch->limit, new->limit);
}

/* Drops packets beyond the limits from the head. */
static void gsp_trim(struct Qdisc *sch)
{
	struct gsp_sched_data *q = qdisc_priv(sch);
	unsigned int packets = 0, bytes = 0;

	while (sch->q.qlen > q->params.limit ||
	       sch->qstats.backlog > q->params.limit_bytes) {
		struct sk_buff *skb = __qdisc_dequeue_head(&sch->q);

		if (!skb)
			break;
		packets++;
		bytes += qdisc_pkt_len(skb);
		qdisc_qstats_backlog_dec(sch, skb);
		rtnl_qdisc_drop(skb, sch);
	}
	q->tail_drop += packets;
	qdisc_tree_reduce_backlog(sch, packets, bytes);
}

static int gsp_change(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct gsp_sched_data *q = qdisc_priv(sch);
	struct gsp_params new = q->params;
	int err;

	err = gsp_parse(&new, opt, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	gsp_set_params(sch, &new);
	gsp_trim(sch);
	sch_tree_unlock(sch);
	return 0;
}

static int gsp_init(struct Qdisc *sch, struct nlattr *opt,
		    struct netlink_ext_ack *extack)
{
	struct gsp_sched_data *q = qdisc_priv(sch);
	struct gsp_params params = {
		.unit		= GSP_DELAY,
		.threshold	= GSP_DEFAULT_DELAY,
		.interval	= GSP_DEFAULT_INTERVAL,
		.adaptive	= true,
		.alpha		= GSP_DEFAULT_ALPHA,
		.tau		= GSP_DEFAULT_INTERVAL * GSP_TAU_INTERVALS,
		.maxtime	= (u64)GSP_DEFAULT_INTERVAL *
				  GSP_TAU_INTERVALS * GSP_MAXTIME_TAUS,
		.limit		= GSP_DEFAULT_LIMIT,
		.limit_bytes	= GSP_MAX_BYTES,
	};

	gsp_restart(q);
	if (opt) {
		int err = gsp_parse(&params, opt, extack);

		if (err)
			return err;
	}
	gsp_set_params(sch, &params);
	/* An empty queue is not above the threshold. */
	sch->flags |= TCQ_F_CAN_BYPASS;
	return 0;
}

static int gsp_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct gsp_sched_data *q = qdisc_priv(sch);
	const struct gsp_params *p = &q->params;
	u64 threshold = READ_ONCE(p->threshold);
	struct nlattr *opts;
	int err;

	opts = nla_nest_start(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;

	switch (READ_ONCE(p->unit)) {
	case GSP_BYTES:
		err = nla_put_u32(skb, TCA_GSP_THRESHOLD_BYTES, threshold);
		break;
	case GSP_PACKETS:
		err = nla_put_u32(skb, TCA_GSP_THRESHOLD_PACKETS, threshold);
		break;
	default:
		err = nla_put_u64_64bit(skb, TCA_GSP_THRESHOLD_DELAY,
					threshold, TCA_GSP_PAD);
	}
	if (err ||
	    nla_put_u64_64bit(skb, TCA_GSP_INTERVAL, READ_ONCE(p->interval),
			      TCA_GSP_PAD) ||
	    nla_put_u32(skb, TCA_GSP_MODE, READ_ONCE(p->adaptive) ?
			GSP_MODE_ADAPTIVE : GSP_MODE_BASIC) ||
	    nla_put_u32(skb, TCA_GSP_ALPHA, READ_ONCE(p->alpha)) ||
	    nla_put_u64_64bit(skb, TCA_GSP_TAU, READ_ONCE(p->tau),
			      TCA_GSP_PAD) ||
	    nla_put_u64_64bit(skb, TCA_GSP_MAXTIME, READ_ONCE(p->maxtime),
			      TCA_GSP_PAD) ||
	    nla_put_u32(skb, TCA_GSP_LIMIT, READ_ONCE(p->limit)) ||
	    nla_put_u32(skb, TCA_GSP_LIMIT_BYTES, READ_ONCE(p->limit_bytes))) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

/* State that the next arrival would find. */
struct gsp_state {
	u64	cumul;
	u64	interval;
	u64	expiry;
	u64	delay;
	u32	above;
	u32	overflow;
};

static struct gsp_state gsp_state(struct Qdisc *sch)
{
	const struct gsp_sched_data *q = qdisc_priv(sch);
	u64 now = ktime_get_ns(), cumul = q->cumul, last = q->last;
	struct gsp_state st = {
		.above		= gsp_above(sch, now, false),
		.overflow	= q->overflow,
	};

	if (q->params.adaptive) {
		gsp_catch_up(q, &cumul, &last);
		st.cumul = gsp_add_span(q, cumul, now - last,
					st.above && !q->emptied);
	}
	st.interval = gsp_interval(&q->params, st.cumul);
	if (q->expiry > now)
		st.expiry = q->expiry - now;
	if (q->params.unit == GSP_DELAY)
		st.delay = gsp_head_delay(sch, now);
	if (q->emptied && q->overflow == GSP_OVERFLOW_HAPPENED)
		st.overflow = GSP_OVERFLOW_DRAINED;
	return st;
}

static int gsp_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, TCA_GSP_XSTATS_PAD);
}

static int gsp_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	const struct gsp_sched_data *q = qdisc_priv(sch);
	u64 early_drop, tail_drop;
	struct gsp_state st;
	struct nlattr *nest;

	sch_tree_lock(sch);
	st = gsp_state(sch);
	early_drop = q->early_drop;
	tail_drop = q->tail_drop;
	sch_tree_unlock(sch);

	nest = nla_nest_start(d->skb, TCA_STATS_APP);
	if (!nest)
		return -1;
	if (gsp_put_u64(d->skb, TCA_GSP_XSTATS_EARLY_DROP, early_drop) ||
	    gsp_put_u64(d->skb, TCA_GSP_XSTATS_TAIL_DROP, tail_drop) ||
	    gsp_put_u64(d->skb, TCA_GSP_XSTATS_INTERVAL, st.interval) ||
	    gsp_put_u64(d->skb, TCA_GSP_XSTATS_CUMUL, st.cumul) ||
	    gsp_put_u64(d->skb, TCA_GSP_XSTATS_EXPIRY, st.expiry) ||
	    gsp_put_u64(d->skb, TCA_GSP_XSTATS_DELAY, st.delay) ||
	    nla_put_u32(d->skb, TCA_GSP_XSTATS_ABOVE, st.above) ||
	    nla_put_u32(d->skb, TCA_GSP_XSTATS_OVERFLOW, st.overflow)) {
		nla_nest_cancel(d->skb, nest);
		return -1;
	}
	nla_nest_end(d->skb, nest);
	return 0;
}

static struct Qdisc_ops gsp_qdisc_ops __read_mostly = {
	.id		= "gsp",
	.priv_size	= sizeof(struct gsp_sched_data),
	.enqueue	= gsp_enqueue,
	.dequeue	= gsp_dequeue,
	.peek		= qdisc_peek_head,
	.init		= gsp_init,
	.reset		= gsp_reset,
	.change		= gsp_change,
	.dump		= gsp_dump,
	.dump_stats	= gsp_dump_stats,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("gsp");

static int __init gsp_module_init(void)
{
	return register_qdisc(&gsp_qdisc_ops);
}

static void __exit gsp_module_exit(void)
{
	unregister_qdisc(&gsp_qdisc_ops);
}

module_init(gsp_module_init)
module_exit(gsp_module_exit)

MODULE_AUTHOR("The gentle authors");
MODULE_DESCRIPTION("Global synchronization protection (GSP) qdisc");
MODULE_LICENSE("GPL");
