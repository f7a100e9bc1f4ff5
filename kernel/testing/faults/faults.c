// SPDX-License-Identifier: GPL-2.0-only
/* Deliberate faults, one for each checker of the testbed's debugging kernel: they
 * show that the checkers report faults.
 *
 *	echo NAME > /proc/gentle_faults
 *
 * triggers one. Do not load this module into a kernel in use.
 */

#include <linux/delay.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <linux/uaccess.h>

#define FAULTS_SIZE	100

static DEFINE_SPINLOCK(faults_first);
static DEFINE_SPINLOCK(faults_second);
static DEFINE_SPINLOCK(faults_softirq);
static DEFINE_MUTEX(faults_mutex);

struct faults_object {
	struct list_head list;
	struct timer_list timer;
	u8 bytes[FAULTS_SIZE];
};

static void faults_leak(void)
{
	u8 *bytes = kmalloc(FAULTS_SIZE, GFP_KERNEL);

	if (bytes)
		memset(bytes, 1, FAULTS_SIZE);
}

static void faults_use_after_free(void)
{
	u8 *bytes = kmalloc(FAULTS_SIZE, GFP_KERNEL);

	if (!bytes)
		return;
	kfree(bytes);
	WRITE_ONCE(bytes[1], 1);
}

static void faults_out_of_bounds(void)
{
	u8 *bytes = kmalloc(FAULTS_SIZE, GFP_KERNEL);
	unsigned int beyond = FAULTS_SIZE + 1;

	if (!bytes)
		return;
	OPTIMIZER_HIDE_VAR(beyond);
	WRITE_ONCE(bytes[beyond], 1);
	kfree(bytes);
}

static void faults_double_free(void)
{
	u8 *bytes = kmalloc(FAULTS_SIZE, GFP_KERNEL);

	kfree(bytes);
	OPTIMIZER_HIDE_VAR(bytes);
	kfree(bytes);
}

/* Two locks, taken in either order: nobody waits here, but somebody could. */
static void faults_lock_order(void)
{
	spin_lock(&faults_first);
	spin_lock(&faults_second);
	spin_unlock(&faults_second);
	spin_unlock(&faults_first);

	spin_lock(&faults_second);
	spin_lock(&faults_first);
	spin_unlock(&faults_first);
	spin_unlock(&faults_second);
}

static void faults_expired(struct timer_list *timer)
{
	spin_lock(&faults_softirq);
	spin_unlock(&faults_softirq);
}

/* A lock that a timer takes too, held while the timer could interrupt. */
static void faults_lock_context(void)
{
	struct faults_object *object = kzalloc(sizeof(*object), GFP_KERNEL);

	if (!object)
		return;
	timer_setup(&object->timer, faults_expired, 0);
	mod_timer(&object->timer, jiffies);
	while (timer_pending(&object->timer))
		msleep(20);
	timer_delete_sync(&object->timer);
	/* Softirqs are on here. */
	spin_lock(&faults_softirq);
	spin_unlock(&faults_softirq);
	kfree(object);
}

static void faults_sleep(void)
{
	spin_lock(&faults_first);
	mutex_lock(&faults_mutex);
	mutex_unlock(&faults_mutex);
	spin_unlock(&faults_first);
}

static void faults_rcu(void)
{
	static u8 __rcu *pointer;

	/* Neither the lock of readers nor one of writers is held. */
	(void)rcu_dereference(pointer);
}

static void faults_list(void)
{
	struct faults_object *object = kzalloc(sizeof(*object), GFP_KERNEL);
	LIST_HEAD(list);

	if (!object)
		return;
	list_add(&object->list, &list);
	list_del(&object->list);
	list_del(&object->list);
	kfree(object);
}

static void faults_free_timer(void)
{
	struct faults_object *object = kzalloc(sizeof(*object), GFP_KERNEL);

	if (!object)
		return;
	timer_setup(&object->timer, faults_expired, 0);
	mod_timer(&object->timer, jiffies + HZ);
	kfree(object);
}

static void faults_shift(void)
{
	unsigned int width = 40;
	u32 sink;

	OPTIMIZER_HIDE_VAR(width);
	sink = 1U << width;
	OPTIMIZER_HIDE_VAR(sink);
}

static void faults_warn(void)
{
	WARN(1, "gentle_faults: as asked for\n");
}

static const struct {
	const char *name;
	void (*make)(void);
} faults[] = {
	{ "double-free", faults_double_free },
	{ "free-timer", faults_free_timer },
	{ "leak", faults_leak },
	{ "list", faults_list },
	{ "lock-context", faults_lock_context },
	{ "lock-order", faults_lock_order },
	{ "out-of-bounds", faults_out_of_bounds },
	{ "rcu", faults_rcu },
	{ "shift", faults_shift },
	{ "sleep", faults_sleep },
	{ "use-after-free", faults_use_after_free },
	{ "warn", faults_warn },
};

static ssize_t faults_write(struct file *file, const char __user *from,
			    size_t len, loff_t *pos)
{
	char name[32] = {};
	unsigned int i;

	if (len >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, from, len))
		return -EFAULT;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (sysfs_streq(name, faults[i].name)) {
			faults[i].make();
			return len;
		}
	}
	return -EINVAL;
}

static const struct proc_ops faults_proc_ops = {
	.proc_write = faults_write,
};

static int __init faults_init(void)
{
	if (!proc_create("gentle_faults", 0200, NULL, &faults_proc_ops))
		return -ENOMEM;
	return 0;
}

static void __exit faults_exit(void)
{
	remove_proc_entry("gentle_faults", NULL);
}

module_init(faults_init)
module_exit(faults_exit)

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Mistakes on purpose, for the tests of the debugging kernel");
