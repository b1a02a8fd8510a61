//! The same call, made again with the same idempotency key, gets the same answer.
//!
//! The key is kept before the work begins, and the answer in the same moment as what it is about. A call that failed leaves
//! nothing: it can be made again. One that comes while the first is under way waits for it.

use base64ct::{Base64UrlUnpadded, Encoding};
use futures_util::FutureExt;
use futures_util::future::select;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::planted::{Bug, planted};
use super::{Abort, CloudflareSandboxSnapshotter};
use crate::model::record::RequestRecord;
use crate::model::{Code, Error, Result, Timestamp, json};
use crate::ports::{Clock, Ledger, Ports};

/// How long the answer to a key is kept, in milliseconds: two days.
pub(super) const KEPT_MILLIS: i64 = 48 * 3600 * 1000;

/// When a call that is no longer under way is followed up, in milliseconds.
const FOLLOWED_UP_MILLIS: i64 = 60_000;

/// When the calls without an answer are followed up.
pub(super) fn due<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<Timestamp>> {
    let unanswered = this.ports.ledger()?.unanswered()?;
    Ok(unanswered.iter().map(|request| request.at.plus_millis(FOLLOWED_UP_MILLIS)).min())
}

/// Does `work` once for all calls with the key; always, where there is none.
///
/// # Errors
/// [`Code::IdempotencyConflict`] when the key was used for anything else, [`Code::Aborted`] while waiting, and those of the
/// work.
pub(super) async fn once<P: Ports, T: Serialize + DeserializeOwned>(
    this: &CloudflareSandboxSnapshotter<P>,
    key: Option<&str>,
    operation: &str,
    request: &impl Serialize,
    abort: &Abort,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let Some(key) = key else { return work.await };
    let ledger = this.ports.ledger()?;
    let payload = fingerprint(operation, request)?;
    let _taken = loop {
        match ledger.request(key)? {
            Some(known) if known.payload != payload && !planted(Bug::PayloadNotCompared) => return Err(conflict(key)),
            Some(RequestRecord { answer: Some(answer), .. }) => {
                return json::read(&answer).map_err(unreadable);
            }
            _ => {}
        }
        match this.memory.take_key(key) {
            Ok(taken) => break taken,
            Err(is_done) => drop(select(is_done, abort.clone().fired().boxed_local()).await),
        }
        abort.check()?;
    };
    let asked = RequestRecord { key: key.to_owned(), payload, at: this.ports.clock().now(), answer: None };
    ledger.put_request(&asked)?;
    // The call may never be made again.
    this.wake_by(asked.at.plus_millis(FOLLOWED_UP_MILLIS))?;
    match work.await {
        Ok(answer) => {
            // The work is done, and its answer is the caller's, whether it can be kept or not.
            drop(answered(this, asked, &answer));
            let kept = ledger.request(key).ok().flatten().and_then(|known| known.answer);
            Ok(kept.and_then(|kept| json::read(&kept).ok()).unwrap_or(answer))
        }
        Err(error) => {
            drop(ledger.forget_request(key));
            Err(error)
        }
    }
}

/// Keeps the answer to a call, unless it is kept already.
pub(super) fn answered<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    asked: RequestRecord,
    answer: &impl Serialize,
) -> Result<()> {
    let ledger = this.ports.ledger()?;
    if ledger.request(&asked.key)?.is_some_and(|known| known.answer.is_some()) {
        return Ok(());
    }
    if planted(Bug::AnswerNotKept) {
        return ledger.forget_request(&asked.key);
    }
    let answer = json::write(answer).map_err(unreadable)?;
    let at = this.ports.clock().now();
    ledger.put_request(&RequestRecord { answer: Some(answer), at, ..asked })?;
    this.wake_by(at.plus_millis(KEPT_MILLIS))
}

fn fingerprint(operation: &str, request: &impl Serialize) -> Result<String> {
    let request = json::write(request).map_err(unreadable)?;
    Ok(Base64UrlUnpadded::encode_string(&Sha256::digest(format!("{operation} {request}"))))
}

/// The error of a call with a key that was used for another one.
pub(super) fn conflict(key: &str) -> Error {
    Error::new(
        Code::IdempotencyConflict,
        format!("The idempotency key {key:?} was used for another call on this workspace."),
        "Give each intention a key of its own; repeat a call with exactly the arguments that it had.",
    )
}

#[allow(clippy::needless_pass_by_value)] // The shape of `map_err`.
fn unreadable(error: String) -> Error {
    Error::new(Code::Internal, format!("An answer can't be kept or read: {error}."), "Report it.")
}
