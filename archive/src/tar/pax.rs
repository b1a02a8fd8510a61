//! The attributes of a member that its header has no room for, in the format pax and in that of GNU.

use super::header::Header;
use crate::{Error, Result};

/// Attributes that replace those of the header that follows.
#[derive(Default)]
pub(crate) struct Attributes {
    pub path: Option<Vec<u8>>,
    pub link: Option<Vec<u8>>,
    size: Option<u64>,
    mtime: Option<i64>,
    uid: Option<u32>,
    gid: Option<u32>,
    sparse: Sparse,
}

/// What describes a sparse file.
#[derive(Default)]
struct Sparse {
    version: [Option<u32>; 2],
    size: Option<u64>,
    path: Option<Vec<u8>>,
}

const DAMAGED: Error = Error::Damaged("the attributes of a member are not valid");

const OTHER_SPARSE: Error = Error::Unsupported("a sparse file is stored in a format other than GNU or pax 1.0");

impl Attributes {
    /// Adds the records of a header of pax: `<length> <key>=<value>` and a line break.
    pub fn extend(&mut self, mut records: &[u8]) -> Result<()> {
        while !records.is_empty() {
            let digits = records.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (length, _) = records.split_at_checked(digits).ok_or(DAMAGED)?;
            let (record, rest) = records.split_at_checked(number(length)?).ok_or(DAMAGED)?;
            let record = record.get(digits..).and_then(|record| record.strip_prefix(b" "));
            let record = record.and_then(|record| record.strip_suffix(b"\n")).ok_or(DAMAGED)?;
            let equals = record.iter().position(|byte| *byte == b'=').ok_or(DAMAGED)?;
            let (key, value) = record.split_at_checked(equals).ok_or(DAMAGED)?;
            self.add(key, value.get(1..).unwrap_or_default())?;
            records = rest;
        }
        Ok(())
    }

    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match key {
            b"path" => self.path = Some(value.to_vec()),
            b"linkpath" => self.link = Some(value.to_vec()),
            b"size" => self.size = Some(number(value)?),
            b"uid" => self.uid = Some(number(value)?),
            b"gid" => self.gid = Some(number(value)?),
            // Seconds with a fraction: the whole second before it.
            b"mtime" => {
                let (whole, has_fraction) = match value.split(|byte| *byte == b'.').collect::<Vec<_>>()[..] {
                    [whole] => (whole, false),
                    [whole, fraction] => (whole, fraction.iter().any(|digit| *digit != b'0')),
                    _ => return Err(DAMAGED),
                };
                let seconds: i64 = number(whole)?;
                self.mtime = Some(if has_fraction && whole.starts_with(b"-") { seconds - 1 } else { seconds });
            }
            b"GNU.sparse.major" => self.sparse.version[0] = Some(number(value)?),
            b"GNU.sparse.minor" => self.sparse.version[1] = Some(number(value)?),
            b"GNU.sparse.realsize" => self.sparse.size = Some(number(value)?),
            b"GNU.sparse.name" => self.sparse.path = Some(value.to_vec()),
            _ if key.starts_with(b"GNU.sparse.") => return Err(OTHER_SPARSE),
            _ => {}
        }
        Ok(())
    }

    /// Returns the size of a sparse file, if they describe one.
    pub fn sparse_size(&self) -> Result<Option<u64>> {
        match &self.sparse {
            Sparse { version: [None, None], size: None, path: None } => Ok(None),
            Sparse { version: [Some(1), Some(0)], size: Some(size), path: Some(_) } => Ok(Some(*size)),
            _ => Err(OTHER_SPARSE),
        }
    }

    /// Replaces attributes of a header.
    pub fn apply(self, mut header: Header) -> Header {
        header.path = self.sparse.path.or(self.path).unwrap_or(header.path);
        header.link = self.link.unwrap_or(header.link);
        header.size = self.size.unwrap_or(header.size);
        header.mtime = self.mtime.unwrap_or(header.mtime);
        header.uid = self.uid.unwrap_or(header.uid);
        header.gid = self.gid.unwrap_or(header.gid);
        header
    }
}

/// Parses a decimal number.
pub(crate) fn number<T: std::str::FromStr>(text: &[u8]) -> Result<T> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(DAMAGED)
}
