// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures what a packet costs in the qdisc at the root of a device.
 *
 * One line is written to /proc/gentle_cost, and the answer read from it. Behind the name of a device it says:
 *
 *	queue count N	N packets are enqueued, and one dequeued for each, behind a standing queue. The device is down, so that
 *			nobody else touches the qdisc.
 *	path count N	N packets go through dev_queue_xmit() and out of a device that is up and takes them at once. What is
 *			measured begins where a protocol hands the packet over and ends where the device has freed it.
 *	used count N	The same, but the queue is never passed over as empty: as on a link that has just become busy.
 *	clock count N	N readings of the clock and nothing else; the device has to be up.
 *
 * With "time" for "count" the answer is in nanoseconds, all N at once; with "profile" it is a list of functions and the
 * instructions spent in each. With "hashless" behind N, packets come without a hash, as from a network card that makes
 * none; without it they bring one.
 *
 * Packets are made beforehand, and come back when they are dequeued.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/sort.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include "cost.h"

#define COST_FILE	"gentle_cost"
#define COST_MAX	10000000
#define COST_TRACE	1000000

static unsigned int standing = 100;
module_param(standing, uint, 0644);
MODULE_PARM_DESC(standing, "packets that wait in the queue");

static unsigned int flows = 10;
module_param(flows, uint, 0644);
MODULE_PARM_DESC(flows, "connections that the packets belong to");

enum way {
	QUEUE,
	PATH,
	USED,
	CLOCK,
};

static const char * const ways[] = { "queue", "path", "used", "clock" };

enum unit {
	COUNT,
	TIME,
	PROFILE,
};

static const char * const units[] = { "count", "time", "profile" };

struct outcome {
	char device[IFNAMSIZ];
	enum way way;
	enum unit unit;
	bool hashless;
	u32 packets;
	u32 dropped;
	u64 spent;	/* instructions or nanoseconds */
	size_t traced;	/* addresses, in order, at trace */
};

static DEFINE_MUTEX(lock);
static struct outcome outcome;
static u64 trace[COST_TRACE];

/* The packets that are not in the queue. */
static struct sk_buff_head idle;

static int make_packets(struct net_device *dev, unsigned int n)
{
	static unsigned int flow;

	while (n--) {
		struct sk_buff *skb = cost_packet(dev, flow++ % max(flows, 1U));

		if (!skb)
			return -ENOMEM;
		__skb_queue_tail(&idle, skb);
	}
	return 0;
}

static unsigned int free_dropped(struct sk_buff *skb)
{
	unsigned int n = 0;

	while (skb) {
		struct sk_buff *next = skb->next;

		skb_mark_not_on_list(skb);
		kfree_skb(skb);
		skb = next;
		n++;
	}
	return n;
}

static struct sk_buff *next_packet(void)
{
	struct sk_buff *skb = __skb_dequeue(&idle);

	/* The last pass through a qdisc may have set it. */
	if (outcome.hashless)
		skb_clear_hash(skb);
	return skb;
}

/* One in, one out. What the qdisc drops is replaced, which costs time but is not counted. */
static int through_queue(struct net_device *dev, struct Qdisc *q, u32 packets, bool step)
{
	while (packets--) {
		struct sk_buff *skb = next_packet();
		struct sk_buff *to_free = NULL;
		unsigned int dropped;

		if (step)
			step_begin();
		q->enqueue(skb, q, &to_free);
		skb = q->dequeue(q);
		if (step)
			step_end();

		if (skb)
			__skb_queue_tail(&idle, skb);
		if (likely(!to_free && !q->to_free))
			continue;
		dropped = free_dropped(to_free) + free_dropped(q->to_free);
		q->to_free = NULL;
		outcome.dropped += dropped;
		if (make_packets(dev, dropped))
			return -ENOMEM;
	}
	return 0;
}

/* The packet is held, so that neither making nor freeing it is part of the price. */
static int through_path(struct net_device *dev, struct Qdisc *q, u32 packets, bool step)
{
	while (packets--) {
		struct sk_buff *skb = next_packet();

		skb_get(skb);
		if (step)
			step_begin();
		dev_queue_xmit(skb);
		if (step)
			step_end();
		__skb_queue_tail(&idle, skb);
	}
	return 0;
}

static int through_clock(u32 readings, bool step)
{
	while (readings--) {
		if (step)
			step_begin();
		ktime_get_ns();
		if (step)
			step_end();
	}
	return 0;
}

/* With softirqs off none runs in between, and reading the clock takes no virtual time. */
static int go_through(struct net_device *dev, struct Qdisc *q, bool step)
{
	int err;

	local_bh_disable();
	switch (outcome.way) {
	case QUEUE:
		err = through_queue(dev, q, outcome.packets, step);
		break;
	case CLOCK:
		err = through_clock(outcome.packets, step);
		break;
	default:
		err = through_path(dev, q, outcome.packets, step);
	}
	local_bh_enable();
	return err;
}

static int by_time(struct net_device *dev, struct Qdisc *q)
{
	u64 start = ktime_get_ns();
	int err = go_through(dev, q, false);

	outcome.spent = ktime_get_ns() - start;
	return err;
}

static int compare_addresses(const void *a, const void *b)
{
	return cmp_int(*(const u64 *)a, *(const u64 *)b);
}

