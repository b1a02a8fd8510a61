//! Changes during captures: every snapshot reports them, and with `consistency: "settled"` the capture is repeated.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, Runtime};
use serde_json::{Value, json};

use crate::support::{ExpectError, FILE, Fixture, MINUTE, Method};

const ID: &str = "agent-42";

fn snapshot(fixture: &Fixture, options: &Value) -> sandbox_snapshotter::model::Result<Value> {
    let mut arguments = json!({ "sandboxId": ID });
    arguments.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    fixture.run(Operation::Snapshot, &arguments)
}

/// Returns a sandbox of each runtime, whose container runs for a minute.
fn sandboxes() -> [Fixture; 2] {
    Runtime::ALL.map(|runtime| {
        let fixture = Fixture::of_runtime(runtime);
        fixture.start_sandbox(ID);
        fixture.world.write_file(ID, FILE, "first");
        fixture.world.advance_clock(MINUTE);
        fixture
    })
}

/// Writes a file during the first captures.
fn write_during(fixture: &Fixture, captures: u32) {
    for number in 1..=captures {
        let write = move |world: &crate::support::World| world.write_file(ID, FILE, &format!("after {number}"));
        fixture.world.after(Method::CreateBackup).nth(number).run(write);
    }
}

#[test]
fn snapshot_reports_whether_files_changed_during_capture() {
    for fixture in sandboxes() {
        assert_eq!(snapshot(&fixture, &json!({})).unwrap()["capture"]["changedDuringCapture"], false);
        write_during(&fixture, 2);
        assert_eq!(snapshot(&fixture, &json!({})).unwrap()["capture"]["changedDuringCapture"], true);
    }
}

#[test]
fn late_watch_of_an_earlier_capture_hides_no_change() {
    for fixture in sandboxes() {
        let late_watch = fixture.world.before(Method::WatchChanges).nth(1).hold();
        assert_eq!(snapshot(&fixture, &json!({})).unwrap()["capture"].get("changedDuringCapture"), None);
        fixture.world.after(Method::CreateBackup).nth(2).run(move |world| {
            world.write_file(ID, FILE, "second");
            late_watch.take_effect();
        });
        assert_eq!(snapshot(&fixture, &json!({})).unwrap()["capture"]["changedDuringCapture"], true);
    }
}

#[test]
fn change_outside_of_the_directory_or_before_the_capture_is_not_reported() {
    for fixture in sandboxes() {
        fixture.world.write_file(ID, FILE, "second");
        fixture.world.after(Method::CreateBackup).run(|world| world.write_file(ID, "/home/file", "outside"));
        assert_eq!(snapshot(&fixture, &json!({})).unwrap()["capture"]["changedDuringCapture"], false);
    }
}

#[test]
fn snapshot_succeeds_without_the_report_if_a_check_fails() {
    for method in [Method::WatchChanges, Method::ChangedSinceWatch] {
        for fixture in sandboxes() {
            fixture.world.before(method).fail_with(Failure::new("Error", "no such program"));
            let taken = snapshot(&fixture, &json!({})).unwrap();
            assert_eq!(taken["capture"].get("changedDuringCapture"), None, "{method:?}");
            fixture.restore_value(&taken);
        }
    }
}

#[test]
fn settled_snapshot_is_captured_again_until_no_file_changes() {
    for fixture in sandboxes() {
        write_during(&fixture, 1);
        let taken = snapshot(&fixture, &json!({ "consistency": "settled", "label": "v1" })).unwrap();
        assert_eq!(taken["capture"]["changedDuringCapture"], false);
        assert_eq!((&taken["capture"]["label"], fixture.world.call_count(Method::CreateBackup)), (&json!("v1"), 2));
        assert_eq!(fixture.restore_value(&taken), "after 1");
    }
}

#[test]
fn answer_of_a_key_is_that_of_the_last_capture() {
    for fixture in sandboxes() {
        write_during(&fixture, 1);
        let options = json!({ "consistency": "settled", "label": "v1", "idempotencyKey": "k" });
        let gate = fixture.world.before(Method::CreateBackup).nth(2).block();
        let begin = || {
            let mut arguments = json!({ "sandboxId": ID });
            arguments.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
            fixture.begin(Operation::Snapshot, &arguments)
        };
        let (first, mut repeated) = (begin(), begin());
        assert!(gate.is_reached() && !repeated.is_done());
        gate.open();
        let taken = first.answer().unwrap();
        assert_eq!(taken["capture"]["changedDuringCapture"], false);
        assert_eq!(fixture.restore_value(&taken), "after 1");
        for answer in [repeated.answer().unwrap(), snapshot(&fixture, &options).unwrap()] {
            assert_eq!(answer, taken);
        }
    }
}

