// What the search finds in the guides: their headings, by the words of their parts.

import type { Tokens } from 'marked';

import type { Target } from '../search-index.ts';
import type { ServedGuide } from './served.ts';

/** The parts of the guides as results, and the words of each by its address. */
export interface GuideIndex {
  targets: Target[];
  words: Record<string, string>;
}

/** The part of all parts from which a word is in too many of them to select one. */
const COMMON = 0.25;

/** Returns the parts of the guides, without those about `known` error codes: the search finds these on the page of the errors. */
export function guideIndex(guides: readonly ServedGuide[], known: readonly string[]): GuideIndex {
  const targets: Target[] = [];
  const words = new Map<string, string[]>();
  for (const { path, title, description, tokens, headings } of guides) {
    const parts = partsOf(tokens);
    for (const [index, { id, title: name }] of headings.entries()) {
      if (known.includes(name)) continue;
      const url = index === 0 ? path : `${path}#${id}`;
      const text = index === 0 ? 'Guide' : `Guide: ${title}`;
      const about = index === 0 ? { words: `${path.split('/').at(-1)} ${description}` } : {};
      targets.push({ kind: 'guide', name, text, url, fields: [], ...about });
      words.set(url, wordsOf(parts[index] ?? ''));
    }
  }
  const counts = new Map<string, number>();
  for (const word of [...words.values()].flat()) counts.set(word, (counts.get(word) ?? 0) + 1);
  const isRare = (word: string) => (counts.get(word) ?? 0) < targets.length * COMMON;
  const rare = [...words].map(([url, all]) => [url, all.filter(isRare).join(' ')]);
  return { targets, words: Object.fromEntries(rare) };
}

/** Returns the source of each part: what follows a heading. */
function partsOf(tokens: readonly Tokens.Generic[]): string[] {
  const parts: string[] = [];
  for (const { type, raw } of tokens) {
    if (type === 'heading') parts.push('');
    else parts.push((parts.pop() ?? '') + raw);
  }
  return parts;
}

/** Returns the different words of a text. */
function wordsOf(text: string): string[] {
  const words = text
    .replaceAll(/\]\([^)]*\)/g, ' ')
    .toLowerCase()
    .match(/[\p{L}\p{N}_][\p{L}\p{N}_.-]+[\p{L}\p{N}_]/gu);
  return [...new Set(words)];
}