static int by_instructions(struct net_device *dev, struct Qdisc *q)
{
	u64 own;
	int err;

	err = step_enable(NULL, 0);
	if (err)
		return err;
	step_begin();
	step_end();
	own = step_taken();

	step_enable(trace, outcome.unit == PROFILE ? COST_TRACE : 0);
	err = go_through(dev, q, true);
	step_disable();
	outcome.spent = step_taken() - own * outcome.packets;
	if (outcome.unit == PROFILE) {
		outcome.traced = min_t(u64, step_taken(), COST_TRACE);
		sort(trace, outcome.traced, sizeof(*trace), compare_addresses, NULL);
	}
	return err;
}

static int fill(struct net_device *dev, struct Qdisc *q)
{
	unsigned int i, dropped = 0;
	int err;

	err = make_packets(dev, outcome.way == QUEUE ? 2 * standing : standing);
	if (err || outcome.way != QUEUE)
		return err;
	local_bh_disable();
	for (i = 0; i < standing; i++) {
		struct sk_buff *to_free = NULL;

		q->enqueue(__skb_dequeue(&idle), q, &to_free);
		dropped += free_dropped(to_free);
	}
	local_bh_enable();
	return make_packets(dev, dropped);
}

static int measure(struct net_device *dev)
{
	struct Qdisc *q = rtnl_dereference(dev->qdisc);
	unsigned int flags = q->flags;
	int err;

	if (!standing || netif_running(dev) == (outcome.way == QUEUE))
		return -EINVAL;

	__skb_queue_head_init(&idle);
	err = fill(dev, q);
	if (!err) {
		if (outcome.way == USED)
			q->flags &= ~TCQ_F_CAN_BYPASS;
		err = outcome.unit == TIME ? by_time(dev, q) : by_instructions(dev, q);
		q->flags = flags;
	}
	if (outcome.way == QUEUE)
		qdisc_reset(q);
	__skb_queue_purge(&idle);
	return err;
}

static int parse(char *line, struct outcome *wanted)
{
	char *device = strsep(&line, " "), *way = strsep(&line, " "), *unit = strsep(&line, " ");
	char *packets = strsep(&line, " ");
	int i;

	if (!packets || strscpy(wanted->device, device) < 0)
		return -EINVAL;
	i = match_string(ways, ARRAY_SIZE(ways), way);
	if (i < 0)
		return i;
	wanted->way = i;
	i = match_string(units, ARRAY_SIZE(units), unit);
	if (i < 0)
		return i;
	wanted->unit = i;
	wanted->hashless = line && !strcmp(strim(line), "hashless");
	if ((line && !wanted->hashless) || kstrtou32(strim(packets), 10, &wanted->packets))
		return -EINVAL;
	return wanted->packets && wanted->packets <= COST_MAX ? 0 : -ERANGE;
}

static ssize_t cost_write(struct file *file, const char __user *buf, size_t len, loff_t *ppos)
{
	struct outcome wanted = {};
	struct net_device *dev;
	char line[64];
	int err;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, buf, len))
		return -EFAULT;
	line[len] = '\0';
	err = parse(line, &wanted);
	if (err)
		return err;

	dev = dev_get_by_name(current->nsproxy->net_ns, wanted.device);
	if (!dev)
		return -ENODEV;
	mutex_lock(&lock);
	outcome = wanted;
	rtnl_lock();
	err = measure(dev);
	rtnl_unlock();
	if (err)
		outcome.packets = 0;
	mutex_unlock(&lock);
	dev_put(dev);
	return err ? err : len;
}

/* Addresses in order become functions in order, each with the instructions that were spent there. */
static void show_profile(struct seq_file *seq)
{
	char name[KSYM_SYMBOL_LEN], last[KSYM_SYMBOL_LEN] = "";
	size_t i, n = 0;

	for (i = 0; i < outcome.traced; i++) {
		/* A loop comes back to the same instruction often. */
		if (!i || trace[i] != trace[i - 1])
			snprintf(name, sizeof(name), "%ps", (void *)trace[i]);
		if (n && strcmp(name, last)) {
			seq_printf(seq, "%s %zu\n", last, n);
			n = 0;
		}
		if (!n)
			strscpy(last, name);
		n++;
	}
	if (n)
		seq_printf(seq, "%s %zu\n", last, n);
}

static int cost_show(struct seq_file *seq, void *unused)
{
	mutex_lock(&lock);
	if (outcome.packets)
		seq_printf(seq, "packets %u\ndropped %u\n%s %llu\n", outcome.packets, outcome.dropped,
			   outcome.unit == TIME ? "nanoseconds" : "instructions", outcome.spent);
	show_profile(seq);
	mutex_unlock(&lock);
	return 0;
}

static int cost_open(struct inode *inode, struct file *file)
{
	return single_open(file, cost_show, NULL);
}

static const struct proc_ops cost_proc_ops = {
	.proc_open	= cost_open,
	.proc_read	= seq_read,
	.proc_write	= cost_write,
	.proc_lseek	= seq_lseek,
	.proc_release	= single_release,
};

static int __init cost_init(void)
{
	return proc_create(COST_FILE, 0600, NULL, &cost_proc_ops) ? 0 : -ENOMEM;
}

static void __exit cost_exit(void)
{
	remove_proc_entry(COST_FILE, NULL);
}

module_init(cost_init);
module_exit(cost_exit);
MODULE_DESCRIPTION("Measures what a packet costs in a qdisc, for benchmarks");
MODULE_LICENSE("GPL");
