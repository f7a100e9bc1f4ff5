//! Changes of the kernel's source, in what user-mode Linux has no option for; its network code stays untouched.

use super::{BuildError, Observer};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

/// Environment variable of the kernel's process with the seed of the machine's random numbers, a decimal integer.
pub(crate) const SEED_VARIABLE: &str = "GENTLE_SEED";

/// Replacement of a passage of one file.
struct Edit {
    file: &'static str,
    from: &'static str,
    to: &'static str,
    /// Capability that a machine lacks if the edit does not apply, for a warning.
    without: &'static str,
}

const EDITS: [Edit; 3] = [
    // User-mode Linux has 100 ticks per second and no Kconfig prompt to change that. TCP timers count in ticks; with
    // 1000 (as in distribution kernels, or nearly) they are as fine as the simulator's.
    Edit {
        file: "arch/um/Kconfig",
        from: "config HZ\n\tint\n\tdefault 100\n",
        to: "config HZ\n\tint\n\tdefault 1000\n",
        without: "timers that are as fine as the simulator's",
    },
    // The host's random numbers seed the kernel's, once at boot and once a minute. The numbers of a seed (splitmix64,
    // Steele et al., OOPSLA 2014) let a run be repeated.
    Edit {
        file: "arch/um/os-Linux/util.c",
        from: "\treturn getrandom(buf, len, flags);\n",
        to: r#"	static unsigned long long state;
	static int seeded = -1;
	unsigned char *bytes = buf;
	size_t i;

	if (seeded < 0) {
		const char *seed = getenv("GENTLE_SEED");

		seeded = seed != NULL;
		if (seeded)
			state = strtoull(seed, NULL, 10);
	}
	if (!seeded)
		return getrandom(buf, len, flags);
	for (i = 0; i < len; i++) {
		unsigned long long z = state += 0x9e3779b97f4a7c15ULL;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
		bytes[i] = z ^ (z >> 31);
	}
	return len;
"#,
        without: "random numbers that a seed repeats",
    },
    // The other sources of random numbers: the command line, which names a directory of the run; and what code an
    // interrupt of the host met, which is chance.
    Edit {
        file: "drivers/char/random.c",
        from: "\tblake2s_update(&input_pool.hash, buf, len);\n",
        to: "",
        without: "random numbers that a seed repeats",
    },
];

/// Applies all edits to the source in `tree`.
pub(super) fn apply(tree: &Path, observer: &dyn Observer) -> Result<(), BuildError> {
    for edit in &EDITS {
        let path = tree.join(edit.file);
        let text = fs::read_to_string(&path).map_err(|error| BuildError::file(&path, error))?;
        let changed = text.replacen(edit.from, edit.to, 1);
        if changed == text {
            let Edit { file, without, .. } = edit;
            observer.note(&format!("unexpected contents of {file} in this kernel; its machines lack {without}"));
            continue;
        }
        fs::write(&path, changed).map_err(|error| BuildError::file(&path, error))?;
    }
    Ok(())
}

/// Adds the edits to a hash.
pub(super) fn hash(into: &mut Sha256) {
    for edit in &EDITS {
        for part in [edit.file, edit.from, edit.to] {
            into.update(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    struct Notes(Mutex<Vec<String>>);

    impl Observer for Notes {
        fn began(&self, _: super::super::Stage) {}
        fn reached(&self, _: f64) {}
        fn note(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }
    }

    #[test]
    fn edits_change_one_passage_and_report_what_they_do_not_find() {
        let tree = tempfile::tempdir().unwrap();
        for edit in &EDITS {
            let path = tree.path().join(edit.file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("before\n{}after\n", edit.from)).unwrap();
        }
        let notes = Notes(Mutex::default());
        apply(tree.path(), &notes).unwrap();
        assert_eq!(*notes.0.lock().unwrap(), [""; 0]);
        for edit in &EDITS {
            let text = fs::read_to_string(tree.path().join(edit.file)).unwrap();
            assert_eq!(text, format!("before\n{}after\n", edit.to));
        }
        for edit in &EDITS {
            fs::write(tree.path().join(edit.file), "of another version\n").unwrap();
        }
        apply(tree.path(), &notes).unwrap();
        let notes = notes.0.lock().unwrap();
        assert_eq!(notes.len(), EDITS.len());
        assert!(notes[0].starts_with("unexpected contents of arch/um/Kconfig"), "{notes:?}");
    }

    #[test]
    fn the_kernel_reads_the_seed_from_its_variable() {
        let read = format!("getenv(\"{SEED_VARIABLE}\")");
        assert!(EDITS.iter().any(|edit| edit.to.contains(&read)));
    }
}
