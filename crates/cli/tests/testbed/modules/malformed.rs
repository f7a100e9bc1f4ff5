//! Netlink messages that no `tc` would send: anybody who may create a network namespace can reach the modules.

use super::guest::{dummy, only_here, run};
use super::laboratory::{Laboratory, number};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Number of messages for each module.
const MESSAGES: u64 = 3000;

#[test]
fn malformed_messages_are_refused_and_change_nothing() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let printed = laboratory.run("modules::malformed::within");
    for kind in KINDS {
        let taken = number(&printed, &format!("{} taken", kind.name));
        let refused = number(&printed, &format!("{} refused", kind.name));
        assert_eq!(taken + refused, MESSAGES);
        // The messages are neither all malformed nor all well formed.
        assert!(taken > MESSAGES / 100, "{printed}");
        assert!(refused > MESSAGES / 10, "{printed}");
    }
    let bounds: usize = KINDS.iter().map(|kind| kind.bounds.len()).sum();
    assert_eq!(number(&printed, "bounds"), bounds as u64);
}

#[test]
#[ignore = "runs within a machine"]
fn within() {
    only_here();
    dummy("d0");
    dummy("d1");
    let mut kernel = Netlink::new();
    let mut bounds = 0;
    for kind in KINDS {
        run(&format!("tc qdisc add dev d0 root handle 1: {}", kind.name));
        bounds += every_bound(kind, &mut kernel);
        random(kind, &mut kernel);
        // After any messages, tc can still handle the qdisc.
        run("tc -s qdisc show dev d0");
        run("tc qdisc del dev d0 root");
    }
    println!("bounds: {bounds}");
}

/// Attributes of a module in `TCA_OPTIONS`, from kernel/include/uapi.
struct Kind {
    name: &'static str,
    /// Type and length of each attribute.
    attributes: &'static [(u16, usize)],
    /// Attribute, value, and whether a qdisc with defaults accepts it.
    bounds: &'static [(u16, Bytes, bool)],
}

/// Value of an attribute.
#[derive(Clone, Copy)]
enum Bytes {
    U8(u8),
    U32(u32),
    U64(u64),
    Two(u32, u32),
    Empty,
}

use Bytes::{Empty, Two, U8, U32, U64};

impl Bytes {
    fn to_vec(self) -> Vec<u8> {
        match self {
            U8(value) => vec![value],
            U32(value) => value.to_ne_bytes().to_vec(),
            U64(value) => value.to_ne_bytes().to_vec(),
            Two(first, second) => [first.to_ne_bytes(), second.to_ne_bytes()].concat(),
            Empty => Vec::new(),
        }
    }
}

