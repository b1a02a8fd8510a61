//! A destroy that is not answered may take effect late. Until it cannot any more, no revival returns its sandbox.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Runtime};
use serde_json::json;

use crate::support::{ExpectError, FILE, Fixture, HOUR, MINUTE, Method};

const SANDBOX: &str = "agent-42";

const RUNTIMES: [Runtime; 2] = [Runtime::Sdk012, Runtime::Container];

impl Fixture {
    /// Verifies that the sandbox is neither revived nor used, and that its caller learns what to do instead.
    #[track_caller]
    fn assert_not_revived(&self) {
        let command = json!({ "sandboxId": SANDBOX, "command": "true", "revive": true });
        for error in [self.revive(json!({})), self.run(Operation::Exec, &command)] {
            let error = error.expect_code(Code::SandboxUnresponsive);
            assert!(error.is_retryable() && error.remediation().contains("new sandbox"), "{error}");
        }
        assert!(self.world.hook_calls().is_empty());
    }

    /// Verifies that the sandbox has its files again when no destroy is late any more.
    #[track_caller]
    fn assert_revived_later(&self, how: &str) {
        self.advance_with_alarms(2 * HOUR);
        assert_eq!(self.revive(json!({})).unwrap()["how"], how);
        assert_eq!(self.world.files(SANDBOX).unwrap()[FILE], "first");
    }
}

#[test]
fn answer_to_another_destroy_confirms_nothing() {
    for runtime in RUNTIMES {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        fixture.world.replace_container(SANDBOX);
        fixture.world.before(Method::Destroy).nth(1).hang();
        fixture.assert_not_revived();
        fixture.advance_with_alarms(5 * MINUTE);
        assert_eq!(fixture.world.call_count(Method::Destroy), 2, "the alarm has ended the container");
        fixture.assert_not_revived();
        fixture.assert_revived_later("restored");
    }
}

#[test]
fn destroy_is_not_confirmed_if_the_connection_of_each_attempt_is_lost() {
    for runtime in RUNTIMES {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        fixture.world.replace_container(SANDBOX);
        fixture.world.before(Method::Destroy).fail_transiently();
        fixture.assert_not_revived();
        fixture.world.clear_faults();
        fixture.assert_not_revived();
        fixture.assert_revived_later("restored");
    }
}

#[test]
fn answer_to_a_repeated_attempt_confirms_the_destroy() {
    for runtime in RUNTIMES {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        fixture.world.replace_container(SANDBOX);
        fixture.world.before(Method::Destroy).nth(1).fail_transiently();
        assert_eq!(fixture.revive(json!({})).unwrap()["how"], "restored");
    }
}

#[test]
fn nothing_is_restored_after_an_unanswered_destroy() {
    for runtime in RUNTIMES {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        fixture.world.before(Method::RestoreBackup).nth(1).fail_transiently();
        fixture.world.before(Method::Destroy).nth(1).hang();
        fixture.assert_not_revived();
        assert_eq!(fixture.world.call_count(Method::RestoreBackup), 1, "{runtime:?}");
        fixture.assert_revived_later("restored");
    }
}

#[test]
fn destroy_that_a_crash_left_is_not_confirmed() {
    for runtime in RUNTIMES {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        fixture.world.replace_container(SANDBOX);
        let gate = fixture.world.before(Method::Destroy).nth(1).block();
        let revive = fixture.begin_revive(json!({}));
        assert!(gate.is_reached());
        fixture.crash_during(revive);
        fixture.assert_not_revived();
        fixture.assert_revived_later("restored");
    }
}

#[test]
fn container_with_the_files_is_not_used_before_the_destroy_is_over() {
    for runtime in RUNTIMES {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        fixture.world.after(Method::CompleteRestore).fail_transiently();
        fixture.world.before(Method::Destroy).nth(1).hang();
        fixture.assert_not_revived();
        fixture.world.clear_faults();
        for _ in 0..3 {
            fixture.advance_with_alarms(5 * MINUTE);
            fixture.assert_not_revived();
            for (operation, options) in [
                (Operation::Snapshot, json!({ "sandboxId": SANDBOX })),
                (Operation::Exec, json!({ "sandboxId": SANDBOX, "command": "true" })),
            ] {
                fixture.run(operation, &options).expect_code(Code::SandboxStarting);
            }
        }
        fixture.assert_revived_later("running");
    }
}
