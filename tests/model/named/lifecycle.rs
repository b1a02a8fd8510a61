//! The states of a named workspace.

use std::collections::BTreeSet;

use sandbox_snapshotter::model::named::State;
use sandbox_snapshotter::model::named::lifecycle::TRANSITIONS;
use serde_json::json;

/// Returns the allowed transitions, as texts.
fn allowed_transitions() -> BTreeSet<(&'static str, &'static str)> {
    TRANSITIONS.iter().flat_map(|(from, to)| to.iter().map(|to| (from.as_str(), to.as_str()))).collect()
}

/// Returns the lines of the diagram: from, to, and cause.
fn drawn_transitions() -> Vec<(&'static str, &'static str, &'static str)> {
    let page = include_str!("../../../docs/lifecycle.md");
    let (_, rest) = page.split_once("```mermaid\nstateDiagram-v2\n").expect("the page has a diagram");
    let (diagram, _) = rest.split_once("```").expect("the diagram ends");
    let line = |line: &'static str| {
        let (transition, cause) = line.split_once(": ").expect("the line has a cause");
        let (from, to) = transition.split_once(" --> ").expect("the line has a transition");
        (from.trim(), to, cause)
    };
    diagram.lines().map(line).collect()
}

#[test]
fn diagram_has_exactly_the_allowed_transitions() {
    let drawn: BTreeSet<_> =
        drawn_transitions().into_iter().filter(|line| line.0 != "[*]").map(|line| (line.0, line.1)).collect();
    assert_eq!(drawn, allowed_transitions());
}

#[test]
fn diagram_has_each_transition_once_with_its_cause() {
    let drawn = drawn_transitions();
    let transitions: BTreeSet<_> = drawn.iter().map(|line| (line.0, line.1)).collect();
    assert_eq!(transitions.len(), drawn.len());
    assert!(drawn.iter().all(|(_, _, cause)| !cause.trim().is_empty()));
}

#[test]
fn diagram_begins_with_provisioning() {
    let begin: Vec<_> = drawn_transitions().into_iter().filter(|line| line.0 == "[*]").map(|line| line.1).collect();
    assert_eq!(begin, [State::Provisioning.as_str()]);
}

#[test]
fn page_has_a_row_for_each_state() {
    let page = include_str!("../../../docs/lifecycle.md");
    for state in State::ALL {
        assert!(page.contains(&format!("\n| `{state}` ")), "{state}");
    }
}

#[test]
fn every_state_is_reachable_from_the_first() {
    let mut reached = BTreeSet::from([State::Provisioning.as_str()]);
    for _ in State::ALL {
        let next = allowed_transitions().into_iter().filter(|(from, _)| reached.contains(from)).map(|(_, to)| to);
        reached.extend(next.collect::<Vec<_>>());
    }
    assert_eq!(reached, State::ALL.iter().map(|state| state.as_str()).collect());
}

#[test]
fn every_state_has_a_transition() {
    for state in State::ALL {
        assert!(State::ALL.iter().any(|next| state.can_become(*next)), "{state}");
    }
}

#[test]
fn every_state_reaches_deleted_in_two_transitions() {
    for state in State::ALL {
        let in_two = State::ALL.iter().any(|next| state.can_become(*next) && next.can_become(State::Deleted));
        assert!(in_two || state.can_become(State::Deleted) || state == State::Deleted, "{state}");
    }
}

#[test]
fn only_stopped_has_a_transition_to_itself() {
    let same: Vec<_> = State::ALL.into_iter().filter(|state| state.can_become(*state)).collect();
    assert_eq!(same, [State::Stopped]);
}

#[test]
fn transient_states_can_end_with_success_or_failure() {
    for state in State::ALL.into_iter().filter(|state| state.is_in_transition()) {
        let ends = State::ALL.iter().filter(|next| state.can_become(**next) && !next.is_in_transition());
        assert!(ends.count() > 1, "{state} has two ends");
    }
}

#[test]
fn state_is_the_same_as_text_and_as_json() {
    for state in State::ALL {
        assert_eq!(json!(state), json!(state.to_string()));
        assert_eq!(serde_json::from_value::<State>(json!(state)).unwrap(), state);
    }
}
