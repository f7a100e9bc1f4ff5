//! A sequence of lz4 frames as one stream.
//!
//! `lz4_flex` decodes one frame after another, but treats the end of the file between two blocks as the end of the
//! frame, and does not support skippable frames. [`Frames`] reports the former as an error and skips the latter.

use lz4_flex::frame::FrameDecoder;
use std::io::{self, ErrorKind, Read};

const LEGACY: u32 = 0x184c_2102;
const SKIPPABLE: u32 = 0x184d_2a50;
const SKIPPABLE_MASK: u32 = 0xffff_fff0;

/// Decodes all frames of a file.
pub(crate) enum Frames<R: Read> {
    /// Between two frames.
    Between(R),
    /// In a frame; `true` for a legacy frame, which ends with the file (`lz4 -l`).
    Within(Box<FrameDecoder<Framed<R>>>, bool),
    /// After the last frame.
    Ended,
}

impl<R: Read> Frames<R> {
    pub(crate) fn new(from: R) -> Frames<R> {
        Frames::Between(from)
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        loop {
            *self = match std::mem::replace(self, Frames::Ended) {
                Frames::Ended => return Ok(0),
                Frames::Between(from) => enter(from)?,
                Frames::Within(mut frame, legacy) => {
                    let n = frame.read(space)?;
                    if n > 0 || space.is_empty() {
                        *self = Frames::Within(frame, legacy);
                        return Ok(n);
                    }
                    match frame.into_inner() {
                        Framed { ended: true, .. } if legacy => Frames::Ended,
                        Framed { ended: true, .. } => return Err(ErrorKind::UnexpectedEof.into()),
                        Framed { from, .. } => Frames::Between(from),
                    }
                }
            };
        }
    }
}

/// Reads a magic number and enters the frame, or skips it.
fn enter<R: Read>(mut from: R) -> io::Result<Frames<R>> {
    let mut magic = [0; 4];
    if from.read(&mut magic[..1])? == 0 {
        return Ok(Frames::Ended);
    }
    from.read_exact(&mut magic[1..])?;
    let number = u32::from_le_bytes(magic);
    if number & SKIPPABLE_MASK == SKIPPABLE {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u64::from(u32::from_le_bytes(length));
        if io::copy(&mut from.by_ref().take(length), &mut io::sink())? < length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        return Ok(Frames::Between(from));
    }
    // Each frame gets a new decoder: the buffers of a decoder have the block size of its first frame.
    let framed = Framed { magic, magic_read: 0, from, ended: false };
    Ok(Frames::Within(Box::new(FrameDecoder::new(framed)), number == LEGACY))
}

/// Input of a frame's decoder: the magic number, which has been read already, then the rest of the file. Records
/// whether the decoder tried to read beyond the end of the file.
pub(crate) struct Framed<R> {
    magic: [u8; 4],
    magic_read: usize,
    from: R,
    ended: bool,
}

impl<R: Read> Read for Framed<R> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        if self.magic_read < self.magic.len() {
            let n = (&self.magic[self.magic_read..]).read(space)?;
            self.magic_read += n;
            return Ok(n);
        }
        let n = self.from.read(space)?;
        self.ended |= n == 0 && !space.is_empty();
        Ok(n)
    }
}
