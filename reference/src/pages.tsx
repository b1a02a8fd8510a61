// The pages of the API document, as HTML.

import type { ComponentChildren } from 'preact';
import { renderToString } from 'preact-render-to-string';

import { codesOf, type Document } from './document.ts';
import { Errors } from './errors.tsx';
import { examplesOf } from './examples.ts';
import { Group } from './group.tsx';
import { Guide, Guides } from './guides/page.tsx';
import { guideIndex, type GuideIndex } from './guides/search.ts';
import { GUIDES_PATH, servedGuides, type ReadFile, type ServedGuide } from './guides/served.ts';
import { Layout } from './layout.tsx';
import { operationLinks } from './links.ts';
import { NotFound } from './not-found.tsx';
import { remediationsOf } from './remediations.ts';
import { Start } from './start.tsx';
import { capital } from './capital.ts';
import { Links } from './text.tsx';

/** A page. */
export interface Page {
  path: string;
  body: string;
}

/** The key of the page for paths without a page. It has no leading slash, so it is not a path itself. */
const NOT_FOUND = 'not-found';

/**
 * Returns the start page, a page for each group, the page of the errors, those of the guides, and the one for paths without a page.
 * `read` reads the files of the documentation.
 */
export async function pages(document: Document, read: ReadFile): Promise<Page[]> {
  const examples = await examplesOf(document);
  const links = operationLinks(document);
  const guides = servedGuides(read);
  const groups = document.tags.map(({ name }) => name);
  const page = (
    path: string,
    title: string,
    content: ComponentChildren,
    section: readonly ServedGuide[] = [],
  ): Page => {
    const html = (
      <Links.Provider value={links}>
        <Layout document={document} path={path} title={title} section={section}>
          {content}
        </Layout>
      </Links.Provider>
    );
    return { path, body: `<!doctype html>${renderToString(html)}` };
  };
  return [
    page('/docs', 'HTTP API', <Start document={document} />),
    ...document.tags.map(({ name }) =>
      page(
        `/docs/${name}`,
        capital(name),
        <Group document={document} tag={name} examples={examples} guides={guides} />,
      ),
    ),
    page(
      '/docs/errors',
      'Errors',
      <Errors document={document} remediations={remediationsOf(read('docs/errors.md'))} />,
    ),
    page(GUIDES_PATH, 'Guides', <Guides guides={guides} />),
    ...guides.map((guide) => {
      const section = guides.filter((other) => other.section === guide.section);
      return page(guide.path, guide.title, <Guide of={guide} guides={guides} groups={groups} />, section);
    }),
    page(NOT_FOUND, 'Page not found', <NotFound />),
  ];
}

/** Returns the index of the guides, which the search loads when it is used. */
export function guideIndexOf(document: Document, read: ReadFile): GuideIndex {
  const codes = codesOf(document).map(({ code }) => code);
  return guideIndex(servedGuides(read), codes);
}

export { compactIndex, searchIndex } from './search-index.ts';
