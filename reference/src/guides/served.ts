// The guides that the Worker serves: the pages of the project's documentation that are for its users.

import { marked, type Tokens } from 'marked';

import { capital } from '../capital.ts';
import { plainText, slugs } from './text.ts';

/** The path of the list of guides. */
export const GUIDES_PATH = '/docs/guides';

/** The list of all pages of the documentation. */
const LIST = 'docs/README.md';

/** The first section of the list whose pages are not served: they are about the project itself. */
const FIRST_OTHER = 'Evaluate';

/** Reads a file of the project. */
export type ReadFile = (file: string) => string;

/** A heading of a guide. */
export interface Heading {
  id: string;
  title: string;
  depth: number;
}

/** A guide. */
export interface ServedGuide {
  /** The file of the project that it is made from. */
  file: string;
  path: string;
  /** The section of the list of guides. */
  section: string;
  title: string;
  /** Its name in the list. */
  name: string;
  /** What it is about, as the list says; empty if that has only the title. */
  description: string;
  tokens: Tokens.Generic[];
  headings: Heading[];
}

/** Returns the guides, in the order of the list. */
export function servedGuides(read: ReadFile): ServedGuide[] {
  const [list = ''] = read(LIST).split(`\n## ${FIRST_OTHER}\n`);
  const sections = list.split('\n## ').slice(1);
  const guides = new Map<string, ServedGuide>();
  for (const text of sections) {
    const [section = '', ...items] = text.split(/\n(?:\n|- )/);
    for (const item of items)
      for (const [, name = '', target = ''] of item.matchAll(/\[([^\]]*)\]\(([^)#]+\.md)\)/g)) {
        const file = resolveFile(LIST, target);
        const [, about = ''] = item.split(/\]\([^)]*\): /);
        if (!guides.has(file)) guides.set(file, readGuide(read, file, { section, name, about }));
      }
  }
  return [...guides.values()];
}

function readGuide(
  read: ReadFile,
  file: string,
  { section, name, about }: { section: string; name: string; about: string },
): ServedGuide {
  const tokens = marked.lexer(read(file)) as Tokens.Generic[];
  const newSlug = slugs();
  const headings = tokens
    .filter(({ type }) => type === 'heading')
    .map((token): Heading => {
      const title = plainText(token.tokens ?? []);
      return { id: newSlug(title), title, depth: token['depth'] };
    });
  const [first] = headings;
  if (first === undefined) throw new Error(`${file} has no title.`);
  const path = `${GUIDES_PATH}/${segmentOf(file)}`;
  const description = about && capital(plainText(marked.lexer(about.replaceAll(/\s+/g, ' '))));
  return { file, path, section, name, title: first.title, description, tokens, headings };
}

/** Returns the name of a guide in its path: that of the file, or of the folder of a README. */
function segmentOf(file: string): string {
  const parts = file.replace(/(\/README)?\.md$/, '').split('/');
  return parts.at(-1) ?? '';
}

/** Returns the file to which a relative link of a file leads. */
export function resolveFile(from: string, target: string): string {
  return new URL(target, `file:///${from}`).pathname.slice(1);
}
