//! The similarity of names, for suggestions after a misspelling.

/// The minimum similarity of a name that is suggested, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.85;

/// Returns the candidate that is most similar to `name`, whatever its case, if one is similar enough for a suggestion.
pub fn most_similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&candidate.to_lowercase(), &name), candidate))
        .filter(|(similarity, _)| *similarity > MIN_SIMILARITY)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}
