//! Decompresses gzip (RFC 1952) piece by piece.

use bytes::Bytes;
use crc32fast::Hasher;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

use crate::fields::Fields;
use crate::{Error, Result};

/// The number of decompressed bytes that are returned at once.
const OUTPUT: usize = 64 << 10;

const DAMAGED: Error = Error::Damaged("it is not valid gzip");

/// One or more members of gzip.
pub(crate) struct Gzip {
    inflate: Box<InflateState>,
    member: Member,
}

/// What comes next.
enum Member {
    Header,
    Content { checksum: Hasher, length: u32 },
    Trailer { checksum: u32, length: u32 },
}

impl Gzip {
    pub fn new() -> Self {
        Self { inflate: InflateState::new_boxed(DataFormat::Raw), member: Member::Header }
    }

    /// Decompresses a part of the input. Returns the length of the part, and its content. Both are 0 at the end.
    pub fn decode(&mut self, input: &[u8]) -> Result<(usize, Bytes)> {
        match &mut self.member {
            Member::Header if input.is_empty() => Ok((0, Bytes::new())),
            Member::Header => {
                let length = header_length(input)?;
                self.inflate.reset(DataFormat::Raw);
                self.member = Member::Content { checksum: Hasher::new(), length: 0 };
                Ok((length, Bytes::new()))
            }
            Member::Content { checksum, length } => {
                let mut output = vec![0; OUTPUT];
                let result = inflate(&mut self.inflate, input, &mut output, MZFlush::None);
                output.truncate(result.bytes_written);
                checksum.update(&output);
                *length = length.wrapping_add(u32::try_from(output.len()).unwrap_or_default());
                let status = result.status.map_err(|_| DAMAGED)?;
                if status == MZStatus::StreamEnd {
                    self.member = Member::Trailer { checksum: checksum.clone().finalize(), length: *length };
                } else if result.bytes_consumed == 0 && output.is_empty() {
                    return Err(DAMAGED);
                }
                Ok((result.bytes_consumed, output.into()))
            }
            Member::Trailer { checksum, length } => {
                let mut fields = Fields(input);
                if (fields.u32()?, fields.u32()?) != (*checksum, *length) {
                    return Err(Error::Damaged("its checksum is wrong"));
                }
                self.member = Member::Header;
                Ok((8, Bytes::new()))
            }
        }
    }
}

/// Returns the length of the header of a member.
fn header_length(input: &[u8]) -> Result<usize> {
    const HEADER_CHECKSUM: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    let (header, mut rest) = input.split_first_chunk::<10>().ok_or(DAMAGED)?;
    let [0x1f, 0x8b, 8, flags, ..] = *header else { return Err(DAMAGED) };
    if flags & EXTRA != 0 {
        let mut fields = Fields(rest);
        let length = usize::from(fields.u16()?);
        rest = fields.0.get(length..).ok_or(DAMAGED)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let end = rest.iter().position(|byte| *byte == 0).ok_or(DAMAGED)?;
            rest = rest.get(end + 1..).ok_or(DAMAGED)?;
        }
    }
    if flags & HEADER_CHECKSUM != 0 {
        rest = rest.get(2..).ok_or(DAMAGED)?;
    }
    Ok(input.len() - rest.len())
}
