//! What is kept of a named workspace.

use std::collections::BTreeMap;

use sandbox_snapshotter::model::named::answer::Problem;
use sandbox_snapshotter::model::named::messages::LastSnapshot;
use sandbox_snapshotter::model::named::record::{Chore, Creation, Origin};
use sandbox_snapshotter::model::named::settings::{
    DependsOn, Expiry, Hook, Hooks, OnFailure, OnImageChange, OnMismatch, Settings,
};
use sandbox_snapshotter::model::named::{Address, NamedRecord, State, Transition};
use sandbox_snapshotter::model::{Code, Directory, Timestamp};
use sandbox_snapshotter::ports::Home;

use super::Case;
use super::ledger::rows::{minute, sandbox, snapshot_id, workspace};

pub fn cases<H: Home>() -> Vec<Case<H>> {
    vec![
        case!(a_new_one_holds_nothing),
        case!(the_record_is_kept_whole_and_replaced_whole),
        case!(every_state_is_kept),
        case!(the_alarm_is_set_moved_and_taken_away),
        case!(a_line_of_the_log_changes_nothing),
    ]
}

fn a_new_one_holds_nothing(home: &impl Home) {
    assert_eq!(home.named().unwrap(), None);
    assert_eq!(home.alarm().unwrap(), None);
    home.set_alarm(None).unwrap();
    assert_eq!(home.alarm().unwrap(), None);
}

fn the_record_is_kept_whole_and_replaced_whole(home: &impl Home) {
    home.set_alarm(Some(minute(1))).unwrap();
    assert_eq!(home.named().unwrap(), None, "an alarm is no workspace");
    for record in [in_full(), plain(), in_full()] {
        home.put_named(&record).unwrap();
        assert_eq!(home.named().unwrap(), Some(record));
        assert_eq!(home.alarm().unwrap(), Some(minute(1)), "a record leaves the alarm as it is");
    }
}

fn every_state_is_kept(home: &impl Home) {
    for state in State::ALL {
        let record = NamedRecord { state, ..plain() };
        home.put_named(&record).unwrap();
        assert_eq!(home.named().unwrap(), Some(record));
    }
}

fn the_alarm_is_set_moved_and_taken_away(home: &impl Home) {
    home.put_named(&plain()).unwrap();
    for at in [Some(minute(60)), Some(minute(30)), None, None, Some(Timestamp::LAST), Some(minute(90))] {
        home.set_alarm(at).unwrap();
        assert_eq!(home.alarm().unwrap(), at);
        assert_eq!(home.named().unwrap(), Some(plain()));
    }
}

fn a_line_of_the_log_changes_nothing(home: &impl Home) {
    home.log(&address(), &transition());
    assert_eq!(home.named().unwrap(), None);
    home.put_named(&in_full()).unwrap();
    home.log(&address(), &Transition { from: None, ..transition() });
    assert_eq!(home.named().unwrap(), Some(in_full()));
}

pub fn address() -> Address {
    Address::parse("Tenant-1/it_s.a-name").unwrap()
}

pub fn transition() -> Transition {
    Transition {
        from: Some(State::Active),
        to: State::Stopping,
        at: minute(3),
        cause: "It's \"idle\";\n-- 文件 🗂 %_\\".into(),
    }
}

/// A record of which little is known.
pub fn plain() -> NamedRecord {
    NamedRecord {
        address: address(),
        version: 1,
        listed: 0,
        state: State::Provisioning,
        history: Vec::new(),
        settings: Settings::of(Directory::parse("/workspace").unwrap()),
        created_at: minute(0),
        sandbox_id: sandbox("it_s-a-name-k3f9x2abcd"),
        root_id: None,
        claimed: false,
        former: Vec::new(),
        source: None,
        started_at: None,
        active_at: minute(0),
        last_snapshot: None,
        problem: None,
        creation: None,
        forks: Vec::new(),
        chores: Vec::new(),
        again_at: None,
    }
}

/// A record with everything that any can have.
pub fn in_full() -> NamedRecord {
    let hook = |command: &str, on_failure| Some(Hook { command: command.into(), timeout_seconds: 600, on_failure });
    NamedRecord {
        version: u64::MAX,
        listed: 7,
        state: State::Active,
        history: vec![transition(), Transition { from: None, ..transition() }],
        settings: Settings {
            dir: Directory::parse("/workspace/it's a directory/ä").unwrap(),
            persistent: false,
            retention: workspace().policy,
            hooks: Hooks {
                before_stop: hook("echo 'it'\n\"$x\" 🗂", OnFailure::Warn),
                after_start: hook("npm ci", OnFailure::Fail),
                on_timeout: hook("true", OnFailure::Warn),
            },
            expiry: Expiry { idle_seconds: 0, max_seconds: u64::MAX },
            depends_on: DependsOn {
                files: vec!["package-lock.json".into(), "/etc/it's".into()],
                fingerprint: Some("commit \"5feceb\"".into()),
                on_mismatch: OnMismatch::Report,
                on_image_change: OnImageChange::Fail,
            },
            env: BTreeMap::from([("TOKEN".into(), "it's \"secret\"\n🗂".into()), ("EMPTY".into(), String::new())]),
        },
        claimed: true,
        former: vec![sandbox("b-2"), sandbox("a-1")],
        root_id: Some(sandbox("a-1")),
        source: Some(Origin { origin_id: sandbox("a-1"), snapshot_id: snapshot_id(3) }),
        started_at: Some(minute(2)),
        active_at: minute(-5),
        last_snapshot: Some(LastSnapshot {
            id: snapshot_id(4),
            origin_id: sandbox("b-2"),
            dir: Directory::parse("/workspace").unwrap(),
            size_bytes: u64::MAX,
            created_at: minute(4),
        }),
        problem: Some(Problem {
            code: Code::Internal,
            message: "It's \"broken\".".into(),
            remediation: "Mend it.".into(),
            at: minute(5),
        }),
        creation: Some(Creation { key: "it's a key".into(), payload: "5feceb66ffc86f38".into() }),
        chores: vec![Chore::Retire(sandbox("a-1")), Chore::Quiet(sandbox("b-2"))],
        again_at: Some(Timestamp::LAST),
        ..plain()
    }
}