const KINDS: &[Kind] = &[
    Kind {
        name: "spa",
        attributes: &[(1, 4), (2, 4), (3, 4)],
        bounds: &[
            (1, U32(1), true),
            (1, U32(2), false),
            (1, U8(1), false),
            (1, Empty, false),
            (2, U32(65_535), true),
            (2, U32(65_536), false),
            (2, Empty, false),
            (3, U32(0), false),
            (3, U32(1), true),
            (3, U32(100), true),
            (3, U32(101), false),
            (3, U8(25), false),
            (0, U32(1), false),
            (4, U32(1), false),
        ],
    },
    Kind {
        name: "gentle",
        attributes: &[(1, 4), (2, 4), (3, 4), (4, 4), (5, 4), (6, 4), (7, 4)],
        bounds: &[
            (1, U32(0), false),
            (1, U32(1), true),
            (1, U32(u32::MAX), true),
            (1, U8(1), false),
            (1, Empty, false),
            (2, U32(7), false),
            // The number of flows cannot change, but it is rounded.
            (2, U32(8), false),
            (2, U32(1016), false),
            (2, U32(1017), true),
            (2, U32(1024), true),
            (2, U32(1025), false),
            (2, U32(32_768), false),
            (2, U32(32_769), false),
            (2, U32(u32::MAX), false),
            (3, U32(0), true),
            (3, U32(u32::MAX), true),
            (4, U32(0), true),
            (4, U32(u32::MAX), true),
            (5, U32(0), true),
            (5, U32(1 << 31), true),
            (5, U32((1 << 31) + 1), false),
            (6, U32(1), true),
            (6, U32(2), false),
            (7, U32(2), true),
            (7, U32(3), false),
            (0, U32(1), false),
            (8, U32(1), false),
        ],
    },
    Kind {
        name: "gsp",
        attributes: &[(2, 8), (3, 4), (4, 4), (5, 8), (6, 4), (7, 4), (8, 8), (9, 8), (10, 4), (11, 4)],
        bounds: &[
            (2, U64(999), false),
            (2, U64(1000), true),
            (2, U64(10_000_000_000), true),
            (2, U64(10_000_000_001), false),
            (2, U32(1000), false),
            (3, U32(0), false),
            (3, U32(1), true),
            (3, U32((1 << 30) - 1), true),
            (3, U32(1 << 30), false),
            (4, U32(0), false),
            (4, U32(999), true),
            (4, U32(1000), false),
            (5, U64(999), false),
            (5, U64(60_000_000_001), false),
            (6, U32(1), true),
            (6, U32(2), false),
            (7, U32(0), false),
            (7, U32(64), true),
            (7, U32(65), false),
            (8, U64(999), false),
            (8, U64(600_000_000_001), false),
            (9, U64(0), true),
            (9, U64(60_000_000_000_001), false),
            (9, U64(u64::MAX), false),
            (10, U32(0), false),
            (10, U32(1_000_001), false),
            (11, U32(0), false),
            (11, U32((1 << 30) + 1), false),
            (12, U32(1), false),
        ],
    },
    Kind {
        name: "redfavor",
        attributes: &[(1, 4), (2, 4), (3, 4), (4, 4), (5, 4), (6, 256), (7, 4), (8, 8), (9, 4), (10, 4)],
        bounds: &[
            (1, U32(0), false),
            (1, U32(1), true),
            (1, U32(1 << 30), true),
            (1, U32((1 << 30) + 1), false),
            // The parameters of the average must be given all together.
            (2, U32(1000), false),
            (3, U32(1000), false),
            (4, U32(9), false),
            (5, U32(9), false),
            (6, U64(0), false),
            (7, U32(0), false),
            (7, U32(u32::MAX), true),
            // Flags: ecn, alone and with nodrop; exempt; nodrop alone; an undefined flag.
            (8, Two(1, 1), true),
            (8, Two(9, 9), true),
            (8, Two(128, 128), true),
            (8, Two(8, 8), false),
            (8, Two(16, 16), false),
            (8, U32(1), false),
            (9, U32(0), true),
            (9, U32(65_535), true),
            (9, U32(65_536), false),
            (10, U32(0), false),
            (10, U32(1), true),
            (10, U32(100), true),
            (10, U32(101), false),
            (11, U32(1), false),
        ],
    },
];

const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;
const RTM_NEWTCLASS: u16 = 40;
const RTM_GETTCLASS: u16 = 42;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const ROOT: u32 = 0xffff_ffff;
const HANDLE: u32 = 0x0001_0000;

const REQUEST: u16 = 0x01;
const ACK: u16 = 0x04;
/// Without this flag, the result is sent to the listeners of all changes, but not to the sender.
const ECHO: u16 = 0x08;
const REPLACE: u16 = 0x100;
const CREATE: u16 = 0x400;

const NESTED: u16 = 0x8000;
const BYTE_ORDER: u16 = 0x4000;

const NLMSG_ERROR: u16 = 2;
/// Error text of the kernel: `NLMSGERR_ATTR_MSG`.
const TEXT: u16 = 1;
/// Flag of error messages with attributes: `NLM_F_ACK_TLVS`.
const HAS_TEXT: u16 = 0x200;

