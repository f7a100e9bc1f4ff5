//! Fuzz target for the core of `gentle rexmit`: it sends only copies of frames seen, and not more often than
//! configured.

#![no_main]

use arbitrary::Arbitrary;
use gentle_rexmit::{Config, Direction, Event, Frame, Retransmitter, Selection, Timing, Vlan};
use gentle_units::{Instant, Nanos};
use gentle_wire::LinkType;
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    ethernet: bool,
    duplicate: bool,
    dry_run: bool,
    with_data: bool,
    edge: bool,
    learned: bool,
    copies: u8,
    table: u8,
    steps: Vec<Step<'a>>,
}

#[derive(Debug, Arbitrary)]
struct Step<'a> {
    /// Time before the step, milliseconds.
    wait: u8,
    out: bool,
    partial_checksum: bool,
    exact_time: bool,
    /// Whether packets were missed before the step.
    missed: bool,
    tag: Option<u16>,
    /// Whether the previous frame is repeated; otherwise the frame is `bytes`.
    again: bool,
    bytes: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let copies = u32::from(input.copies % 4);
    let table = usize::from(input.table % 8) + 1;
    let config = Config {
        timing: Timing {
            edge: input.edge,
            fixed: (!input.learned).then_some(Nanos::from_millis(50)),
            ..Timing::LEARNED
        },
        copies,
        table,
        duplicate: input.duplicate.then_some(Nanos::from_millis(3)),
        with_data: input.with_data,
        dry_run: input.dry_run,
        ..Config::new(Selection { client: true, server: true, ..Selection::default() })
    };
    let mut core = Retransmitter::new(config, 1);
    let mut now = Instant::ZERO;
    let mut last: &[u8] = &[];
    for step in &input.steps {
        now += Nanos::from_millis(step.wait.into());
        drain(&mut core, now, input.dry_run);
        let bytes = if step.again { last } else { step.bytes };
        last = bytes;
        let frame = Frame {
            bytes,
            original_len: bytes.len() as u32,
            link: if input.ethernet { LinkType::ETHERNET } else { LinkType::RAW },
            vlan: step.tag.map(|tci| Vlan { tpid: 0x8100, tci }),
            partial_checksum: step.partial_checksum,
            exact_time: step.exact_time,
        };
        if step.missed {
            core.missed(now);
        }
        let direction = if step.out { Direction::Out } else { Direction::In };
        if let Some(answered) = core.frame(now, direction, &frame) {
            assert!(answered.copies > 0 && answered.copies <= copies);
        }
        assert!(core.pending() <= table);
    }
    drain(&mut core, Instant::NEVER, input.dry_run);
    let counters = core.counters();
    let opened = counters.syns + counters.synacks;
    assert_eq!(core.pending(), 0);
    assert!(counters.copies <= opened * u64::from(copies));
    assert!(counters.duplicates <= opened * u64::from(input.duplicate));
    assert!(opened <= counters.frames);
    assert!(counters.rescued + counters.spurious <= counters.answered_after_copy);
});

fn drain(core: &mut Retransmitter, now: Instant, dry_run: bool) {
    while let Some(due) = core.poll(now) {
        if let Event::Copy(copy) = due {
            // At least an IPv4 header and a TCP header.
            assert!(if dry_run { copy.bytes.is_empty() } else { copy.bytes.len() >= 40 });
        }
    }
}
