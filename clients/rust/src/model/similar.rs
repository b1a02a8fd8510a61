//! The similarity of names, for suggestions after a misspelling.

/// The minimum similarity of a name that is suggested, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.85;

/// The minimum length of a name that is similar to each one that differs by one character, or by two exchanged ones.
const MIN_LENGTH: usize = 3;

/// As [`MIN_LENGTH`], for a name that lacks one character or has one too many.
const MIN_LENGTH_OF_PART: usize = 2;

/// Returns the candidate that is most similar to `name`, whatever its case, if one is similar enough for a suggestion.
pub fn most_similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (candidate, candidate.to_lowercase()))
        .map(|(candidate, lower)| (strsim::jaro_winkler(&lower, &name), candidate, lower))
        .filter(|(similarity, _, lower)| *similarity > MIN_SIMILARITY || is_one_edit(lower, &name))
        .max_by(|(one, ..), (other, ..)| one.total_cmp(other))
        .map(|(_, candidate, _)| candidate)
}

/// Returns whether two names differ by one character, or by two exchanged ones.
fn is_one_edit(one: &str, other: &str) -> bool {
    let (length, other_length) = (one.chars().count(), other.chars().count());
    let least = if length == other_length { MIN_LENGTH } else { MIN_LENGTH_OF_PART };
    length.min(other_length) >= least && strsim::osa_distance(one, other) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_name_has_a_similar_one() {
        let similar = |name| most_similar(name, ["one", "before-upgrade", "v1"]);
        for (name, expected) in [
            ("oen", "one"),
            ("noe", "one"),
            ("ONE", "one"),
            ("onee", "one"),
            ("befor-upgrade", "before-upgrade"),
            ("vv1", "v1"),
        ] {
            assert_eq!(similar(name), Some(expected), "{name}");
        }
        for name in ["two", "w2", "trial", ""] {
            assert_eq!(similar(name), None, "{name}");
        }
    }
}