/// Attribute with padding.
fn attribute(number: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = ((4 + payload.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend(number.to_ne_bytes());
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Message about the qdisc or class `handle` of a device.
fn message(of: u16, flags: u16, index: u32, (handle, parent): (u32, u32), rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 16];
    bytes[4..6].copy_from_slice(&of.to_ne_bytes());
    bytes[6..8].copy_from_slice(&(flags | REQUEST).to_ne_bytes());
    // struct tcmsg
    bytes.extend([0; 4]);
    bytes.extend(index.to_ne_bytes());
    bytes.extend(handle.to_ne_bytes());
    bytes.extend(parent.to_ne_bytes());
    bytes.extend(0u32.to_ne_bytes());
    bytes.extend(rest);
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes
}

fn change(kind: &Kind, options: &[u8]) -> Vec<u8> {
    let mut rest = attribute(TCA_KIND, &[kind.name.as_bytes(), &[0]].concat());
    rest.extend(attribute(TCA_OPTIONS | NESTED, options));
    message(RTM_NEWQDISC, ACK, index("d0"), (HANDLE, ROOT), &rest)
}

fn index(device: &str) -> u32 {
    nix::net::if_::if_nametoindex(device).expect("a device")
}

/// Answer of the kernel to a message.
enum Answer {
    Taken,
    Refused {
        /// Positive error number.
        error: i32,
        text: String,
    },
    /// Result of a query.
    Message(Vec<u8>),
}

struct Netlink {
    socket: Socket,
}

impl Netlink {
    fn new() -> Netlink {
        let mut socket = Socket::new(NETLINK_ROUTE).expect("a socket");
        socket.bind_auto().expect("an address");
        socket.connect(&SocketAddr::new(0, 0)).expect("the kernel");
        socket.set_ext_ack(true).expect("words with errors");
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(10)).expect("patience");
        Netlink { socket }
    }

    fn ask(&mut self, message: &[u8]) -> Answer {
        self.socket.send(message, 0).expect("it is taken to be looked at");
        let (bytes, _) = self.socket.recv_from_full().expect("an answer");
        let word = |at: usize| u16::from_ne_bytes(bytes[at..at + 2].try_into().expect("two"));
        if word(4) != NLMSG_ERROR {
            return Answer::Message(bytes[16..].to_vec());
        }
        let error = i32::from_ne_bytes(bytes[16..20].try_into().expect("four"));
        if error == 0 {
            return Answer::Taken;
        }
        // The original message follows, then the text.
        let copied = u32::from_ne_bytes(bytes[20..24].try_into().expect("four")) as usize;
        let texts = bytes.get(20 + copied.next_multiple_of(4)..);
        let text = match texts {
            Some(texts) if word(6) & HAS_TEXT != 0 => find(texts, TEXT).unwrap_or_default(),
            _ => Vec::new(),
        };
        Answer::Refused { error: -error, text: String::from_utf8_lossy(&text).into_owned() }
    }

    /// Options of the root qdisc of `d0`, as dumped by the kernel.
    fn options(&mut self) -> Vec<u8> {
        match self.ask(&message(RTM_GETQDISC, ECHO, index("d0"), (HANDLE, ROOT), &[])) {
            Answer::Message(bytes) => find(&bytes[20..], TCA_OPTIONS).expect("options"),
            Answer::Taken => panic!("no qdisc came"),
            Answer::Refused { error, text } => panic!("{error} {text}"),
        }
    }
}

/// First attribute of this type.
fn find(mut bytes: &[u8], number: u16) -> Option<Vec<u8>> {
    while bytes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
        let found = u16::from_ne_bytes([bytes[2], bytes[3]]) & !(NESTED | BYTE_ORDER);
        if found == number {
            return Some(bytes[4..length].to_vec());
        }
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    None
}

/// Tests every bound of a module; returns their number.
fn every_bound(kind: &Kind, kernel: &mut Netlink) -> u64 {
    let defaults = kernel.options();
    for &(number, value, taken) in kind.bounds {
        let name = kind.name;
        let value = value.to_vec();
        match kernel.ask(&change(kind, &attribute(number, &value))) {
            Answer::Taken => {
                assert!(taken, "{name}: {number} {value:x?}: was taken");
                run("tc qdisc del dev d0 root");
                run(&format!("tc qdisc add dev d0 root handle 1: {name}"));
            }
            Answer::Refused { error, text } => {
                assert!(!taken, "{name}: {number} {value:x?}: {error} {text}");
                assert!(!text.is_empty(), "{name}: {number} {value:x?}: {error}, and no word");
                assert_eq!(kernel.options(), defaults, "{name}: {number} {value:x?}");
            }
            Answer::Message(_) => panic!("an answer to a change"),
        }
    }
    kind.bounds.len() as u64
}

fn random(kind: &Kind, kernel: &mut Netlink) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let (mut taken, mut refused) = (0, 0);
    let mut before = kernel.options();
    for _ in 0..MESSAGES {
        let message = draw(kind, &mut random);
        match kernel.ask(&message) {
            Answer::Taken | Answer::Message(_) => {
                taken += 1;
                before = kernel.options();
                // The kernel accepts its own dump.
                match kernel.ask(&change(kind, &before)) {
                    Answer::Taken => assert_eq!(kernel.options(), before),
                    Answer::Refused { error, text } => {
                        panic!("{}: {before:x?}: {error} {text}", kind.name)
                    }
                    Answer::Message(_) => panic!("an answer to a change"),
                }
            }
            Answer::Refused { .. } => {
                refused += 1;
                assert_eq!(kernel.options(), before, "{message:x?}");
            }
        }
    }
    println!("{} taken: {taken}", kind.name);
    println!("{} refused: {refused}", kind.name);
}

