// What the search finds in the guides: their headings, and the texts of their parts.

import type { Tokens } from 'marked';

import { termsOf } from '../search-terms.ts';
import { urlOfError, type Target } from '../search-index.ts';
import type { ServedGuide } from './served.ts';
import { plainLines } from './text.ts';

/** The parts of the guides as results, with the texts of each by its address. */
export interface GuideIndex {
  targets: Target[];
  /** The lines of each part. */
  texts: Record<string, string>;
  /** The words that only the code of a part has, and by the addresses of error codes those that only the guide has. */
  code: Record<string, string>;
}

/** Returns the parts of the guides, without those about `known` error codes: their results lead to the page of the errors. */
export function guideIndex(guides: readonly ServedGuide[], known: readonly string[]): GuideIndex {
  const index: GuideIndex = { targets: [], texts: {}, code: {} };
  const errors: Record<string, string> = {};
  for (const { path, name: listed, title, description, tokens, headings } of guides) {
    const parts = partsOf(tokens);
    for (const [at, { id, title: name }] of headings.entries()) {
      const part = parts[at] ?? [];
      const lines = plainLines(part).join('\n');
      if (known.includes(name)) {
        errors[urlOfError(name)] = lines;
        continue;
      }
      const url = at === 0 ? path : `${path}#${id}`;
      const text = at === 0 ? 'Guide' : `Guide: ${title}`;
      const about = at === 0 ? { words: `${path.split('/').at(-1)} ${listed} ${description}` } : {};
      index.targets.push({ kind: 'guide', name, text, url, fields: [], ...about });
      index.texts[url] = lines;
      addWords(index.code, url, codeOf(part), new Set(termsOf(lines)));
    }
  }
  const terms = new Set(Object.values(index.texts).flatMap(termsOf));
  for (const [url, lines] of Object.entries(errors)) addWords(index.code, url, lines, terms);
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

function codeOf(part: readonly Tokens.Generic[]): string {
  return part.flatMap(({ type, text }) => (type === 'code' ? String(text) : [])).join('\n');
}

/** Adds the different words of a text that have other terms than the known ones. */
function addWords(code: GuideIndex['code'], url: string, text: string, known: ReadonlySet<string>) {
  const words = (text.match(/[\p{L}][\p{L}\p{N}_-]{2,}/gu) ?? []).filter(
    (word) => !termsOf(word).every((term) => known.has(term)),
  );
  if (words.length > 0) code[url] = [...new Set(words)].join(' ');
}
