//! The requests that change files of a running sandbox.

use base64ct::{Base64, Encoding};

#[cfg(feature = "schema")]
use super::MAX_TEXT;
use super::check_text;
use super::declare::{Content, Field, request};
use super::fields::Fields;
use super::file_source::SandboxFiles;
use crate::model::files::{ContentEncoding, FilePath};
#[cfg(feature = "schema")]
use crate::model::schema::{extends, needs};
use crate::model::{Error, Result};

request! {
    /// The request to write a file of a running sandbox.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "WriteFileOptions", transform = needs(&["path", "content"]), transform = extends("SandboxFiles"))
    )]
    pub struct WriteFileRequest {
        /// The sandbox.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub sandbox: SandboxFiles,
        /// The path of the file. Missing directories are created.
        pub path: FilePath,
        /// The content. A longer one is the body of a request, or a stream.
        #[cfg_attr(feature = "schema", schemars(length(max = MAX_TEXT)))]
        pub content: String = check_written,
        /// How the content is written.
        #[cfg_attr(feature = "schema", schemars(extend("default" = "utf8")))]
        pub encoding: ContentEncoding,
        /// The permission bits, as an octal number; those of the file that is replaced, or 0644, if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(regex(pattern = "^[0-7]{3,4}$")))]
        pub mode: Option<String> = check_mode,
        /// The `etag` that the file must have. If the file has another one, or does not exist, nothing is written.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(regex(pattern = "^[0-9a-f]{64}$")))]
        pub if_match: Option<String> = check_etag,
    }
    rule check_content;
}

impl WriteFileRequest {
    /// Returns a request to write a text.
    pub fn text(sandbox: SandboxFiles, path: FilePath, content: &str) -> Self {
        let (content, encoding) = (content.to_owned(), ContentEncoding::Utf8);
        Self { sandbox, path, content, encoding, mode: None, if_match: None }
    }

    /// Returns a request to write bytes.
    pub fn bytes(sandbox: SandboxFiles, path: FilePath, content: &[u8]) -> Self {
        let (content, encoding) = (Base64::encode_string(content), ContentEncoding::Base64);
        Self { sandbox, path, content, encoding, mode: None, if_match: None }
    }

    /// Returns the bytes of the content; `None` if it is not valid in its encoding.
    pub fn content_bytes(&self) -> Option<Vec<u8>> {
        self.encoding.decode(&self.content)
    }
}

impl Field for ContentEncoding {
    type Raw = Option<String>;

    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw> {
        fields.string(name)
    }
}

impl Content for ContentEncoding {
    fn check(raw: Self::Raw) -> Result<Self> {
        match raw.as_deref() {
            None | Some("utf8") => Ok(Self::Utf8),
            Some("base64") => Ok(Self::Base64),
            Some(_) => Err(Error::invalid_argument("`encoding` must be utf8 or base64", "Pass one of them.")),
        }
    }
}

fn check_written(content: String) -> Result<String> {
    check_text("content", &content)?;
    Ok(content)
}

fn check_content(request: &WriteFileRequest) -> Result<()> {
    request.content_bytes().map(drop).ok_or_else(|| {
        Error::invalid_argument("`content` is not valid Base64", "Pass Base64 with padding, or omit `encoding`.")
    })
}

fn check_mode(mode: Option<String>) -> Result<Option<String>> {
    let is_valid =
        |mode: &String| matches!(mode.len(), 3 | 4) && mode.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    match mode {
        Some(mode) if !is_valid(&mode) => Err(Error::invalid_argument(
            "`mode` must be an octal number of 3 or 4 digits",
            "Pass a mode such as \"0644\".",
        )),
        mode => Ok(mode),
    }
}

fn check_etag(etag: Option<String>) -> Result<Option<String>> {
    let is_valid =
        |etag: &String| etag.len() == 64 && etag.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match etag {
        Some(etag) if !is_valid(&etag) => {
            Err(Error::invalid_argument("`ifMatch` is not an etag", "Pass the `etag` of an answer, unchanged."))
        }
        etag => Ok(etag),
    }
}

request! {
    /// The request to create a directory in a running sandbox.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "MakeDirectoryOptions", transform = needs(&["path"]), transform = extends("SandboxFiles"))
    )]
    pub struct MakeDirectoryRequest {
        /// The sandbox.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub sandbox: SandboxFiles,
        /// The path of the directory. Missing directories above it are created.
        pub path: FilePath,
    }
}

request! {
    /// The request to move a file or a directory of a running sandbox.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "MoveFileOptions", transform = needs(&["path", "to"]), transform = extends("SandboxFiles"))
    )]
    pub struct MoveFileRequest {
        /// The sandbox.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub sandbox: SandboxFiles,
        /// The path of the file or the directory.
        pub path: FilePath,
        /// Its new path. Missing directories are created.
        pub to: FilePath,
        /// Whether to replace an existing file. A directory is never replaced.
        pub overwrite: bool,
    }
}

request! {
    /// The request to remove a file or a directory of a running sandbox.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "RemoveFileOptions", transform = needs(&["path"]), transform = extends("SandboxFiles"))
    )]
    pub struct RemoveFileRequest {
        /// The sandbox.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub sandbox: SandboxFiles,
        /// The path of the file or the directory.
        pub path: FilePath,
        /// Whether to remove a directory with everything in it. Otherwise it must be empty.
        pub recursive: bool,
    }
}
