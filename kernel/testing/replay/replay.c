// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replays a schedule of arrivals and departures through the root qdisc of a device, and reports the events of every
 * packet.
 *
 * The device stays down, so that only this module uses the qdisc, which tc configures as on any device. Requests
 * (struct replay_request) are written to /proc/gentle_replay; the writer sleeps until each is due, and in user-mode
 * Linux with time-travel=inf-cpu the clock then shows that very nanosecond. Events (struct replay_event) are read from
 * the same file.
 */
#include <linux/hrtimer.h>
#include <linux/lcm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/skbuff.h>
#include <linux/uaccess.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include "replay.h"

#define REPLAY_FILE	"gentle_replay"

static char *device = "replay0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "the device whose root qdisc is fed");

#define REPLAY_CODEL_TICK	1024

static DEFINE_MUTEX(lock);
static ktime_t start;
static struct replay_event *events;
static size_t count, room;
/* The qdisc at the root at the last call, and its high-resolution timer. */
static const struct Qdisc *seen;
static const struct hrtimer *timer;
/* The expiry that was last reported. */
static ktime_t reported;
/*
 * Freed packets were dropped by the qdisc, except for the packet that was just dequeued, and the one that is being
 * offered: fq calls its destructor to orphan it. A packet offered that is dropped is in the list of enqueue.
 */
static const struct sk_buff *taken, *offered;

/*
 * Room for all that can happen until the next request: every queued packet may be freed, once, and the new one.
 * Events are added where no memory can be had.
 */
static int make_room(size_t queued)
{
	size_t wanted = count + queued + 5;
	struct replay_event *larger;

	if (wanted <= room)
		return 0;
	wanted = max_t(size_t, 4096, 2 * wanted);
	larger = kvrealloc(events, wanted * sizeof(*events), GFP_KERNEL);
	if (!larger)
		return -ENOMEM;
	events = larger;
	room = wanted;
	return 0;
}

static void add(struct replay_event event)
{
	if (WARN_ONCE(count == room, "more was dropped than was queued\n"))
		return;
	event.at = ktime_to_ns(ktime_sub(ktime_get(), start));
	events[count++] = event;
}

static void freed(struct sk_buff *skb)
{
	if (skb == taken || skb == offered)
		return;
	add((struct replay_event){
		.kind = REPLAY_DROPPED,
		.number = skb->mark,
		.reason = tcf_get_qdisc_drop_reason(skb),
	});
}

static int sleep_until(ktime_t due)
{
	while (ktime_before(ktime_get(), due)) {
		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout(&due, HRTIMER_MODE_ABS);
		if (signal_pending(current))
			return -EINTR;
	}
	return 0;
}

/*
 * Units that qdiscs count time in: 1024 ns in CoDel, 64 ns in PIE, jiffies in timers, whose wheel rounds to eight of
 * them. A schedule starts where all of these start, so that its own times and the clock's round alike.
 *
 * Jiffies change at multiples of TICK_NSEC; a microsecond later they have changed for everyone.
 */
static int replay_begin(void)
{
	u64 unit = lcm(REPLAY_CODEL_TICK, 8 * TICK_NSEC);

	start = ns_to_ktime(roundup(ktime_get_ns() + 1, unit));
	count = 0;
	seen = NULL;
	if (make_room(0))
		return -ENOMEM;
	add((struct replay_event){
		.kind = REPLAY_BEGUN,
		.backlog = ktime_to_ns(start),
	});
	return sleep_until(ktime_add_us(start, 1));
}

/* As __dev_xmit_skb() does. */
static int enqueue(struct Qdisc *q, struct sk_buff *skb, struct sk_buff **to_free)
{
	int ret;

	skb->destructor = freed;
	offered = skb;
	ret = q->enqueue(skb, q, to_free);
	offered = NULL;
	return ret;
}

/* Frees a list of dropped packets, and reports those without the destructor that would. */
static void free_list(struct Qdisc *q, struct sk_buff *list)
{
	struct sk_buff *skb;

	for (skb = list; skb; skb = skb->next)
		if (!skb->destructor)
			freed(skb);
	tcf_kfree_skb_list(list, q, NULL, qdisc_dev(q));
}

/* Dequeues even if peek returns no packet, unlike a shaper: RED starts its idle period in dequeue only. */
static struct sk_buff *dequeue(struct Qdisc *q, bool peek)
{
	if (!peek)
		return q->dequeue(q);
	q->ops->peek(q);
	return qdisc_dequeue_peeked(q);
}

static void sent(struct sk_buff *skb)
{
	add((struct replay_event){
		.kind = REPLAY_SENT,
		.number = skb->mark,
		.ds = replay_packet_ds(skb),
		.damaged = replay_packet_damaged(skb),
	});
	taken = skb;
	consume_skb(skb);
	taken = NULL;
}

/*
 * The high-resolution timer in the private part of a qdisc, or NULL: such a timer starts when tc creates the qdisc, at a
 * time that is not known otherwise. Where it is in that part only the qdisc knows, so it is recognized by its expiry,
 * which is later than the start of the schedule, without slack.
 */
static const struct hrtimer *timer_of(struct Qdisc *q)
{
	const char *private = qdisc_priv(q);
	size_t at;

	for (at = 0; at + sizeof(struct hrtimer) <= q->ops->priv_size; at += sizeof(s64)) {
		const struct hrtimer *candidate = (const struct hrtimer *)(private + at);
		ktime_t expires = hrtimer_get_expires(candidate);

		if (ktime_after(expires, start) && expires == hrtimer_get_softexpires(candidate) &&
		    hrtimer_is_queued((struct hrtimer *)candidate))
			return candidate;
	}
	return NULL;
}

