//! Constants and accounting of the kernel outside the packet: the device's MTU, the memory of an `sk_buff`.

/// Maximum frame length of an Ethernet device in bytes, header included (Linux: `psched_mtu`): 1500 + 14.
pub(crate) const MTU: u32 = 1514;

/// `sizeof(struct sk_buff)` in bytes on 64-bit machines, rounded up to cache lines.
const SK_BUFF: u64 = 256;
/// Bytes reserved before the packet (`NET_SKB_PAD`).
const HEADROOM: u64 = 64;
/// `sizeof(struct skb_shared_info)` in bytes, after the packet, rounded up to cache lines.
const SHARED_INFO: u64 = 320;

/// Memory in bytes charged for a packet of `bytes` bytes (Linux: `skb->truesize`).
///
/// Actual allocations depend on the driver. The model is a linear buffer from the kernel's general-purpose caches,
/// whose sizes are powers of two: 2304 bytes for a full frame, 768 for a pure TCP ACK.
pub fn truesize(bytes: u32) -> u64 {
    SK_BUFF + (HEADROOM + u64::from(bytes) + SHARED_INFO).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_and_an_ack_cost_what_a_linear_buffer_costs() {
        assert_eq!(truesize(MTU), 2304);
        assert_eq!(truesize(54), 768);
    }
}
