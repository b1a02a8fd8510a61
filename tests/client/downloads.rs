//! The client opens downloads.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use futures_executor::block_on;
use sandbox_snapshotter::model::files::FilePath;
use sandbox_snapshotter::model::request::{ExportRequest, FileRequest};
use sandbox_snapshotter::model::{Code, SecretsMode, Selection};
use sandbox_snapshotter_client::{
    Client, ErrorCode, HttpResponse, StreamTransport, StreamedResponse, Transport, TransportError,
};
use serde_json::{Value, json};

use super::support::sandbox;

/// A transport with these responses to downloads, one after the other.
struct Streams {
    responses: RefCell<Vec<Result<StreamedResponse<&'static str>, TransportError>>>,
    sent: RefCell<Vec<String>>,
    slept: Cell<u32>,
}

impl Streams {
    fn with(responses: Vec<Result<StreamedResponse<&'static str>, TransportError>>) -> Self {
        Self { responses: RefCell::new(responses), sent: RefCell::default(), slept: Cell::new(0) }
    }
}

impl Transport for &Streams {
    async fn send(&self, _: &str, _: &Value) -> Result<HttpResponse, TransportError> {
        panic!("a download is no operation");
    }

    async fn sleep(&self, _: Duration) {
        self.slept.set(self.slept.get() + 1);
    }

    fn random(&self) -> Result<[u8; 16], TransportError> {
        Ok([0; 16])
    }
}

impl StreamTransport for &Streams {
    type Body = &'static str;

    async fn open(&self, name: &str, query: &str) -> Result<StreamedResponse<&'static str>, TransportError> {
        self.sent.borrow_mut().push(format!("{name}?{query}"));
        self.responses.borrow_mut().remove(0)
    }
}

fn stream() -> StreamedResponse<&'static str> {
    StreamedResponse::Stream {
        snapshot_id: "snap-abcdefghij012345".into(),
        etag: "\"1\"".into(),
        length: Some(7),
        secrets: Some(r#"{"mode":"exclude","count":1,"paths":[".env"],"excluded":1}"#.into()),
        body: "content",
    }
}

fn refused(code: &str, kind: &str, retryable: bool) -> StreamedResponse<&'static str> {
    let body = json!({ "code": code, "kind": kind, "message": "It failed.", "remediation": "Change it.", "retryable": retryable });
    StreamedResponse::Other(HttpResponse { status: 500, body: body.to_string() })
}

fn selection() -> Selection {
    Selection::by_label(sandbox("agent-42"), "a b".to_owned().try_into().unwrap())
}

fn file() -> FileRequest {
    FileRequest { selection: selection(), path: FilePath::parse("src/main.rs").unwrap() }
}

#[test]
fn download_has_its_options_in_the_query() {
    let streams = Streams::with(vec![Ok(stream()), Ok(stream())]);
    let client = Client::new(&streams);
    let download = block_on(client.files().download(&file())).unwrap();
    assert_eq!((download.size_bytes, download.body), (Some(7), "content"));
    let export = block_on(client.files().export(&ExportRequest {
        selection: selection(),
        path: None,
        secrets: Some(SecretsMode::Exclude),
    }))
    .unwrap();
    assert_eq!((export.size_bytes, export.secrets.unwrap().paths), (None, vec![".env".to_owned()]));
    let sent = streams.sent.borrow();
    assert!(sent[0].starts_with("files/download?") && sent[0].contains("path=src%2Fmain.rs"), "{sent:?}");
    assert!(sent[1].starts_with("files/export?") && sent[1].contains("label=a%20b"), "{sent:?}");
    assert!(sent[1].contains("secrets=exclude"), "{sent:?}");
}

#[test]
fn transient_failure_is_retried_and_others_are_not() {
    let streams = Streams::with(vec![
        Err(TransportError::NoAnswer("lost".into())),
        Ok(refused("STORAGE_UNAVAILABLE", "transient", true)),
        Ok(stream()),
    ]);
    block_on(Client::new(&streams).files().download(&file())).unwrap();
    assert_eq!(streams.slept.get(), 2);
    let streams = Streams::with(vec![Ok(refused("FILE_NOT_FOUND", "not_found", false))]);
    let error = block_on(Client::new(&streams).files().download(&file())).unwrap_err();
    assert_eq!(*error.code(), Code::FileNotFound);
}

#[test]
fn answer_of_another_server_is_refused() {
    let page = HttpResponse { status: 200, body: "{}".into() };
    let streams = Streams::with(vec![Ok(StreamedResponse::Other(page))]);
    let error = block_on(Client::new(&streams).files().download(&file())).unwrap_err();
    assert_eq!(*error.code(), ErrorCode::ForeignAnswer);
}