/* Finds the timer of a new qdisc, or of the one beneath its first class. */
static void find_timer(struct Qdisc *q)
{
	const struct Qdisc_class_ops *classes;

	if (q == seen)
		return;
	seen = q;
	timer = NULL;
	reported = 0;
	while (q && !(timer = timer_of(q))) {
		classes = q->ops->cl_ops;
		if (!classes || !classes->leaf || !classes->find)
			return;
		q = classes->leaf(q, classes->find(q, TC_H_MAKE(q->handle, 1)));
	}
}

/*
 * Reports when the timer expires next, whenever that has changed: the clock of user-mode Linux counts in 256 ns, and the
 * event that it waits for comes up to 256 ns late, so that now and then a period is longer.
 */
static void report_timer(void)
{
	if (!timer || hrtimer_get_expires(timer) == reported)
		return;
	reported = hrtimer_get_expires(timer);
	add((struct replay_event){
		.kind = REPLAY_TIMER,
		.backlog = ktime_to_ns(ktime_sub(reported, start)),
	});
}

/*
 * Sleeps until @due, or a little longer: User-mode Linux delays an expiry that is less than 500 ns away when a timer is
 * set, and reading the clock takes 256 ns there. The timer of the qdisc could then expire after a call that was due
 * after it. A call in the last moment before the expiry waits until that is over.
 */
static int sleep_clear_of_timer(ktime_t due)
{
	ktime_t expires;
	int err = 0;

	while (!err && timer && ktime_before(expires = hrtimer_get_expires(timer), ktime_add_us(due, 2)))
		err = sleep_until(ktime_add_us(expires, 1));
	return err ?: sleep_until(due);
}

/* One call of the qdisc, under its lock and with what was dropped freed afterwards, as in net/core/dev.c. */
static void call(struct Qdisc *q, const struct replay_request *request, struct sk_buff *skb)
{
	struct sk_buff *to_free = NULL, *at_dequeue;
	struct replay_event done = { .kind = REPLAY_DONE };
	__u32 backlog;

	spin_lock_bh(qdisc_lock(q));
	replay_enter();
	replay_hashes(request);
	if (skb)
		done.value = enqueue(q, skb, &to_free);
	else
		skb = dequeue(q, request->op == REPLAY_PEEK);
	replay_leave();
	at_dequeue = q->to_free;
	q->to_free = NULL;
	free_list(q, to_free);
	free_list(q, at_dequeue);
	if (skb && request->op != REPLAY_ENQUEUE)
		sent(skb);
	qdisc_qstats_qlen_backlog(q, &done.number, &backlog);
	done.backlog = backlog;
	add(done);
	spin_unlock_bh(qdisc_lock(q));
}

static int call_at(struct net_device *dev, const struct replay_request *request)
{
	struct sk_buff *skb = NULL;
	struct Qdisc *q;
	int err;

	if (request->op == REPLAY_ENQUEUE) {
		skb = replay_packet(dev, request);
		if (IS_ERR(skb))
			return PTR_ERR(skb);
	}
	/* The device is down: what tc has set up waits there, and only the RTNL lock keeps it from being replaced. */
	q = rcu_dereference_protected(dev->qdisc, true);
	err = make_room(qdisc_qlen_sum(q));
	if (!err) {
		find_timer(q);
		err = sleep_clear_of_timer(ktime_add_ns(start, request->at));
	}
	if (err) {
		kfree_skb(skb);
		return err;
	}
	report_timer();
	call(q, request, skb);
	return 0;
}

static int carry_out(struct net_device *dev, const struct replay_request *request)
{
	switch (request->op) {
	case REPLAY_BEGIN:
		return replay_begin();
	case REPLAY_SEED:
		replay_seed(request->at, request->number);
		return replay_redirect();
	case REPLAY_ENQUEUE:
	case REPLAY_DEQUEUE:
	case REPLAY_PEEK:
		return call_at(dev, request);
	default:
		return -EINVAL;
	}
}

/* Executes all requests; returns the number of bytes processed, or the error of the first request. */
static ssize_t replay_write(struct file *file, const char __user *buf, size_t len, loff_t *ppos)
{
	struct replay_request request;
	struct net_device *dev;
	size_t done = 0;
	int err = 0;

	dev = dev_get_by_name(current->nsproxy->net_ns, device);
	if (!dev)
		return -ENODEV;
	mutex_lock(&lock);
	while (!err && len - done >= sizeof(request)) {
		err = -EFAULT;
		if (!copy_from_user(&request, buf + done, sizeof(request)))
			err = carry_out(dev, &request);
		if (!err)
			done += sizeof(request);
	}
	mutex_unlock(&lock);
	dev_put(dev);
	if (done)
		return done;
	return err ? err : -EINVAL;
}

static ssize_t replay_read(struct file *file, char __user *buf, size_t len, loff_t *ppos)
{
	ssize_t n;

	mutex_lock(&lock);
	n = simple_read_from_buffer(buf, len, ppos, events, count * sizeof(*events));
	mutex_unlock(&lock);
	return n;
}

static const struct proc_ops replay_proc_ops = {
	.proc_read	= replay_read,
	.proc_write	= replay_write,
	.proc_lseek	= default_llseek,
};

static int __init replay_init(void)
{
	return proc_create(REPLAY_FILE, 0600, NULL, &replay_proc_ops) ? 0 : -ENOMEM;
}

static void __exit replay_exit(void)
{
	remove_proc_entry(REPLAY_FILE, NULL);
	replay_restore();
	kvfree(events);
}

module_init(replay_init);
module_exit(replay_exit);
MODULE_DESCRIPTION("Replays packet schedules through a qdisc, for tests");
MODULE_LICENSE("GPL");
