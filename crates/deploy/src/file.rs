//! Files that the commands of a plan read.

use crate::private;
use std::fmt::{self, Write};
use std::io;
use std::path::Path;

/// File that has to exist before the commands of a plan run. Its [`Display`](fmt::Display) is a shell command that writes
/// it, by means of `printf` only: routers have no `base64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFile {
    /// Path without blanks.
    pub path: String,
    /// Contents.
    pub contents: Vec<u8>,
}

/// Bytes that a line of the shell command writes.
const LINE: usize = 64;

impl PlanFile {
    /// Command that writes the file, for where only commands can be run.
    pub fn argv(&self) -> Vec<String> {
        ["sh", "-c", &format!("set -e\n{self}")]
            .map(str::to_owned)
            .into()
    }

    /// Writes the file whole or not at all, and its directory if that is missing.
    pub(crate) fn write(&self) -> io::Result<()> {
        let path = Path::new(&self.path);
        if let Some(directory) = path.parent() {
            private::create_directory(directory)?;
        }
        private::write(path, &self.contents)
    }
}

impl fmt::Display for PlanFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        if let Some((directory, _)) = path.rsplit_once('/') {
            writeln!(f, "mkdir -p -m 700 {directory}")?;
        }
        writeln!(f, "{{")?;
        for line in self.contents.chunks(LINE) {
            f.write_str("printf '")?;
            for &byte in line {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'_' => f.write_char(byte.into())?,
                    _ => write!(f, "\\{byte:03o}")?,
                }
            }
            f.write_str("'\n")?;
        }
        write!(f, "}} >{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::PlanFile;
    use std::process::Command;

    #[test]
    fn a_shell_writes_the_same_bytes() {
        let folder = std::env::temp_dir().join(format!("gentle-file-{}", std::process::id()));
        let path = folder.join("in/file");
        let contents: Vec<u8> = (0..=255).chain(*b"%s\\n0'7\n").collect();
        let file = PlanFile {
            path: path.to_str().unwrap().to_owned(),
            contents,
        };
        for write in [true, false] {
            if write {
                file.write().unwrap();
            } else {
                let argv = file.argv();
                let status = Command::new(&argv[0]).args(&argv[1..]).status();
                assert!(status.unwrap().success());
            }
            assert_eq!(std::fs::read(&path).unwrap(), file.contents);
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}
