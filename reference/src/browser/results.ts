// The results of the search as elements, and what is said about them.

import { excerptOf } from './excerpt.ts';
import type { Result } from './entries.ts';
import type { Found } from './find.ts';

/** The most results that are shown. */
export const MOST = 30;

/** Returns which words of a query no page has, and which words the results have instead; empty if all words were found. */
export function noteOf({ results, missing, corrected }: Found, isComplete: boolean): string {
  const unknown = [...corrected.keys(), ...missing];
  if (unknown.length === 0) return results.length > 0 ? '' : 'No page has these words.';
  const none = `No ${isComplete ? 'page' : 'name'} has ${listOf(unknown, 'or')}.`;
  if (results.length === 0) return none;
  return corrected.size > 0
    ? `${none} These have ${listOf([...new Set(corrected.values())], 'and')}:`
    : `${none} These have the other words:`;
}

/** Returns how many results there are. */
export function statusOf({ results: { length } }: Found): string {
  if (length === 0) return '';
  return length > MOST
    ? `The best ${MOST} of ${length} results`
    : `${length} result${length === 1 ? '' : 's'}`;
}

function listOf(words: string[], conjunction: string): string {
  return new Intl.ListFormat('en', { type: conjunction === 'or' ? 'disjunction' : 'conjunction' }).format(
    words.map((word) => `“${word}”`),
  );
}

/** Returns a function that makes an option of a result, with the line of its text that has most of the terms. */
export function optionOf(terms: ReadonlySet<string>): (result: Result, index: number) => HTMLElement {
  return (result, index) => {
    const link = document.createElement('a');
    link.href = result.url;
    link.id = `result-${index}`;
    link.role = 'option';
    link.tabIndex = -1;
    link.append(
      element(result.kind === 'guide' ? 'strong' : 'code', result.name),
      element('span', isPartOf(result) ? result.about : result.kind),
      excerpt(result, terms),
    );
    return link;
  };
}

/** Returns whether `about` says what the result belongs to. */
function isPartOf({ kind }: Result): boolean {
  return kind === 'field' || kind === 'guide';
}

function excerpt(result: Result, terms: ReadonlySet<string>): HTMLElement {
  const isNamed = result.kind === 'operation' || result.kind === 'error';
  const text = isNamed ? `${result.about}\n${result.text}` : result.text;
  const line = document.createElement('small');
  line.append(...excerptOf(text, terms).map(({ text, isMatch }) => (isMatch ? element('mark', text) : text)));
  return line;
}

function element(tag: string, text: string): HTMLElement {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}
