//! Files of /proc that are read repeatedly.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Maximum size of a file that is read, bytes: /proc/net/netstat has 5 kB, and /proc/net/stat/nf_conntrack 160 bytes per
/// CPU.
const MAX_SIZE: u64 = 4 << 20;

/// Open file of /proc. It remains the file of the network namespace in which it was opened, and readable after
/// privileges have been given up.
#[derive(Debug)]
pub(crate) struct ProcFile {
    file: File,
}

impl ProcFile {
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<ProcFile> {
        let path = path.as_ref();
        let explain = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let file = ProcFile { file: File::open(path).map_err(explain)? };
        file.read().map_err(explain)?;
        Ok(file)
    }

    /// Present content, in which invalid UTF-8 is replaced.
    pub(crate) fn read(&self) -> io::Result<String> {
        // A read at position 0 makes the kernel generate the text again (`seq_read_iter`, fs/seq_file.c).
        let mut bytes = Vec::new();
        let mut chunk = vec![0; 64 << 10];
        while (bytes.len() as u64) < MAX_SIZE {
            match self.file.read_at(&mut chunk, bytes.len() as u64)? {
                0 => break,
                length => bytes.extend_from_slice(&chunk[..length]),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Present content as a number.
    pub(crate) fn number(&self) -> Option<u64> {
        self.read().ok()?.trim().parse().ok()
    }
}
