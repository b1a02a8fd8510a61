//! Lists, which the server returns in pages.

use serde_json::Value;

use super::context::Context;
use crate::args::common::Paging;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::answer::Answer;
use crate::output::render::lines;
use crate::output::sanitize::sanitize_for_terminal;
use crate::output::{Show, print};

/// A page of a list.
pub trait Page: Show {
    /// The name of the JSON field that contains the rows.
    const ROWS: &str;

    /// Returns the number of rows.
    fn len(&self) -> usize;

    /// Returns the cursor of the next page.
    fn cursor(&mut self) -> &mut Option<String>;
}

/// Prints all pages as they arrive, or one page. `fetch` returns the page after a cursor. `empty_message` replaces the
/// usual message for an empty list.
pub fn show<P: Page>(
    context: &Context,
    paging: &Paging,
    empty_message: Option<String>,
    mut fetch: impl FnMut(Option<&str>) -> Result<Answer<P>>,
) -> Result<Exit> {
    if context.output.json || !paging.is_all() {
        let (rows, rest) = collect_rows(paging, fetch)?;
        return show_whole(context, &to_page::<P>(rows, rest)?, empty_message);
    }
    // An empty page may be followed by others, so the empty list is reported last.
    let (mut is_first, mut empty) = (true, None);
    for_each_page(paging, &mut fetch, |mut page| {
        *page.value.cursor() = None;
        if page.value.len() == 0 {
            empty = Some(page);
            return Ok(());
        }
        context.output.show_page(&page.value, std::mem::take(&mut is_first))
    })?;
    match empty {
        Some(empty) if is_first => show_whole(context, &empty, empty_message),
        _ => Ok(Exit::Done),
    }
}

/// Prints a complete list.
pub fn show_whole<P: Page>(context: &Context, page: &Answer<P>, empty_message: Option<String>) -> Result<Exit> {
    match empty_message.filter(|_| page.value.len() == 0 && !context.output.json && !context.output.quiet) {
        Some(message) => print(&lines([sanitize_for_terminal(&message)])).map(|()| Exit::Done),
        None => context.show(page),
    }
}

/// Returns the error of a list whose cursor cannot be parsed.
pub fn invalid_cursor() -> Failure {
    Failure::foreign_answer("the cursor of the list is invalid")
}

/// Returns the rows of all pages, or of one page, and the cursor of the next page.
pub fn collect_rows<P: Page>(
    paging: &Paging,
    fetch: impl FnMut(Option<&str>) -> Result<Answer<P>>,
) -> Result<(Vec<Value>, Option<String>)> {
    let mut rows = Vec::new();
    let rest = for_each_page(paging, fetch, |mut page| {
        if let Some(Value::Array(more)) = page.raw.get_mut(P::ROWS).map(Value::take) {
            rows.extend(more);
        }
        Ok(())
    })?;
    Ok((rows, rest))
}

/// Returns a page with these rows, in the format of the API.
pub fn to_page<P: Page>(rows: Vec<Value>, cursor: Option<String>) -> Result<Answer<P>> {
    let cursor = cursor.map(|cursor| ("cursor".to_owned(), cursor.into()));
    Answer::of(Value::Object(std::iter::once((P::ROWS.to_owned(), rows.into())).chain(cursor).collect()))
}

/// Calls `visit` with each page, and returns the cursor of the next page.
fn for_each_page<P: Page>(
    paging: &Paging,
    mut fetch: impl FnMut(Option<&str>) -> Result<Answer<P>>,
    mut visit: impl FnMut(Answer<P>) -> Result<()>,
) -> Result<Option<String>> {
    let mut cursor = paging.cursor.clone();
    loop {
        let mut page = fetch(cursor.as_deref())?;
        let next = page.value.cursor().clone();
        visit(page)?;
        if next.is_none() || !paging.is_all() {
            return Ok(next);
        }
        if next == cursor {
            return Err(Failure::foreign_answer("the list repeats a cursor"));
        }
        cursor = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox_snapshotter_client::model::answer;
    use serde_json::json;

    fn page(cursor: Option<&str>) -> Result<Answer<answer::Page>> {
        to_page(Vec::new(), cursor.map(str::to_owned))
    }

    #[test]
    fn all_pages_are_requested() {
        let mut requested = Vec::new();
        let rest = for_each_page(
            &Paging::ALL,
            |cursor| {
                requested.push(cursor.map(str::to_owned));
                page(["one", "two"].get(requested.len() - 1).copied())
            },
            |_| Ok(()),
        );
        assert_eq!(rest.unwrap(), None);
        assert_eq!(requested, [None, Some("one".into()), Some("two".into())]);
    }

    #[test]
    fn a_list_that_repeats_a_cursor_is_refused() {
        let failure = for_each_page(&Paging::ALL, |_| page(Some("one")), |_| Ok(())).unwrap_err();
        assert_eq!(failure.code(), Some("FOREIGN_ANSWER"));
    }

    #[test]
    fn a_single_page_has_the_cursor_of_the_next() {
        let (rows, rest) = collect_rows(&Paging { limit: Some(1), cursor: None }, |_| page(Some("one"))).unwrap();
        assert_eq!((rows, rest), (Vec::<Value>::new(), Some("one".into())));
        assert_eq!(page(Some("one")).unwrap().raw, json!({ "snapshots": [], "cursor": "one" }));
    }
}
