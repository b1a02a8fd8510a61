//! Lists, which come in pages.

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
    /// What the rows are called in its JSON.
    const ROWS: &str;

    /// How many rows it has.
    fn len(&self) -> usize;

    /// Where the next page begins.
    fn cursor(&mut self) -> &mut Option<String>;
}

/// Prints all pages as they come, or one. `ask` asks for the page after a cursor; `nothing` is what people are told where
/// there is nothing, if that is another thing than usual.
pub fn show<P: Page>(
    context: &Context,
    paging: &Paging,
    nothing: Option<String>,
    mut ask: impl FnMut(Option<&str>) -> Result<Answer<P>>,
) -> Result<Exit> {
    if context.output.json || !paging.is_all() {
        let (rows, rest) = collect_rows(paging, ask)?;
        return show_whole(context, &to_page::<P>(rows, rest)?, nothing);
    }
    // What is empty is not told before it is known that nothing follows.
    let (mut is_first, mut empty) = (true, None);
    for_each_page(paging, &mut ask, |mut page| {
        *page.value.cursor() = None;
        if page.value.len() == 0 {
            empty = Some(page);
            return Ok(());
        }
        context.output.show_page(&page.value, std::mem::take(&mut is_first))
    })?;
    match empty {
        Some(empty) if is_first => show_whole(context, &empty, nothing),
        _ => Ok(Exit::Done),
    }
}

/// Prints a list that is there as a whole.
pub fn show_whole<P: Page>(context: &Context, page: &Answer<P>, nothing: Option<String>) -> Result<Exit> {
    match nothing.filter(|_| page.value.len() == 0 && !context.output.json && !context.output.quiet) {
        Some(nothing) => print(&lines([sanitize_for_terminal(&nothing)])).map(|()| Exit::Done),
        None => context.show(page),
    }
}

/// That a list goes on at a place that there can't be.
pub fn repeated_cursor() -> Failure {
    Failure::foreign_answer("the cursor of its list is none of the snapshotter's")
}

/// The rows of all pages, or of one, and where the next page begins.
pub fn collect_rows<P: Page>(
    paging: &Paging,
    ask: impl FnMut(Option<&str>) -> Result<Answer<P>>,
) -> Result<(Vec<Value>, Option<String>)> {
    let mut rows = Vec::new();
    let rest = for_each_page(paging, ask, |mut page| {
        if let Some(Value::Array(more)) = page.raw.get_mut(P::ROWS).map(Value::take) {
            rows.extend(more);
        }
        Ok(())
    })?;
    Ok((rows, rest))
}

/// A page of these rows, as the API answers it.
pub fn to_page<P: Page>(rows: Vec<Value>, cursor: Option<String>) -> Result<Answer<P>> {
    let cursor = cursor.map(|cursor| ("cursor".to_owned(), cursor.into()));
    Answer::of(Value::Object(std::iter::once((P::ROWS.to_owned(), rows.into())).chain(cursor).collect()))
}

/// Gives each page to `take`, and answers where the next one begins.
fn for_each_page<P: Page>(
    paging: &Paging,
    mut ask: impl FnMut(Option<&str>) -> Result<Answer<P>>,
    mut take: impl FnMut(Answer<P>) -> Result<()>,
) -> Result<Option<String>> {
    let mut cursor = paging.cursor.clone();
    loop {
        let mut page = ask(cursor.as_deref())?;
        let next = page.value.cursor().clone();
        take(page)?;
        if next.is_none() || !paging.is_all() {
            return Ok(next);
        }
        if next == cursor {
            return Err(Failure::foreign_answer("its list goes on where it went on before"));
        }
        cursor = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox_snapshotter::model::answer;
    use serde_json::json;

    fn page(cursor: Option<&str>) -> Result<Answer<answer::Page>> {
        to_page(Vec::new(), cursor.map(str::to_owned))
    }

    #[test]
    fn pages_are_asked_for_until_there_is_none_more() {
        let mut asked = Vec::new();
        let rest = for_each_page(
            &Paging::ALL,
            |cursor| {
                asked.push(cursor.map(str::to_owned));
                page(["one", "two"].get(asked.len() - 1).copied())
            },
            |_| Ok(()),
        );
        assert_eq!(rest.unwrap(), None);
        assert_eq!(asked, [None, Some("one".into()), Some("two".into())]);
    }

    #[test]
    fn a_list_that_would_never_end_is_no_answer() {
        let failure = for_each_page(&Paging::ALL, |_| page(Some("one")), |_| Ok(())).unwrap_err();
        assert_eq!(failure.code(), Some("FOREIGN_ANSWER"));
    }

    #[test]
    fn one_page_tells_where_the_next_begins() {
        let (rows, rest) = collect_rows(&Paging { limit: Some(1), cursor: None }, |_| page(Some("one"))).unwrap();
        assert_eq!((rows, rest), (Vec::<Value>::new(), Some("one".into())));
        assert_eq!(page(Some("one")).unwrap().raw, json!({ "snapshots": [], "cursor": "one" }));
    }
}
