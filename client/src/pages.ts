/** A page of something, and where the next one begins. */
interface Paged {
  cursor?: string | undefined;
}

/** What is on the pages, one after the other. A page is asked for when the one before is used up. */
export async function* each<P extends Paged, T>(
  page: (cursor: string | undefined) => Promise<P>,
  items: (page: P) => readonly T[],
): AsyncGenerator<T, void, undefined> {
  let cursor: string | undefined;
  do {
    const read = await page(cursor);
    yield* items(read);
    cursor = read.cursor;
  } while (cursor !== undefined);
}
