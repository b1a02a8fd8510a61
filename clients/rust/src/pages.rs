//! Streams over lists that are read page by page.

use std::collections::VecDeque;

use futures_util::{Stream, stream};

use crate::error::Result;

/// Returns a stream of the items on all pages. It requests a page when the items of the previous page are consumed, and
/// ends after an error.
pub(crate) fn stream_items<Cursor, Item>(
    first: Option<Cursor>,
    page: impl AsyncFn(Option<Cursor>) -> Result<(Vec<Item>, Option<Cursor>)>,
) -> impl Stream<Item = Result<Item>> {
    let initial = (VecDeque::new(), Some(first), page);
    stream::try_unfold(initial, async |(mut items, mut next, page)| {
        loop {
            if let Some(item) = items.pop_front() {
                return Ok(Some((item, (items, next, page))));
            }
            let Some(cursor) = next else { return Ok(None) };
            let (page_items, next_cursor) = page(cursor).await?;
            items = page_items.into();
            next = next_cursor.map(Some);
        }
    })
}
