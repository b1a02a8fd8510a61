// What the pages have in common: the header with the search, and the list of pages.

import type { ComponentChildren } from 'preact';

import { routesOf, type Document } from './document.ts';
import { GUIDES_PATH, type ServedGuide } from './guides/served.ts';
import { capital } from './capital.ts';

interface LayoutProps {
  document: Document;
  /** The path of the page. */
  path: string;
  title: string;
  /** The guides of the section, on the page of a guide. */
  section: readonly ServedGuide[];
  children: ComponentChildren;
}

/** A page. */
export function Layout({ document, path, title, section, children }: LayoutProps) {
  const { title: product, summary } = document.info;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="description" content={summary} />
        <title>{`${title} · ${product}`}</title>
        <link rel="icon" href="/console/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/docs/reference.css" />
        <script type="module" src="/docs/reference.js" />
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <Header document={document} />
        <Pages document={document} path={path} section={section} />
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </body>
    </html>
  );
}

function Header({ document: { info } }: { document: Document }) {
  return (
    <header>
      <p class="brand">
        <a href="/docs">
          <img src="/console/icon.svg" alt="" width="20" height="20" /> {info.title}
        </a>
      </p>
      <div class="search" role="search">
        <input
          id="query"
          type="search"
          role="combobox"
          list={undefined}
          aria-label="Search operations, fields, error codes and guides"
          aria-autocomplete="list"
          aria-expanded="false"
          aria-controls="results"
          placeholder="Search operations, fields, errors, guides"
          autocomplete="off"
          spellcheck={false}
        />
        <kbd aria-hidden="true">/</kbd>
        <div id="found" hidden>
          <p aria-hidden="true" />
          <div id="results" role="listbox" aria-label="Results" />
        </div>
        <p id="found-status" class="unseen" role="status" />
      </div>
      <p class="links">
        <a href="/openapi.json">OpenAPI</a> <a href="/">Console</a>
      </p>
    </header>
  );
}

interface NavPage {
  href: string;
  title: string;
  parts: { id: string; title: string }[];
  isGuide?: boolean;
  /** Whether it is the first of the groups of operations, one of which can have the name of a guide. */
  isFirst?: boolean;
}

/** The list of pages, with the parts of this page. */
function Pages({ document, path, section }: Pick<LayoutProps, 'document' | 'path' | 'section'>) {
  const pages: NavPage[] = [
    { href: '/docs', title: 'Overview', parts: [] },
    { href: GUIDES_PATH, title: 'Guides', parts: [] },
    ...section.map(({ path, title, headings }) => ({
      href: path,
      title,
      parts: headings.filter(({ depth }) => depth === 2),
      isGuide: true,
    })),
    ...document.tags.map(({ name }, index) => ({
      href: `/docs/${name}`,
      title: capital(name),
      parts: [
        ...routesOf(document, name).map(({ id, name }) => ({ id, title: name })),
        { id: 'types', title: 'Types' },
      ],
      isFirst: index === 0,
    })),
    { href: '/docs/errors', title: 'Errors', parts: [] },
  ];
  return (
    <nav aria-label="Pages">
      <ul>
        {pages.map(({ href, title, parts, isGuide, isFirst }) => [
          isFirst && <li class="nav-title">Operations</li>,
          <li key={href} class={isGuide && href !== path ? 'other-guide' : undefined}>
            <a href={href} aria-current={href === path ? 'page' : undefined}>
              {title}
            </a>
            {href === path && parts.length > 0 && (
              <ul>
                {parts.map(({ id, title }) => (
                  <li key={id}>
                    <a href={`#${id}`}>{title}</a>
                  </li>
                ))}
              </ul>
            )}
          </li>,
        ])}
      </ul>
    </nav>
  );
}
