// The line of a text that matches a query best.

import { placesOf, termsOfWord } from '../search-terms.ts';

/** A part of a line. */
export interface Part {
  text: string;
  isMatch: boolean;
}

/** A word of a line that matches. */
interface Match {
  at: number;
  end: number;
  terms: string[];
}

/** The most characters of a line. */
const LENGTH = 180;

/** The characters that a narrow screen shows. */
const VISIBLE = 32;

/** The characters before the first match, if these do not show it. */
const BEFORE = 20;

/** Returns the line of a text that has most of the terms, cut to the part that has most of them. */
export function excerptOf(text: string, terms: ReadonlySet<string>): Part[] {
  let best = { line: '', start: 0, count: -1 };
  for (const line of text.replaceAll('`', '').split(/\n(?:- )?/)) {
    const window = bestWindow(matchesOf(line, terms));
    if (window.count > best.count && line !== '') best = { line, ...window };
  }
  const { line } = best;
  const from = Math.min(best.start - BEFORE, line.length - VISIBLE);
  const start = best.start < VISIBLE || from <= 0 ? 0 : line.indexOf(' ', from) + 1;
  const end = line.length - start <= LENGTH ? line.length : line.lastIndexOf(' ', start + LENGTH);
  const cut = `${start > 0 ? '… ' : ''}${line.slice(start, end)}${end < line.length ? ' …' : ''}`;
  return partsOf(cut, terms);
}

/** Returns the first match of the part of a line that has most of the terms, with their number. */
function bestWindow(matches: Match[]): { start: number; count: number } {
  let best = { start: 0, count: 0 };
  for (const { at: start } of matches) {
    const inside = matches.filter(({ at, end }) => at >= start && end <= start + LENGTH - BEFORE);
    const count = new Set(inside.flatMap(({ terms }) => terms)).size;
    if (count > best.count) best = { start, count };
  }
  return best;
}

/** Returns a line as parts: the words that have one of the terms, and what is between them. */
function partsOf(line: string, terms: ReadonlySet<string>): Part[] {
  const parts: Part[] = [];
  let last = 0;
  for (const { at, end } of matchesOf(line, terms)) {
    parts.push({ text: line.slice(last, at), isMatch: false }, { text: line.slice(at, end), isMatch: true });
    last = end;
  }
  parts.push({ text: line.slice(last), isMatch: false });
  return parts.filter(({ text }) => text !== '');
}

function matchesOf(line: string, terms: ReadonlySet<string>): Match[] {
  return placesOf(line)
    .map(({ word, at }) => ({
      at,
      end: at + word.length,
      terms: termsOfWord(word).filter((term) => terms.has(term)),
    }))
    .filter(({ terms }) => terms.length > 0);
}
