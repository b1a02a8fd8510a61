// What the index of the search has: the targets and their fields, with their texts.

import type { Target } from '../search-index.ts';

/** A result of the search. */
export interface Result {
  kind: Target['kind'] | 'field';
  name: string;
  /** What a field or a part of a guide belongs to; the summary of an operation; the meaning of an error code. */
  about: string;
  /** The text that describes it. */
  text: string;
  url: string;
}

/** What describes the results, by their addresses. */
export interface Texts {
  /** Whether these are all texts. */
  isComplete: boolean;
  texts: ReadonlyMap<string, string>;
  /** Words of code, which are searched and not shown. */
  code: ReadonlyMap<string, string>;
}

/** The texts while none is loaded. */
export const NO_TEXTS: Texts = { isComplete: false, texts: new Map(), code: new Map() };

/** What the index has of a result. */
export interface Entry {
  id: number;
  result: Result;
  /** The heading of a part of a guide. */
  heading: string | undefined;
  /** The name of anything else. */
  name: string | undefined;
  about: string | undefined;
  words: string | undefined;
  text: string | undefined;
  code: string | undefined;
}

/** Returns the entries of targets and their fields. The id of each is its position. */
export function entriesOf(targets: readonly Target[], texts: Texts): Entry[] {
  return targets
    .flatMap((target) => [entry(target, texts), ...fieldEntries(target, texts)])
    .map((entry, id) => ({ ...entry, id }));
}

type EntryWithoutId = Omit<Entry, 'id'>;

function entry({ kind, name, text: about, url, words }: Target, { texts, code }: Texts): EntryWithoutId {
  const text = texts.get(url) ?? '';
  const title = kind === 'guide' ? about.replace(/^Guide:?/, '') : about;
  return {
    result: { kind, name, about, text, url },
    heading: kind === 'guide' ? name : undefined,
    name: kind === 'guide' ? undefined : name,
    about: title || undefined,
    words,
    text: text || undefined,
    code: code.get(url),
  };
}

function fieldEntries({ kind, name: owner, url: page, fields }: Target, { texts }: Texts): EntryWithoutId[] {
  const about = kind === 'operation' ? `Option of ${owner}` : `Field of ${owner}`;
  return fields.map((name) => {
    const url = `${page}.${name}`;
    const text = texts.get(url);
    return {
      result: { kind: 'field', name, about, text: text ?? '', url },
      heading: undefined,
      name,
      about: owner,
      words: undefined,
      text,
      code: undefined,
    };
  });
}
