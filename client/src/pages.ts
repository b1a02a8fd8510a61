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
