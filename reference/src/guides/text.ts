// The texts of guides: without markup, and as the anchors of headings.

import type { Tokens } from 'marked';

/** Returns the text of tokens without markup. */
export function plainText(tokens: readonly Tokens.Generic[]): string {
  return tokens
    .map(({ tokens, raw = '', text = raw }) => (tokens ? plainText(tokens) : String(text)))
    .join('');
}

/** Returns a function that makes the anchor of a heading, as GitHub does. A title that occurs again gets a number. */
export function slugs(): (title: string) => string {
  const used = new Map<string, number>();
  return (title) => {
    const slug = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const count = used.get(slug) ?? 0;
    used.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  };
}
