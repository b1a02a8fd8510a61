//! Idempotency keys: a call that is repeated with the same key gets the same answer.
//!
//! The key is stored before the work begins, and the answer together with its result. A failed call leaves no record
//! and can be repeated. A call that arrives while the first one runs waits for it. Where a call captures until no file
//! changes, the answer of a capture is stored as well, and a repeated call continues after that capture.

use base64ct::{Base64UrlUnpadded, Encoding};
use futures_util::FutureExt;
use futures_util::future::select;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::model::record::IdempotencyRecord;
use crate::model::request::LineageScope;
use crate::model::{Error, Result, json};
use crate::ports::{Ledger, Ports};
use crate::service::tasks::backoff::RETRY_DELAY_MILLIS;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// How long the ledger keeps the answer of a key, in milliseconds: two days.
pub(in crate::service) const ANSWER_RETENTION_MILLIS: i64 = 48 * 3600 * 1000;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Deletes the record of a call that ended without an answer, so that the call can be repeated.
    pub(in crate::service) fn delete_unanswered_call(&self, key: &str) -> Result<()> {
        let is_answered = self.ledger.idempotency_record(key)?.is_some_and(|record| record.answer.is_some());
        if is_answered || self.in_process.is_key_leased(key) {
            Ok(())
        } else {
            self.ledger.delete_idempotency_record(key)
        }
    }

    /// Runs `work` once for all calls with the key. Without a key, runs it always.
    ///
    /// # Errors
    /// [`Code::IdempotencyConflict`] if the key was used for another call; [`Code::Aborted`] if the caller cancels
    /// while it waits; and those of `work`.
    pub(in crate::service) async fn run_once<T: Serialize + DeserializeOwned>(
        &self,
        key: Option<&str>,
        operation: &str,
        request: &impl Serialize,
        abort: &CancellationToken,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let Some(key) = key else { return work.await };
        let payload = fingerprint(operation, request)?;
        let _lease = loop {
            match self.ledger.idempotency_record(key)? {
                Some(known)
                    if known.payload_hash != payload
                        && known.payload_hash != former_fingerprint(operation, request)? =>
                {
                    return Err(Error::idempotency_conflict(key));
                }
                Some(known) if !self.in_process.is_key_leased(key) => {
                    if let Some(answer) = known.final_answer() {
                        return json::from_value(answer).map_err(Error::stored_answer_unreadable);
                    }
                }
                _ => {}
            }
            match self.in_process.try_acquire_key(key) {
                Ok(lease) => break lease,
                Err(done) => drop(select(done, abort.clone().cancelled().boxed_local()).await),
            }
            abort.check()?;
        };
        let is_interim = |known: &IdempotencyRecord| known.interim_answer().is_some();
        let record = match self.ledger.idempotency_record(key)?.filter(is_interim) {
            Some(interim) => interim,
            None => self.record_call(key, payload)?,
        };
        match work.await {
            Ok(answer) => {
                // The work is done, so the caller gets its answer even if the answer can't be stored.
                drop(self.replace_answer(record, &answer));
                let stored = self.ledger.idempotency_record(key).ok().flatten();
                let stored = stored.as_ref().and_then(IdempotencyRecord::final_answer);
                Ok(stored.and_then(|stored| json::from_value(stored).ok()).unwrap_or(answer))
            }
            Err(error) => {
                if !self.ledger.idempotency_record(key).ok().flatten().as_ref().is_some_and(is_interim) {
                    drop(self.ledger.delete_idempotency_record(key));
                }
                Err(error)
            }
        }
    }

    fn record_call(&self, key: &str, payload_hash: String) -> Result<IdempotencyRecord> {
        let record =
            IdempotencyRecord { key: key.to_owned(), payload_hash, at: self.now(), answer: None, captures_left: None };
        self.ledger.put_idempotency_record(&record)?;
        // The alarm reconciles the record, because the caller may never repeat the call.
        self.schedule_alarm(record.at.plus_millis(RETRY_DELAY_MILLIS))?;
        Ok(record)
    }

    /// Records that the call with the key captures until no file changes, at most `max_captures` times. Returns how many
    /// captures are left, and the answer of the last one, if an earlier attempt of the call has made some.
    pub(in crate::service) fn resume_captures<T: DeserializeOwned>(
        &self,
        key: Option<&str>,
        max_captures: u32,
    ) -> Result<(u32, Option<T>)> {
        let record = key.map(|key| self.ledger.idempotency_record(key)).transpose()?.flatten();
        let Some(record) = record else { return Ok((max_captures, None)) };
        if let Some((answer, captures_left)) = record.interim_answer() {
            return Ok((captures_left, Some(json::from_value(answer).map_err(Error::stored_answer_unreadable)?)));
        }
        let captures_left = Some(max_captures);
        self.ledger.put_idempotency_record(&IdempotencyRecord { captures_left, ..record })?;
        Ok((max_captures, None))
    }

    /// Stores the answer of a call, unless its final one is stored already. `has_changes` says whether files changed during
    /// the capture that it describes.
    pub(in crate::service) fn save_answer(
        &self,
        record: IdempotencyRecord,
        answer: &impl Serialize,
        has_changes: bool,
    ) -> Result<()> {
        if record.final_answer().is_some() {
            return Ok(());
        }
        let captures_left = record.captures_left.filter(|left| has_changes && *left > 1).map(|left| left - 1);
        let answer = json::to_value(answer).map_err(Error::stored_answer_unreadable)?;
        self.put_answer(IdempotencyRecord { captures_left, ..record }, answer)
    }

    /// Stores the final answer of a call in place of that of an earlier capture of the same call.
    fn replace_answer(&self, record: IdempotencyRecord, answer: &impl Serialize) -> Result<()> {
        let answer = json::to_value(answer).map_err(Error::stored_answer_unreadable)?;
        let stored = self.ledger.idempotency_record(&record.key)?;
        if stored.as_ref().and_then(IdempotencyRecord::final_answer) == Some(&answer) {
            return Ok(());
        }
        self.put_answer(IdempotencyRecord { captures_left: None, ..record }, answer)
    }

    fn put_answer(&self, record: IdempotencyRecord, answer: Value) -> Result<()> {
        let at = self.now();
        self.ledger.put_idempotency_record(&IdempotencyRecord { answer: Some(answer), at, ..record })?;
        self.schedule_alarm(at.plus_millis(ANSWER_RETENTION_MILLIS))
    }
}

fn fingerprint(operation: &str, request: &impl Serialize) -> Result<String> {
    json::to_value(request).map(|request| digest(operation, &request)).map_err(Error::stored_answer_unreadable)
}

/// The fingerprint of the releases in which the options of a lineage scope had other names.
fn former_fingerprint(operation: &str, request: &impl Serialize) -> Result<String> {
    let mut request = json::to_value(request).map_err(Error::stored_answer_unreadable)?;
    if let Some(options) = request.as_object_mut() {
        for (name, former) in LineageScope::FORMER_NAMES {
            if let Some(value) = options.remove(name) {
                options.insert(former.to_owned(), value);
            }
        }
    }
    Ok(digest(operation, &request))
}

fn digest(operation: &str, request: &Value) -> String {
    Base64UrlUnpadded::encode_string(&Sha256::digest(format!("{operation} {request}")))
}
