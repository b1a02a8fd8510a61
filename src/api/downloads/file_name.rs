//! The name under which a browser saves a download.

use std::fmt::Write;

/// Returns the header `Content-Disposition` for a download with a name: in ASCII, and in UTF-8 (RFC 6266).
pub fn content_disposition(name: &str) -> String {
    let is_plain = |letter: &char| letter.is_ascii_graphic() && !matches!(letter, '"' | '\\' | '%' | '/');
    let plain: String =
        name.chars().map(|letter| if letter == ' ' || is_plain(&letter) { letter } else { '_' }).collect();
    let mut encoded = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(byte.into());
        } else {
            // Writing to a text cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_quoted_and_encoded() {
        assert_eq!(content_disposition("a b.txt"), "attachment; filename=\"a b.txt\"; filename*=UTF-8''a%20b.txt");
        assert_eq!(
            content_disposition("ü\"\r\n\\%/x"),
            "attachment; filename=\"_______".to_owned() + "x\"; filename*=UTF-8''%C3%BC%22%0D%0A%5C%25%2Fx"
        );
    }
}
