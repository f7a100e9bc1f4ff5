//! Priority by age with stock parts of Linux: `prio`, a child for each band, and a classifier in BPF (`bpf/ages.c`).
//!
//! `tc` loads the classifier from a file, for which it needs libbpf. The file is the object that is part of this program,
//! with the options in place of its constants.

use crate::command::Command;
use crate::error::PlanError;
use crate::file::PlanFile;
use crate::hash::fnv1a;
use crate::place::QueuePlace;
use crate::stock;
use gentle_aqm::Spec;

/// The classifier, compiled for the byte order of this machine.
#[cfg(target_endian = "little")]
const CLASSIFIER: &[u8] = include_bytes!("../bpf/ages.bpfel.o");
#[cfg(target_endian = "big")]
const CLASSIFIER: &[u8] = include_bytes!("../bpf/ages.bpfeb.o");

/// Directory of classifiers. It disappears on reboot, as the queues do.
const DIRECTORY: &str = "/run/gentle";

/// Constants of the classifier.
struct Params {
    first: u32,
    bands: u32,
    forgive: u32,
}

/// The constants in the object. No other bytes of it are equal to them.
const COMPILED: Params = Params {
    first: 2048,
    bands: 10,
    forgive: 75,
};

/// Largest age that the classifier can count, bytes.
const OLDEST: u32 = 1 << 21;

impl Params {
    /// The bytes of `struct params`.
    fn bytes(&self) -> [u8; 16] {
        let oldest = (self.first << self.bands).min(OLDEST);
        let words = [self.first, self.bands, oldest, self.forgive];
        let mut bytes = [0; 16];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// The classifier with these constants, in a file named after its contents.
    fn classifier(&self) -> PlanFile {
        let compiled = COMPILED.bytes();
        let at = CLASSIFIER
            .windows(compiled.len())
            .position(|bytes| bytes == compiled)
            .expect("a test finds the constants in both objects");
        let mut contents = CLASSIFIER.to_vec();
        contents[at..at + compiled.len()].copy_from_slice(&self.bytes());
        let name = fnv1a(contents.iter().copied());
        PlanFile {
            path: format!("{DIRECTORY}/ages-{name:08x}.o"),
            contents,
        }
    }
}

/// Plans priority by age, and the file that one of the commands reads.
pub(crate) fn plan(at: &QueuePlace, spec: &Spec) -> Result<(Vec<Command>, PlanFile), PlanError> {
    let options = spec.options();
    let params = Params {
        first: options.size("first") as u32,
        bands: options.count("bands") as u32,
        forgive: options.count("forgive") as u32,
    };
    let child = stock::child_args(spec, at.link_rate)?;
    let classifier = params.classifier();
    let (dev, handle) = (&at.dev, at.handle);
    let bands = params.bands;
    // The map of tc's own asks for three bands; it has no effect beside a classifier that knows every packet.
    let priomap = [" 0"; 16].concat();
    let mut commands = vec![Command::tc(&format!(
        "qdisc {} handle {handle:x}: prio bands {bands} priomap{priomap}",
        at.place()
    ))];
    // At most 15 bands.
    commands.extend((1..=bands as u16).map(|band| {
        Command::tc(&format!(
            "qdisc add dev {dev} parent {handle:x}:{band:x} handle {:x}: {child}",
            handle + band
        ))
    }));
    commands.push(Command::tc(&format!(
        "filter add dev {dev} parent {handle:x}: protocol all pref 1 bpf object-file {} section classifier",
        classifier.path
    )));
    Ok((commands, classifier))
}

#[cfg(test)]
mod tests {
    use super::{COMPILED, Params};

    #[test]
    fn the_constants_stand_once_in_each_object() {
        let native = COMPILED.bytes();
        let mut swapped = native;
        for word in swapped.chunks_exact_mut(4) {
            word.reverse();
        }
        let objects: [(&[u8], bool); 2] = [
            (
                include_bytes!("../bpf/ages.bpfel.o"),
                cfg!(target_endian = "little"),
            ),
            (
                include_bytes!("../bpf/ages.bpfeb.o"),
                cfg!(target_endian = "big"),
            ),
        ];
        for (object, same_order) in objects {
            let constants = if same_order { native } else { swapped };
            let found = object.windows(16).filter(|bytes| *bytes == constants);
            assert_eq!(found.count(), 1);
        }
    }

    #[test]
    fn other_constants_make_another_file() {
        let params = Params {
            first: 100,
            bands: 3,
            forgive: 0,
        };
        let (mine, compiled) = (params.classifier(), COMPILED.classifier());
        assert_ne!(mine.path, compiled.path);
        let differ = mine.contents.iter().zip(&compiled.contents);
        // Of the largest age, 800 instead of 2^21, three bytes differ.
        assert_eq!(differ.filter(|(a, b)| a != b).count(), 2 + 1 + 3 + 1);
    }
}
