//! Idempotency keys: a call that is repeated with the same key gets the same answer.
//!
//! The key is stored before the work begins, and the answer together with its result. A failed call leaves no record
//! and can be repeated. A call that arrives while the first one runs waits for it.

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
                Some(IdempotencyRecord { answer: Some(answer), .. }) if !self.in_process.is_key_leased(key) => {
                    return json::from_value(&answer).map_err(Error::stored_answer_unreadable);
                }
                _ => {}
            }
            match self.in_process.try_acquire_key(key) {
                Ok(lease) => break lease,
                Err(done) => drop(select(done, abort.clone().cancelled().boxed_local()).await),
            }
            abort.check()?;
        };
        let record = IdempotencyRecord { key: key.to_owned(), payload_hash: payload, at: self.now(), answer: None };
        self.ledger.put_idempotency_record(&record)?;
        // The alarm reconciles the record, because the caller may never repeat the call.
        self.schedule_alarm(record.at.plus_millis(RETRY_DELAY_MILLIS))?;
        match work.await {
            Ok(answer) => {
                // The work is done, so the caller gets its answer even if the answer can't be stored.
                drop(self.replace_answer(record, &answer));
                let stored = self.ledger.idempotency_record(key).ok().flatten().and_then(|known| known.answer);
                Ok(stored.and_then(|stored| json::from_value(&stored).ok()).unwrap_or(answer))
            }
            Err(error) => {
                drop(self.ledger.delete_idempotency_record(key));
                Err(error)
            }
        }
    }

    /// Stores the answer of a call, unless one is stored already.
    pub(in crate::service) fn save_answer(&self, record: IdempotencyRecord, answer: &impl Serialize) -> Result<()> {
        if self.ledger.idempotency_record(&record.key)?.is_some_and(|known| known.answer.is_some()) {
            return Ok(());
        }
        self.put_answer(record, json::to_value(answer).map_err(Error::stored_answer_unreadable)?)
    }

    /// Stores the answer of a call in place of that of an earlier capture of the same call.
    fn replace_answer(&self, record: IdempotencyRecord, answer: &impl Serialize) -> Result<()> {
        let answer = json::to_value(answer).map_err(Error::stored_answer_unreadable)?;
        let stored = self.ledger.idempotency_record(&record.key)?.and_then(|known| known.answer);
        if stored.as_ref() == Some(&answer) { Ok(()) } else { self.put_answer(record, answer) }
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
