//! Calls with an idempotency key.

use sandbox_snapshotter::model::Timestamp;
use sandbox_snapshotter::model::record::RequestRecord;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::rows::{answered, asked, minute};
use super::{ODD, sorted};
use crate::suite::Case;

pub fn cases<L: Ledger>() -> Vec<Case<L>> {
    vec![
        case!(calls_are_kept_whole_and_replaced_whole),
        case!(keys_of_calls_are_told_apart_by_every_character),
        case!(unanswered_are_those_without_an_answer),
        case!(answered_calls_are_forgotten_when_they_are_old),
    ]
}

fn calls_are_kept_whole_and_replaced_whole(ledger: &impl Ledger) {
    for answer in [json!("text"), json!(0), json!(false), json!([]), json!({ "a": null })] {
        for call in [asked("key", minute(1)), RequestRecord { answer: Some(answer), ..asked("key", minute(2)) }] {
            ledger.put_request(&call).unwrap();
            assert_eq!(ledger.request("key").unwrap(), Some(call));
        }
    }
    ledger.forget_request("key").unwrap();
    assert_eq!(ledger.request("key").unwrap(), None);
}

fn keys_of_calls_are_told_apart_by_every_character(ledger: &impl Ledger) {
    for key in ODD {
        ledger.put_request(&answered(key, minute(1))).unwrap();
    }
    for key in ODD {
        assert_eq!(ledger.request(key).unwrap(), Some(answered(key, minute(1))), "{key:?}");
        ledger.forget_request(key).unwrap();
        assert_eq!(ledger.request(key).unwrap(), None, "{key:?}");
    }
}

fn unanswered_are_those_without_an_answer(ledger: &impl Ledger) {
    for key in ["a", "b"] {
        ledger.put_request(&asked(key, minute(1))).unwrap();
    }
    let unanswered = || sorted(ledger.unanswered().unwrap().into_iter().map(|call| call.key).collect());
    assert_eq!(unanswered(), ["a", "b"]);
    ledger.put_request(&answered("a", minute(1))).unwrap();
    assert_eq!(ledger.unanswered().unwrap(), [asked("b", minute(1))]);
    ledger.put_request(&asked("a", minute(2))).unwrap();
    ledger.forget_request("b").unwrap();
    assert_eq!(unanswered(), ["a"]);
}

fn answered_calls_are_forgotten_when_they_are_old(ledger: &impl Ledger) {
    for call in [asked("asked", minute(1)), answered("old", minute(10)), answered("new", minute(20))] {
        ledger.put_request(&call).unwrap();
    }
    assert!(ledger.forget_answered(minute(10)).unwrap());
    assert!(ledger.request("old").unwrap().is_some(), "not before then");
    assert!(ledger.forget_answered(minute(10).plus_millis(1)).unwrap(), "one is left");
    assert_eq!(ledger.request("old").unwrap(), None);
    assert!(!ledger.forget_answered(Timestamp::LAST).unwrap());
    assert_eq!(ledger.request("new").unwrap(), None);
    assert_eq!(ledger.request("asked").unwrap(), Some(asked("asked", minute(1))), "it has no answer");
}
