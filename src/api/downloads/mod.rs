//! Downloads from snapshots as streams: `files/download`, the content of a file, and `files/export`, a tar of a directory.
//!
//! The entrypoint reads the archive, after the Workspace object of the sandbox has selected the snapshot: a stream does
//! not pass through the object.
//!
//! - [`conditions`]: `If-None-Match`, `If-Range` and `Range`
//! - [`query`]: the options in the query of a URL
//! - [`secrets`]: the header about files that are left out
//! - [`file_name`]: the name under which a browser saves the download
//! - `http`, `rpc`: the responses

pub mod conditions;
pub mod file_name;
pub(super) mod http;
pub mod query;
pub(super) mod rpc;
pub mod secrets;

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use serde_json::Value;
use wasm_bindgen::JsValue;
use worker::Env;

use super::access_log::{correlation_id, log_download};
use super::operations::{Operation, Request, Target, requests};
use crate::cloudflare::Deployment;
use crate::cloudflare::downloads::OpenedDownload;
use crate::cloudflare::runtime::WorkerClock;
use crate::model::archive::{Answer, DownloadRequest, Form, Name, Outcome};
use crate::model::files::{FileAttributes, FilePath};
use crate::model::request::{ExportRequest, FileRequest, StatFileRequest};
use crate::model::{Error, Result, SecretsMode, SecretsReport, Selection, SnapshotId};
use crate::ports::{Clock, Ports, SandboxLedgerClient};
use crate::service::access::Access;
use crate::service::calls::call_context::CallContext;
use crate::service::calls::failures::from_storage;
use crate::service::files::{error_of, missing_archive, to_attributes};
use crate::service::lineage::selection::resolve_workspaces;

/// The names of the downloads, as the routes and the RPC methods have them.
pub const NAMES: [&str; 2] = ["files/download", "files/export"];

/// Returns what a download contains.
pub(super) fn form_of(name: &str) -> Option<Form> {
    match name {
        "files/download" => Some(Form::Content),
        "files/export" => Some(Form::Tar),
        _ => None,
    }
}

/// A download that can be read.
pub(super) struct Download {
    pub snapshot_id: SnapshotId,
    pub path: FilePath,
    /// The attributes of the file or the directory.
    pub attributes: FileAttributes,
    /// The version of the download.
    pub etag: String,
    /// The files with secrets that a tar leaves out; `None` if it has all files.
    pub secrets: Option<SecretsReport>,
    pub opened: OpenedDownload,
}

/// A download or its error, with the correlation id of the call.
pub(super) struct Opened {
    pub correlation_id: String,
    pub outcome: Result<Download>,
}

/// Opens a download, and writes one log line.
pub(super) async fn open(form: Form, access: &Access, options: Result<Value>, env: &Env, ctx: JsValue) -> Opened {
    console_error_panic_hook::set_once();
    let context = CallContext::new(correlation_id());
    let started = WorkerClock.now();
    let mut target = None;
    let work = context.scope(try_open(form, access, options, env, ctx, &mut target));
    let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(Error::internal()));
    let name = if form == Form::Content { NAMES[0] } else { NAMES[1] };
    let logged = outcome.as_ref().map(|download| &download.snapshot_id);
    log_download(name, access.token_id(), target.as_ref(), &context, WorkerClock.now().millis_since(started), logged);
    Opened { correlation_id: context.correlation_id.clone(), outcome }
}

async fn try_open(
    form: Form,
    access: &Access,
    options: Result<Value>,
    env: &Env,
    ctx: JsValue,
    target: &mut Option<Target>,
) -> Result<Download> {
    let deployment = Deployment::open(env, ctx)?;
    let ports = deployment.ports();
    ports.check_bindings(true)?;
    // A download selects a snapshot as `get` does.
    let options = resolve_workspaces(&**ports, access, Operation::Get, options?).await?;
    let (selection, path, secrets) = decode(form, &options)?;
    *target = Some(Target::Sandbox(selection.selector.origin_id().clone()));
    let reads = StatFileRequest { source: selection.clone().into(), path: path.clone() };
    access.authorize(&**ports, &Request::Sandbox(requests::Sandbox::StatFile(reads))).await?;
    let snapshot = ports.sandbox_ledgers()?.locate_snapshot(&selection).await?;
    let id = snapshot.location.id();
    let omits_secrets = secrets != SecretsMode::Keep;
    let request = DownloadRequest { path: path.as_str().to_owned(), form, omits_secrets };
    let opened = ports.backups()?.open_download(&snapshot.location, &request).await;
    let opened = opened.map_err(|failure| from_storage(failure, &format!("reading the archive of the backup {id}")))?;
    let (outcome, opened) = opened.map_err(missing_archive)?;
    let (attributes, secrets) = match outcome {
        Outcome::Answer(Answer::Entry(attributes)) => (to_attributes(&attributes), None),
        Outcome::Answer(Answer::Export { attributes, count, paths }) => {
            let paths = SecretsReport::first_paths(paths.iter().map(Name::as_bytes));
            if secrets == SecretsMode::Refuse && count > 0 {
                opened.close();
                return Err(Error::secrets_in_export(&snapshot.snapshot_id, count, &paths));
            }
            (to_attributes(&attributes), Some(SecretsReport { mode: secrets, count, paths, excluded: count }))
        }
        other => return Err(error_of(other, &snapshot.snapshot_id, id, &path)),
    };
    // The tar of a directory can change with a release, and the content of a file can't.
    let version = match (form, &secrets) {
        (Form::Content, _) => "",
        (Form::Tar, Some(_)) => concat!("tar-", env!("CARGO_PKG_VERSION"), "-"),
        (Form::Tar, None) => concat!("tar-", env!("CARGO_PKG_VERSION"), "-secrets-"),
    };
    let etag = format!("\"{version}{}-{}\"", snapshot.snapshot_id, opened.etag());
    Ok(Download { snapshot_id: snapshot.snapshot_id, path, attributes, etag, secrets, opened })
}

fn decode(form: Form, options: &Value) -> Result<(Selection, FilePath, SecretsMode)> {
    match form {
        Form::Content => {
            FileRequest::decode(options).map(|request| (request.selection, request.path, SecretsMode::Keep))
        }
        Form::Tar => ExportRequest::decode(options).map(|request| {
            let path = request.path.unwrap_or_else(FilePath::root);
            (request.selection, path, request.secrets.unwrap_or(SecretsMode::Exclude))
        }),
    }
}
