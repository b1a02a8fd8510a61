// What the search finds in the guides: their headings, and the texts of their parts.

import type { Tokens } from 'marked';

import { termsOf } from '../search-terms.ts';
import type { Target } from '../search-index.ts';
import type { ServedGuide } from './served.ts';
import { plainLines } from './text.ts';

/** The parts of the guides as results, with the texts of each by its address. */
export interface GuideIndex {
  targets: Target[];
  /** The lines of each part. */
  texts: Record<string, string>;
  /** The words that only the code of a part has. */
  code: Record<string, string>;
}

/** Returns the parts of the guides, without those about `known` error codes: the search finds these on the page of the errors. */
export function guideIndex(guides: readonly ServedGuide[], known: readonly string[]): GuideIndex {
  const index: GuideIndex = { targets: [], texts: {}, code: {} };
  for (const { path, title, description, tokens, headings } of guides) {
    const parts = partsOf(tokens);
    for (const [at, { id, title: name }] of headings.entries()) {
      if (known.includes(name)) continue;
      const url = at === 0 ? path : `${path}#${id}`;
      const text = at === 0 ? 'Guide' : `Guide: ${title}`;
      const about = at === 0 ? { words: `${path.split('/').at(-1)} ${description}` } : {};
      index.targets.push({ kind: 'guide', name, text, url, fields: [], ...about });
      const part = parts[at] ?? [];
      const lines = plainLines(part).join('\n');
      index.texts[url] = lines;
      const code = codeWords(part, lines);
      if (code !== '') index.code[url] = code;
    }
  }
  return index;
}

/** Returns the blocks of each part: what follows a heading. */
function partsOf(tokens: readonly Tokens.Generic[]): Tokens.Generic[][] {
  const parts: Tokens.Generic[][] = [];
  for (const token of tokens) {
    if (token.type === 'heading') parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts;
}

/** Returns the different words of the code of a part that its other text does not have. */
function codeWords(part: readonly Tokens.Generic[], lines: string): string {
  const known = new Set(termsOf(lines));
  const words = part
    .filter(({ type }) => type === 'code')
    .flatMap(({ text }) => String(text).match(/[\p{L}][\p{L}\p{N}_-]{2,}/gu) ?? [])
    .filter((word) => !termsOf(word).every((term) => known.has(term)));
  return [...new Set(words)].join(' ');
}
