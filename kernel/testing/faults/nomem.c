// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lets an allocation of kvmalloc() and the like fail:
 *
 *	echo N > /proc/gentle_nomem
 *
 * makes the Nth of a user's process from now on fail, and 0 none. Kernel
 * threads, which run at any time, do not count. Reading the file shows the
 * function whose allocation failed.
 *
 * The first instructions of the kernel's function become a jump. User-mode Linux
 * is an ordinary process of its host, so that its text is made writable by the
 * host's mprotect.
 */
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#if !defined(CONFIG_UML) || !defined(CONFIG_64BIT)
#error "the text of the kernel can be changed in 64-bit user-mode Linux only"
#endif

#define HOST_MPROTECT	10	/* the system call's number on x86-64 */
#define HOST_READ_WRITE_EXEC	7

/* movabs $target,%rax; jmp *%rax */
#define JUMP_LEN	12

static u8 text[JUMP_LEN];
static unsigned int left;
static void *asked;

static void *nomem_kvmalloc(DECL_KMALLOC_PARAMS(size, b, token),
			    unsigned long align, gfp_t flags, int node)
{
	if (left && !(current->flags & PF_KTHREAD) && !--left) {
		asked = __builtin_return_address(0);
		return NULL;
	}
	return kmalloc(size, flags | __GFP_NOWARN) ?: __vmalloc(size, flags);
}

static int nomem_make_writable(void *from)
{
	unsigned long start = (unsigned long)from & PAGE_MASK;
	unsigned long len = PAGE_ALIGN((unsigned long)from + JUMP_LEN) - start;
	long ret;

	asm volatile("syscall"
		     : "=a"(ret)
		     : "0"(HOST_MPROTECT), "D"(start), "S"(len),
		       "d"(HOST_READ_WRITE_EXEC)
		     : "rcx", "r11", "memory");
	return ret;
}

static void nomem_write_text(const u8 *bytes)
{
	unsigned long flags;

	local_irq_save(flags);
	memcpy(__kvmalloc_node_noprof, bytes, JUMP_LEN);
	local_irq_restore(flags);
}

static ssize_t nomem_write(struct file *file, const char __user *from,
			   size_t len, loff_t *pos)
{
	int err = kstrtouint_from_user(from, len, 10, &left);

	if (left)
		asked = NULL;
	return err ?: len;
}

static int nomem_show(struct seq_file *seq, void *unused)
{
	if (asked)
		seq_printf(seq, "%ps\n", asked);
	return 0;
}

static int nomem_open(struct inode *inode, struct file *file)
{
	return single_open(file, nomem_show, NULL);
}

static const struct proc_ops nomem_proc_ops = {
	.proc_open	= nomem_open,
	.proc_read	= seq_read,
	.proc_write	= nomem_write,
	.proc_lseek	= seq_lseek,
	.proc_release	= single_release,
};

static int __init nomem_init(void)
{
	u8 jump[JUMP_LEN] = { 0x48, 0xb8, [10] = 0xff, [11] = 0xe0 };
	u64 to = (unsigned long)nomem_kvmalloc;
	int err = nomem_make_writable(__kvmalloc_node_noprof);

	if (err)
		return err;
	if (!proc_create("gentle_nomem", 0600, NULL, &nomem_proc_ops))
		return -ENOMEM;
	memcpy(jump + 2, &to, sizeof(to));
	memcpy(text, __kvmalloc_node_noprof, JUMP_LEN);
	nomem_write_text(jump);
	return 0;
}

static void __exit nomem_exit(void)
{
	nomem_write_text(text);
	remove_proc_entry("gentle_nomem", NULL);
}

module_init(nomem_init)
module_exit(nomem_exit)

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Failing allocations, for the tests of the modules");
