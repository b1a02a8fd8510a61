// The pages of the API document, as HTML.

import type { ComponentChildren } from 'preact';
import { renderToString } from 'preact-render-to-string';

import type { Document } from './document.ts';
import { Errors } from './errors.tsx';
import { examplesOf } from './examples.ts';
import { Group } from './group.tsx';
import { Layout } from './layout.tsx';
import { operationLinks } from './links.ts';
import { NotFound } from './not-found.tsx';
import { remediationsOf } from './remediations.ts';
import { Start } from './start.tsx';
import { capital, Links } from './text.tsx';

/** A page. */
export interface Page {
  path: string;
  body: string;
}

/** The key of the page for paths without a page. It has no leading slash, so it is not a path itself. */
const NOT_FOUND = 'not-found';

/**
 * Returns the start page, a page for each group, the page of the errors, and the one for paths without a page. `guide` is the
 * guide to the errors.
 */
export async function pages(document: Document, guide: string): Promise<Page[]> {
  const examples = await examplesOf(document);
  const links = operationLinks(document);
  const page = (path: string, title: string, content: ComponentChildren): Page => {
    const html = (
      <Links.Provider value={links}>
        <Layout document={document} path={path} title={title}>
          {content}
        </Layout>
      </Links.Provider>
    );
    return { path, body: `<!doctype html>${renderToString(html)}` };
  };
  return [
    page('/docs', 'HTTP API', <Start document={document} />),
    ...document.tags.map(({ name }) =>
      page(`/docs/${name}`, capital(name), <Group document={document} tag={name} examples={examples} />),
    ),
    page('/docs/errors', 'Errors', <Errors document={document} remediations={remediationsOf(guide)} />),
    page(NOT_FOUND, 'Page not found', <NotFound />),
  ];
}

export { searchIndex } from './search-index.ts';
