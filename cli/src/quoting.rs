//! Words of commands in suggestions, as a user can paste them into a shell.

/// Joins the words of a command, quoted for a shell where that is necessary.
pub fn shell_words<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@/.:_-".contains(c);
    let quote = |word: &str| {
        let needs_quotes = word.is_empty() || !word.chars().all(is_plain);
        if needs_quotes { format!("'{}'", word.replace('\'', "'\\''")) } else { word.to_owned() }
    };
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        assert_eq!(shell_words(["@w1", "it's", "$HOME", ""]), "@w1 'it'\\''s' '$HOME' ''");
    }
}
