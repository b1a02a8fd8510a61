//! The states of a named workspace.

use std::collections::BTreeSet;

use sandbox_snapshotter::model::named::State;
use sandbox_snapshotter::model::named::lifecycle::TRANSITIONS;
use serde_json::json;

/// The ways of the table, by their words.
fn allowed_transitions() -> BTreeSet<(&'static str, &'static str)> {
    TRANSITIONS.iter().flat_map(|(from, to)| to.iter().map(|to| (from.as_str(), to.as_str()))).collect()
}

/// The lines of the diagram: from, to, and why.
fn drawn_transitions() -> Vec<(&'static str, &'static str, &'static str)> {
    let page = include_str!("../../../docs/lifecycle.md");
    let (_, rest) = page.split_once("```mermaid\nstateDiagram-v2\n").expect("a diagram");
    let (diagram, _) = rest.split_once("```").expect("its end");
    let line = |line: &'static str| {
        let (way, cause) = line.split_once(": ").expect("a cause");
        let (from, to) = way.split_once(" --> ").expect("a way");
        (from.trim(), to, cause)
    };
    diagram.lines().map(line).collect()
}

#[test]
fn the_diagram_draws_every_way_and_no_other() {
    let drawn: BTreeSet<_> =
        drawn_transitions().into_iter().filter(|line| line.0 != "[*]").map(|line| (line.0, line.1)).collect();
    assert_eq!(drawn, allowed_transitions());
}

#[test]
fn the_diagram_draws_each_way_once_and_says_why() {
    let drawn = drawn_transitions();
    let ways: BTreeSet<_> = drawn.iter().map(|line| (line.0, line.1)).collect();
    assert_eq!(ways.len(), drawn.len());
    assert!(drawn.iter().all(|(_, _, cause)| !cause.trim().is_empty()));
}

#[test]
fn it_begins_as_one_that_is_being_made() {
    let begin: Vec<_> = drawn_transitions().into_iter().filter(|line| line.0 == "[*]").map(|line| line.1).collect();
    assert_eq!(begin, [State::Provisioning.as_str()]);
}

#[test]
fn the_page_has_a_row_for_every_state() {
    let page = include_str!("../../../docs/lifecycle.md");
    for state in State::ALL {
        assert!(page.contains(&format!("\n| `{state}` ")), "{state}");
    }
}

#[test]
fn every_state_can_be_reached_from_the_first() {
    let mut reached = BTreeSet::from([State::Provisioning.as_str()]);
    for _ in State::ALL {
        let next = allowed_transitions().into_iter().filter(|(from, _)| reached.contains(from)).map(|(_, to)| to);
        reached.extend(next.collect::<Vec<_>>());
    }
    assert_eq!(reached, State::ALL.iter().map(|state| state.as_str()).collect());
}

#[test]
fn there_is_a_way_out_of_every_state() {
    for state in State::ALL {
        assert!(State::ALL.iter().any(|next| state.can_become(*next)), "{state}");
    }
}

#[test]
fn from_everywhere_it_can_be_deleted_in_two_steps() {
    for state in State::ALL {
        let in_two = State::ALL.iter().any(|next| state.can_become(*next) && next.can_become(State::Deleted));
        assert!(in_two || state.can_become(State::Deleted) || state == State::Deleted, "{state}");
    }
}

#[test]
fn only_one_that_is_stopped_becomes_what_it_is() {
    let same: Vec<_> = State::ALL.into_iter().filter(|state| state.can_become(*state)).collect();
    assert_eq!(same, [State::Stopped]);
}

#[test]
fn what_passes_can_end_whatever_happens() {
    for state in State::ALL.into_iter().filter(|state| state.is_in_transition()) {
        let ends = State::ALL.iter().filter(|next| state.can_become(**next) && !next.is_in_transition());
        assert!(ends.count() > 1, "{state} ends well or not");
    }
}

#[test]
fn a_state_is_the_same_as_text_and_as_json() {
    for state in State::ALL {
        assert_eq!(json!(state), json!(state.to_string()));
        assert_eq!(serde_json::from_value::<State>(json!(state)).unwrap(), state);
    }
}
