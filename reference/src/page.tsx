// The page of the API document.

import { Fragment, type ComponentChildren } from 'preact';
import { renderToString } from 'preact-render-to-string';

import { codesOf, routesOf, typesOf, type Document, type Schema } from './document.ts';
import { Fields } from './fields.tsx';
import { Route } from './route.tsx';
import { Inline, Line, Text } from './text.tsx';

/** The page, as HTML. */
export function page(document: Document): string {
  return `<!doctype html>${renderToString(<Page document={document} />)}`;
}

function Page({ document }: { document: Document }) {
  const { title, version, summary, description } = document.info;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <meta name="description" content={summary} />
        <title>{`${title}: HTTP API`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/docs/reference.css" />
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <header>
          <p class="brand">
            <a href="/">{title}</a> {version}
          </p>
          <p>
            <a href="/openapi.json">OpenAPI document</a>
          </p>
        </header>
        <Contents document={document} />
        <main id="main">
          <h1>HTTP API</h1>
          <Text text={description} />
          {document.tags.map(({ name, description }) => (
            <Group key={name} id={name} title={capital(name)} text={description}>
              {routesOf(document, name).map((place) => (
                <Route key={place.id} document={document} place={place} />
              ))}
            </Group>
          ))}
          <Group id="types" title="Types" text="What options and answers are made of.">
            {typesOf(document).map(([name, schema]) => (
              <NamedType key={name} document={document} name={name} schema={schema} />
            ))}
          </Group>
          <Group
            id="errors"
            title="Errors"
            text="The codes of errors, for programs. They keep their meaning."
          >
            <Codes document={document} />
          </Group>
        </main>
      </body>
    </html>
  );
}

function Contents({ document }: { document: Document }) {
  return (
    <nav aria-label="Contents">
      {document.tags.map(({ name }) => (
        <Fragment key={name}>
          <p>
            <a href={`#${name}`}>{capital(name)}</a>
          </p>
          <ul>
            {routesOf(document, name).map(({ id, path }) => (
              <li key={id}>
                <a href={`#${id}`}>{path.replace('/v1/', '')}</a>
              </li>
            ))}
          </ul>
        </Fragment>
      ))}
      <p>
        <a href="#types">Types</a>
      </p>
      <p>
        <a href="#errors">Errors</a>
      </p>
    </nav>
  );
}

interface GroupProps {
  id: string;
  title: string;
  text: string;
  children: ComponentChildren;
}

function Group({ id, title, text, children }: GroupProps) {
  return (
    <section id={id} aria-labelledby={`${id}-heading`}>
      <h2 id={`${id}-heading`}>{title}</h2>
      <p>
        <Line text={text} />
      </p>
      {children}
    </section>
  );
}

function NamedType({ document, name, schema }: { document: Document; name: string; schema: Schema }) {
  const words = name === 'Code' ? undefined : schema['enum'];
  return (
    <article id={`type-${name}`}>
      <h3>
        <a href={`#type-${name}`}>{name}</a>
      </h3>
      <Text text={schema['description'] ?? ''} />
      {name === 'Code' && (
        <p>
          See <a href="#errors">Errors</a>.
        </p>
      )}
      {words && (
        <p>
          <Inline text={words.map((word: string) => `\`${word}\``).join(', ')} />
        </p>
      )}
      {!schema['enum'] && <Fields document={document} schema={schema} caption="Fields" of={name} />}
    </article>
  );
}

function Codes({ document }: { document: Document }) {
  return (
    <div class="wide" role="region" aria-label="Codes of errors" tabIndex={0}>
      <table>
        <caption>Codes of errors</caption>
        <thead>
          <tr>
            <th scope="col">Code</th>
            <th scope="col">Status</th>
            <th scope="col">Kind</th>
            <th scope="col">Meaning</th>
          </tr>
        </thead>
        <tbody>
          {codesOf(document).map(({ code, status, kind, meaning }) => (
            <tr key={code} id={code}>
              <th scope="row">
                <code>{code}</code>
              </th>
              <td>{status}</td>
              <td>{kind}</td>
              <td>
                <Line text={meaning} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
