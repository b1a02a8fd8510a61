// What the pages have in common: the header with the search, and the list of pages.

import type { ComponentChildren } from 'preact';

import { routesOf, type Document } from './document.ts';
import { capital } from './text.tsx';

interface LayoutProps {
  document: Document;
  /** The path of the page. */
  path: string;
  title: string;
  children: ComponentChildren;
}

/** A page. */
export function Layout({ document, path, title, children }: LayoutProps) {
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
        <Pages document={document} path={path} />
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
          aria-label="Search operations, fields and error codes"
          aria-autocomplete="list"
          aria-expanded="false"
          aria-controls="results"
          placeholder="Search operations, fields, errors"
          autocomplete="off"
          spellcheck={false}
        />
        <kbd aria-hidden="true">/</kbd>
        <div id="results" role="listbox" aria-label="Results" hidden />
        <p id="found" class="unseen" role="status" />
      </div>
      <p class="links">
        <a href="/openapi.json">OpenAPI</a> <a href="/">Console</a>
      </p>
    </header>
  );
}

/** The list of pages, with the operations of this page. */
function Pages({ document, path }: { document: Document; path: string }) {
  const pages = [
    { href: '/docs', title: 'Overview', routes: [] },
    ...document.tags.map(({ name }) => ({
      href: `/docs/${name}`,
      title: capital(name),
      routes: routesOf(document, name),
    })),
    { href: '/docs/errors', title: 'Errors', routes: [] },
  ];
  return (
    <nav aria-label="Pages">
      <ul>
        {pages.map(({ href, title, routes }) => (
          <li key={href}>
            <a href={href} aria-current={href === path ? 'page' : undefined}>
              {title}
            </a>
            {href === path && routes.length > 0 && (
              <ul>
                {routes.map(({ id, name }) => (
                  <li key={id}>
                    <a href={`#${id}`}>{name}</a>
                  </li>
                ))}
                <li>
                  <a href="#types">Types</a>
                </li>
              </ul>
            )}
          </li>
        ))}
      </ul>
    </nav>
  );
}
