// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Program that the kernel runs at the start of a connection (type sock_ops).
 *
 * BPF_SOCK_OPS_TIMEOUT_INIT is answered with the initial RTO. TCP asks once for
 * a SYN (tcp_connect_init, net/ipv4/tcp_output.c), once for a SYN/ACK
 * (reqsk_queue_hash_req, net/ipv4/inet_connection_sock.c;
 * tcp_fastopen_create_child, net/ipv4/tcp_fastopen.c) and again after each
 * timeout of a SYN (retransmits_timed_out, net/ipv4/tcp_timer.c).
 *
 * A shorter initial RTO shortens all the timeouts that double it, so that
 * connect would give up after seconds instead of two minutes. If requested, the
 * program therefore raises the number of retransmissions of the connection
 * (TCP_SYNCNT) at BPF_SOCK_OPS_TCP_CONNECT_CB, unless the application has set
 * it.
 *
 * ./build compiles this file to rexmit.bpfel.o and rexmit.bpfeb.o, which are
 * committed: building gentle does not need a compiler for BPF.
 * src/kernel_engine/bpf.rs loads them.
 */

#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/tcp.h>

/* include/linux/socket.h */
#define AF_INET		2
#define SOL_TCP		6

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NETWORK(x)	__builtin_bswap32(x)
#else
#define NETWORK(x)	(x)
#endif

#define SECTION(name)	__attribute__((section(name), used))

static void *(*const map_lookup_elem)(void *map, const void *key) =
	(void *)BPF_FUNC_map_lookup_elem;
static long (*const getsockopt)(volatile void *context, int level, int name,
				void *value, int length) = (void *)BPF_FUNC_getsockopt;
static long (*const setsockopt)(volatile void *context, int level, int name,
				void *value, int length) = (void *)BPF_FUNC_setsockopt;

static long (*const tail_call)(void *context, void *programs, __u32 index) =
	(void *)BPF_FUNC_tail_call;

/* Definition of a map as loaders read it in an object without BTF. */
struct map {
	__u32 type, key_size, value_size, max_entries, flags;
};

/* Connections that got their initial RTO here. */
enum { SYNS, SYN_ACKS };

SECTION("maps") struct map counters = {
	BPF_MAP_TYPE_ARRAY, sizeof(__u32), sizeof(__u64), 2, 0,
};

struct params {
	__u32 ticks;		/* initial RTO; 0: the kernel's own */
	__u32 more_retries;	/* SYNs in addition to the kernel's number */
};

/* Addresses are IPv6; IPv4 is mapped (RFC 4291, section 2.5.5.2). */
struct network {
	__u32 length;		/* of the prefix, bits */
	__u32 address[4];
};

/* The loader sets the number of entries of this map and of the next. */
SECTION("maps") struct map networks = {
	BPF_MAP_TYPE_LPM_TRIE, sizeof(struct network), sizeof(struct params), 1,
	BPF_F_NO_PREALLOC,
};

/* Settings as JSON, for gentle rexmit kernel status; not read here. */
SECTION("maps") struct map settings = {
	BPF_MAP_TYPE_ARRAY, sizeof(__u32), 256, 1, 0,
};

/* Entry 0 is the program in force. */
SECTION("maps") struct map programs = {
	BPF_MAP_TYPE_PROG_ARRAY, sizeof(__u32), sizeof(__u32), 1, 0,
};

/* The loader sets the following constants. */
const volatile __u8 syn, syn_ack;	/* whether these are selected */
const volatile __u8 ports[1 << 13];	/* server ports, one bit each */
const volatile struct params others;	/* addresses in none of the networks */
const volatile __s32 syn_retries;	/* net.ipv4.tcp_syn_retries */

static void retry_more(volatile struct bpf_sock_ops *context, __u32 more)
{
	__s32 retries = 0;

	/* Kernels before 6.1 do not support getsockopt here. */
	if (more == 0 ||
	    getsockopt(context, SOL_TCP, TCP_SYNCNT, &retries, sizeof(retries)) ||
	    retries != syn_retries)
		return;
	retries += more;
	setsockopt(context, SOL_TCP, TCP_SYNCNT, &retries, sizeof(retries));
}

/*
 * volatile: the verifier accepts loads at constant offsets of the context only,
 * and the compiler would merge the loads of two branches into one.
 */
SECTION("sockops") int gentle_rexmit(volatile struct bpf_sock_ops *context)
{
	struct network network = { .length = 128 };
	__u32 wanted, side, port, ticks, more;
	struct params *own;
	__u64 *counter;

	if (context->op != BPF_SOCK_OPS_TIMEOUT_INIT &&
	    context->op != BPF_SOCK_OPS_TCP_CONNECT_CB)
		return 1;

	switch (context->state) {
	case BPF_TCP_SYN_SENT:
		wanted = syn;
		side = SYNS;
		port = NETWORK(context->remote_port);
		break;
	case BPF_TCP_NEW_SYN_RECV:
	/* The SYN carried data (TCP Fast Open), so a full socket exists. */
	case BPF_TCP_SYN_RECV:
		wanted = syn_ack;
		side = SYN_ACKS;
		port = context->local_port;
		break;
	default:
		return 1;
	}
	port &= 0xffff;
	if (!wanted || !(ports[port >> 3] & 1 << (port & 7)))
		return 1;

	network.address[0] = context->remote_ip6[0];
	network.address[1] = context->remote_ip6[1];
	network.address[2] = context->remote_ip6[2];
	network.address[3] = context->remote_ip6[3];
	if (context->family == AF_INET) {
		network.address[0] = network.address[1] = 0;
		network.address[2] = NETWORK(0xffff);
		network.address[3] = context->remote_ip4;
	}
	own = map_lookup_elem(&networks, &network);
	ticks = own ? own->ticks : others.ticks;
	more = own ? own->more_retries : others.more_retries;
	if (ticks == 0)
		return 1;

	if (context->op == BPF_SOCK_OPS_TCP_CONNECT_CB) {
		retry_more(context, more);
		return 1;
	}
	context->reply = ticks;
	/* TCP asks again after each timeout; the connection counts once. */
	if (context->total_retrans == 0) {
		counter = map_lookup_elem(&counters, &side);
		if (counter)
			__sync_fetch_and_add(counter, 1);
	}
	/* TCP would treat any other value as an error. */
	return 1;
}

/*
 * Program that stays attached to the control group while another one replaces
 * gentle_rexmit, so that each connection meets either the old or the new one.
 */
SECTION("sockops") int gentle_entry(struct bpf_sock_ops *context)
{
	tail_call(context, &programs, 0);
	return 1;
}

SECTION("license") const char license_of_program[] = "Dual MIT/GPL";