/// Makes the second capture of a settled call end without a snapshot: it fails, or the Worker ends.
fn lose_second_capture(fixture: &Fixture, options: &Value, crashes: bool) {
    let gate = crashes.then(|| fixture.world.before(Method::CreateBackup).nth(2).block());
    if !crashes {
        fixture.world.before(Method::CreateBackup).nth(2).fail_with(Failure::new("Error", "no space left"));
    }
    let mut arguments = json!({ "sandboxId": ID });
    arguments.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let first = fixture.begin(Operation::Snapshot, &arguments);
    match gate {
        Some(gate) => {
            assert!(gate.is_reached());
            fixture.crash_during(first);
        }
        None => drop(first.answer().unwrap_err()),
    }
}

#[test]
fn repeated_call_continues_after_the_captures_that_were_made() {
    for crashes in [false, true] {
        for fixture in sandboxes() {
            write_during(&fixture, 1);
            let options = json!({ "consistency": "settled", "label": "v1", "idempotencyKey": "k" });
            lose_second_capture(&fixture, &options, crashes);
            fixture.world.advance_clock(2 * MINUTE);
            let taken = snapshot(&fixture, &options).unwrap();
            let capture = &taken["capture"];
            assert_eq!(
                (&capture["changedDuringCapture"], &capture["label"]),
                (&json!(false), &json!("v1")),
                "{crashes}"
            );
            assert_eq!(snapshot(&fixture, &options).unwrap(), taken, "{crashes}");
        }
    }
}

#[test]
fn repeated_call_captures_at_most_three_times_in_all() {
    for fixture in sandboxes() {
        write_during(&fixture, 5);
        let options = json!({ "consistency": "settled", "idempotencyKey": "k" });
        lose_second_capture(&fixture, &options, false);
        let taken = snapshot(&fixture, &options).unwrap();
        assert_eq!(taken["capture"]["changedDuringCapture"], true);
        // The one that failed is not counted.
        assert_eq!(fixture.world.call_count(Method::CreateBackup), 4);
        assert_eq!(snapshot(&fixture, &options).unwrap(), taken);
    }
}

#[test]
fn repeated_capture_does_not_take_the_label_of_another_caller() {
    for fixture in sandboxes() {
        write_during(&fixture, 1);
        let options = json!({ "consistency": "settled", "label": "v1", "idempotencyKey": "k" });
        lose_second_capture(&fixture, &options, false);
        let other = snapshot(&fixture, &json!({ "label": "v1", "replace": true })).unwrap();
        snapshot(&fixture, &options).expect_code(Code::LabelTaken);
        let found = fixture.run(Operation::Get, &crate::support::by_label("v1")).unwrap();
        assert_eq!(found["snapshotId"], other["ref"]["snapshotId"]);
    }
}

#[test]
fn settled_snapshot_is_captured_at_most_three_times() {
    for fixture in sandboxes() {
        write_during(&fixture, 5);
        let taken = snapshot(&fixture, &json!({ "consistency": "settled" })).unwrap();
        assert_eq!(taken["capture"]["changedDuringCapture"], true);
        assert_eq!(fixture.world.call_count(Method::CreateBackup), 3);
    }
}

#[test]
fn other_consistency_is_refused() {
    let refused = snapshot(&Fixture::with_sandbox(), &json!({ "consistency": "strict" }));
    assert!(refused.expect_code(Code::InvalidArgument).message().contains("`consistency`"));
}

#[test]
fn watch_starts_no_container_of_a_class_that_proves_its_identity() {
    let [_, fixture] = sandboxes();
    snapshot(&fixture, &json!({})).unwrap();
    fixture.world.before(Method::WatchChanges).run(|world| world.end_container(ID));
    snapshot(&fixture, &json!({})).unwrap_err();
    assert!(fixture.world.files(ID).is_none(), "the watch and the capture start no container");
}

trait RestoreValue {
    /// Restores a snapshot, and returns the content of the file.
    fn restore_value(&self, taken: &Value) -> String;
}

impl RestoreValue for Fixture {
    fn restore_value(&self, taken: &Value) -> String {
        let restored = self.run(Operation::Restore, &json!({ "ref": taken })).unwrap();
        self.world.files(restored["ref"]["sandboxId"].as_str().unwrap()).unwrap()[FILE].clone()
    }
}
