//! Lists that are read page by page.

use std::collections::VecDeque;

use futures_util::{Stream, stream};

use super::error::Result;

/// What is on the pages, one after the other. A page is asked for when the one before is used up, and nothing after an
/// error.
pub(super) fn each<Cursor, Item>(
    first: Option<Cursor>,
    page: impl AsyncFn(Option<Cursor>) -> Result<(Vec<Item>, Option<Cursor>)>,
) -> impl Stream<Item = Result<Item>> {
    let begin = (VecDeque::new(), Some(first), page);
    stream::try_unfold(begin, async |(mut items, mut next, page)| {
        loop {
            if let Some(item) = items.pop_front() {
                return Ok(Some((item, (items, next, page))));
            }
            let Some(cursor) = next else { return Ok(None) };
            let (read, further) = page(cursor).await?;
            items = read.into();
            next = further.map(Some);
        }
    })
}
