//! Calls with an idempotency key.

use sandbox_snapshotter::model::Timestamp;
use sandbox_snapshotter::model::record::IdempotencyRecord;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::rows::{answered_call, minute_after_start, unanswered_call};
use super::{CONFUSABLE_TEXTS, sorted};
use crate::suite::Case;

pub fn cases<L: Ledger>() -> Vec<Case<L>> {
    vec![
        case!(calls_are_stored_and_replaced_completely),
        case!(keys_are_compared_exactly),
        case!(unanswered_calls_are_those_without_an_answer),
        case!(answered_calls_are_deleted_when_older_than_the_limit),
    ]
}

fn calls_are_stored_and_replaced_completely(ledger: &impl Ledger) {
    for answer in [json!("text"), json!(0), json!(false), json!([]), json!({ "a": null })] {
        for call in [
            unanswered_call("key", minute_after_start(1)),
            IdempotencyRecord { captures_left: Some(2), ..unanswered_call("key", minute_after_start(1)) },
            IdempotencyRecord {
                answer: Some(answer.clone()),
                captures_left: Some(1),
                ..unanswered_call("key", minute_after_start(2))
            },
            IdempotencyRecord { answer: Some(answer), ..unanswered_call("key", minute_after_start(2)) },
        ] {
            ledger.put_idempotency_record(&call).unwrap();
            assert_eq!(ledger.idempotency_record("key").unwrap(), Some(call));
        }
    }
    ledger.delete_idempotency_record("key").unwrap();
    assert_eq!(ledger.idempotency_record("key").unwrap(), None);
}

fn keys_are_compared_exactly(ledger: &impl Ledger) {
    for key in CONFUSABLE_TEXTS {
        ledger.put_idempotency_record(&answered_call(key, minute_after_start(1))).unwrap();
    }
    for key in CONFUSABLE_TEXTS {
        assert_eq!(ledger.idempotency_record(key).unwrap(), Some(answered_call(key, minute_after_start(1))), "{key:?}");
        ledger.delete_idempotency_record(key).unwrap();
        assert_eq!(ledger.idempotency_record(key).unwrap(), None, "{key:?}");
    }
}

fn unanswered_calls_are_those_without_an_answer(ledger: &impl Ledger) {
    for key in ["a", "b"] {
        ledger.put_idempotency_record(&unanswered_call(key, minute_after_start(1))).unwrap();
    }
    let unanswered = || sorted(ledger.unanswered_calls().unwrap().into_iter().map(|call| call.key).collect());
    assert_eq!(unanswered(), ["a", "b"]);
    ledger.put_idempotency_record(&answered_call("a", minute_after_start(1))).unwrap();
    assert_eq!(ledger.unanswered_calls().unwrap(), [unanswered_call("b", minute_after_start(1))]);
    ledger.put_idempotency_record(&unanswered_call("a", minute_after_start(2))).unwrap();
    ledger.delete_idempotency_record("b").unwrap();
    assert_eq!(unanswered(), ["a"]);
}

fn answered_calls_are_deleted_when_older_than_the_limit(ledger: &impl Ledger) {
    for call in [
        unanswered_call("unanswered", minute_after_start(1)),
        answered_call("old", minute_after_start(10)),
        answered_call("new", minute_after_start(20)),
    ] {
        ledger.put_idempotency_record(&call).unwrap();
    }
    assert!(ledger.delete_answered_calls(minute_after_start(10)).unwrap());
    assert!(ledger.idempotency_record("old").unwrap().is_some(), "it is as old as the limit, not older");
    assert!(
        ledger.delete_answered_calls(minute_after_start(10).plus_millis(1)).unwrap(),
        "another answered call remains"
    );
    assert_eq!(ledger.idempotency_record("old").unwrap(), None);
    assert!(!ledger.delete_answered_calls(Timestamp::MAX).unwrap());
    assert_eq!(ledger.idempotency_record("new").unwrap(), None);
    assert_eq!(
        ledger.idempotency_record("unanswered").unwrap(),
        Some(unanswered_call("unanswered", minute_after_start(1))),
        "it has no answer"
    );
}
