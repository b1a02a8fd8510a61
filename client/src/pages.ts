/** A page of a list, with the cursor of the next page. */
interface Page {
  cursor?: string | undefined;
}

/** Iterates over the items on all pages. Requests a page when the items of the previous page are consumed. */
export async function* iteratePages<P extends Page, T>(
  page: (cursor: string | undefined) => Promise<P>,
  items: (page: P) => readonly T[],
): AsyncGenerator<T, void, undefined> {
  let cursor: string | undefined;
  do {
    const current = await page(cursor);
    yield* items(current);
    cursor = current.cursor;
  } while (cursor !== undefined);
}

/** Iterates over sorted lists as one sorted list. Reads one item of each in advance. */
export async function* mergeSorted<T>(
  lists: readonly AsyncGenerator<T, void, undefined>[],
  isBefore: (one: T, other: T) => boolean,
): AsyncGenerator<T, void, undefined> {
  const heads = await Promise.all(lists.map(async (list) => ({ list, head: await list.next() })));
  for (;;) {
    let first: { list: AsyncGenerator<T, void, undefined>; head: IteratorResult<T, void> } | undefined;
    for (const candidate of heads) {
      if (candidate.head.done) continue;
      if (!first || first.head.done || isBefore(candidate.head.value, first.head.value)) first = candidate;
    }
    if (!first || first.head.done) return;
    yield first.head.value;
    first.head = await first.list.next();
  }
}
