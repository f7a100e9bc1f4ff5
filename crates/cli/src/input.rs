//! Text files as input, with a size limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes per read call.
const CHUNK: usize = 64 * 1024;

/// Reads a text file of at most `most` bytes. The error describes the problem without the name of the file.
pub(crate) fn read_text(path: &Path, most: usize) -> io::Result<String> {
    read_text_from(File::open(path)?, most)
}

/// Reads a text file that another file names, such as a list of flows: a regular file, since a pipe might block for ever. Otherwise as
/// [`read_text`].
pub(crate) fn read_named_text(path: &Path, most: usize) -> io::Result<String> {
    match std::fs::metadata(path)?.is_file() {
        true => read_text(path, most),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Reads at most `most` bytes of text. The error describes the problem.
pub(crate) fn read_text_from(mut file: impl Read, most: usize) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let n = match file.read(&mut chunk) {
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        // Checked while reading: /dev/zero has no end.
        if let Some(at) = chunk[..n].iter().position(|byte| *byte == 0) {
            return Err(io::Error::other(format!("it is not text in UTF-8: byte {} is zero", bytes.len() + at + 1)));
        }
        bytes.extend_from_slice(&chunk[..n]);
        if bytes.len() > most {
            return Err(io::Error::other(format!(
                "it is longer than {}, the limit for such a file",
                gentle_units::format_size(most as u64)
            )));
        }
    }
    String::from_utf8(bytes).map_err(|error| {
        let read = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = read.iter().filter(|byte| **byte == b'\n').count() + 1;
        io::Error::other(format!("it is not text in UTF-8: see line {line}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    #[test]
    fn text_is_read_and_anything_else_is_refused() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("file");
        let read = |bytes: &[u8], most| {
            fs::write(&file, bytes).unwrap();
            read_text(&file, most).map_err(|error| error.to_string())
        };
        assert_eq!(read("ä\n".as_bytes(), 3), Ok("ä\n".to_owned()));
        assert_eq!(read(b"abcd", 3), Err("it is longer than 3b, the limit for such a file".to_owned()));
        assert_eq!(read(b"a\0", 9), Err("it is not text in UTF-8: byte 2 is zero".to_owned()));
        assert_eq!(read(b"a\nb\xff", 9), Err("it is not text in UTF-8: see line 2".to_owned()));
    }
}
