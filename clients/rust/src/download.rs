//! Downloads: files and directories of snapshots as streams.

use serde_json::Value;

use crate::model::operation::Repeatability;
use crate::model::request::{ExportRequest, FileRequest};
use crate::model::{SecretsReport, SnapshotId};
use crate::operations::Files;
use crate::transport::{StreamTransport, StreamedResponse};
use crate::{Client, Error, Options, Result, read_response};

/// A download from a snapshot.
#[derive(Debug)]
pub struct Download<B> {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// The version of the download, as an `ETag`.
    pub etag: String,
    /// The size of the file in bytes; `None` for a directory.
    pub size_bytes: Option<u64>,
    /// The files with secrets that the tar of a directory leaves out; `None` if it has all files.
    pub secrets: Option<SecretsReport>,
    /// The bytes, as the transport has them. An error means that they are incomplete.
    pub body: B,
}

impl<T: StreamTransport> Files<'_, T> {
    /// Downloads a file of a snapshot as a stream.
    pub async fn download(&self, request: &FileRequest) -> Result<Download<T::Body>> {
        self.0.open("files/download", request).await
    }

    /// Downloads a directory of a snapshot, or all of it, as a stream of a tar.
    pub async fn export(&self, request: &ExportRequest) -> Result<Download<T::Body>> {
        self.0.open("files/export", request).await
    }
}

impl<T: StreamTransport> Client<T> {
    /// Opens a download by its name. Retries transient failures until the first bytes arrive.
    async fn open(&self, name: &str, options: &impl Options) -> Result<Download<T::Body>> {
        let query = to_query(&options.to_json());
        let mut attempts = 1;
        loop {
            let error = match self.transport.open(name, &query).await {
                Ok(StreamedResponse::Stream { snapshot_id, etag, length, secrets, body }) => {
                    let snapshot_id = SnapshotId::parse(&snapshot_id)
                        .map_err(|_| Error::foreign_answer("the download names no snapshot"))?;
                    let size_bytes = length.filter(|_| name == "files/download");
                    let secrets = secrets.and_then(|report| serde_json::from_str(&report).ok());
                    return Ok(Download { snapshot_id, etag, size_bytes, secrets, body });
                }
                Ok(StreamedResponse::Other(response)) => match read_response(&response, Repeatability::Idempotent) {
                    Ok(_) => Error::foreign_answer("the answer is no download"),
                    Err(error) => error,
                },
                Err(error) => Error::from_transport(error, true),
            };
            if attempts >= self.retry.attempts || !Repeatability::Idempotent.allows_retry(&error) {
                return Err(error);
            }
            let random = self.transport.random().map_err(|error| Error::from_transport(error, true))?;
            self.transport.sleep(self.retry.delay(attempts, random)).await;
            attempts += 1;
        }
    }
}

/// Returns options as the query of a URL. Options that are not text are JSON.
fn to_query(options: &Value) -> String {
    let options = options.as_object().into_iter().flatten();
    let given = options.filter(|(_, value)| !value.is_null());
    let parameter = |(name, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{name}={}", percent_encode(&text))
    };
    given.map(parameter).collect::<Vec<_>>().join("&")
}

fn percent_encode(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_a_query() {
        let options = json!({ "sandboxId": "a b", "label": null, "allowCrossLineage": false, "ref": { "x": "ü" } });
        let query = to_query(&options);
        let mut parameters: Vec<_> = query.split('&').collect();
        parameters.sort_unstable();
        assert_eq!(parameters, ["allowCrossLineage=false", "ref=%7B%22x%22%3A%22%C3%BC%22%7D", "sandboxId=a%20b"]);
    }
}