/// Random message, malformed or not.
fn draw(kind: &Kind, random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut options = Vec::new();
    for _ in 0..random.random_range(0..4) {
        let &(number, length) = kind.attributes.choose(random).expect("attributes");
        let value = value(length, random);
        let mut one = match random.random_range(0..10) {
            // Too long or too short.
            0 => attribute(number, &bytes(random.random_range(0..20), random)),
            // Value of another attribute.
            1 => attribute(random.random_range(0..20), &value),
            2 => attribute(random.random(), &value),
            3 => attribute(number | NESTED, &value),
            4 => attribute(number | BYTE_ORDER, &value),
            _ => attribute(number, &value),
        };
        if random.random_ratio(1, 20) {
            // Length field that does not fit.
            let length: u16 = random.random_range(0..300);
            one[..2].copy_from_slice(&length.to_ne_bytes());
        }
        options.extend(one);
    }
    match random.random_range(0..20) {
        0 => options = bytes(random.random_range(0..64), random),
        1 => options.truncate(random.random_range(0..=options.len())),
        _ => {}
    }
    let mut rest = attribute(TCA_KIND, &[kind.name.as_bytes(), &[0]].concat());
    match random.random_range(0..20) {
        0 => {}
        1 => rest.extend(attribute(TCA_OPTIONS, &options)),
        2 => rest = attribute(TCA_OPTIONS | NESTED, &options),
        3 => rest.extend(bytes(random.random_range(0..40), random)),
        _ => rest.extend(attribute(TCA_OPTIONS | NESTED, &options)),
    }
    let (d0, d1) = (index("d0"), index("d1"));
    let mut bytes = match random.random_range(0..20) {
        // Adding to and deleting from a device without the qdisc.
        0 => message(RTM_NEWQDISC, ACK | CREATE | REPLACE, d1, (HANDLE, ROOT), &rest),
        1 => message(RTM_DELQDISC, ACK, d1, (0, ROOT), &[]),
        // As a child of itself, under classes that may not exist.
        2 => message(RTM_NEWQDISC, ACK | CREATE | REPLACE, d0, (0, HANDLE | random.random_range(0..5)), &rest),
        3 => message(RTM_DELQDISC, ACK, d0, (0, HANDLE | random.random_range(1..5)), &[]),
        4 => {
            let class = (HANDLE | random.random_range(0..5), HANDLE);
            // The query is answered with the class and has no other acknowledgement.
            let both = [(RTM_NEWTCLASS, ACK), (RTM_GETTCLASS, ECHO)];
            let &(what, flags) = both.choose(random).expect("two");
            message(what, flags, d0, class, &rest)
        }
        _ => message(RTM_NEWQDISC, ACK, d0, (HANDLE, ROOT), &rest),
    };
    if random.random_ratio(1, 20) {
        // Truncated. Messages shorter than the headers are rejected by netlink itself.
        let length = random.random_range(36..=bytes.len());
        bytes.truncate(length);
        bytes[..4].copy_from_slice(&(length as u32).to_ne_bytes());
    }
    bytes
}

/// Random value, often small or near the maximum, where the limits are.
fn value(length: usize, random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut bytes = match random.random_range(0..4) {
        0 => vec![0xff; length],
        1 => bytes(length, random),
        _ => vec![0; length],
    };
    if let Some(last) = bytes.len().min(2).checked_sub(1) {
        bytes[0] = random.random();
        bytes[last] = random.random();
    }
    bytes
}

fn bytes(length: usize, random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    (0..length).map(|_| random.random()).collect()
}
