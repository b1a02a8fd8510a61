// The texts of guides: without markup, and as the anchors of headings.

import type { Tokens } from 'marked';

/** Returns the text of tokens without markup. */
export function plainText(tokens: readonly Tokens.Generic[]): string {
  return tokens
    .map(({ tokens, raw = '', text = raw }) => (tokens ? plainText(tokens) : String(text)))
    .join('');
}

/** Returns the lines of blocks without markup: one for each paragraph, item of a list and row of a table. Code has none. */
export function plainLines(tokens: readonly Tokens.Generic[]): string[] {
  return tokens
    .flatMap((token) => {
      if (token.type === 'list')
        return (token as Tokens.List).items.flatMap(({ tokens }) => plainLines(tokens));
      if (token.type === 'blockquote') return plainLines(token.tokens ?? []);
      if (token.type === 'table') return rows(token as Tokens.Table);
      return token.type === 'paragraph' || token.type === 'text' ? plainText(token.tokens ?? [token]) : [];
    })
    .map((line) => line.replaceAll(/\s+/g, ' ').trim())
    .filter(Boolean);
}

function rows({ rows }: Tokens.Table): string[] {
  return rows.map((cells) => cells.map(({ tokens }) => plainText(tokens)).join(' · '));
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
