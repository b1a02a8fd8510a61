// The page of a group: its operations, and the types of their options and answers.

import { Contents } from './contents.tsx';
import { commonCodes, routesOf, type Document } from './document.ts';
import type { Examples } from './examples.ts';
import { Fields } from './fields.tsx';
import type { ServedGuide } from './guides/served.ts';
import { Operation } from './operation.tsx';
import { capital } from './capital.ts';
import { Line, Text } from './text.tsx';
import { inputTypes, typesOfRoutes } from './types.ts';

interface GroupProps {
  document: Document;
  tag: string;
  examples: Examples;
  guides: readonly ServedGuide[];
}

/** The content of the page of a group. */
export function Group({ document, tag, examples, guides }: GroupProps) {
  const routes = routesOf(document, tag);
  const common = commonCodes(document);
  const { description = '' } = document.tags.find(({ name }) => name === tag) ?? {};
  return (
    <>
      <h1>{capital(tag)}</h1>
      <p class="intro">
        <Line text={description} />
      </p>
      <Contents document={document} tag={tag} />
      {routes.map((place) => (
        <Operation
          key={place.id}
          document={document}
          place={place}
          examples={examples[place.id] ?? []}
          common={common}
          guides={guides}
        />
      ))}
      <Types document={document} names={typesOfRoutes(document, routes)} />
    </>
  );
}

/** Types with their fields. */
export function Types({ document, names }: { document: Document; names: string[] }) {
  if (names.length === 0) return null;
  const inputs = inputTypes(document);
  return (
    <section id="types" aria-labelledby="types-title">
      <h2 id="types-title">Types</h2>
      {names.map((name) => {
        const schema = document.components.schemas[name] ?? {};
        return (
          <section key={name} id={`type-${name}`} class="named" aria-labelledby={`type-${name}-title`}>
            <h3 id={`type-${name}-title`}>
              <a href={`#type-${name}`}>{name}</a>
            </h3>
            <Text text={schema['description'] ?? ''} />
            <Fields document={document} schema={schema} id={`type-${name}`} isInput={inputs.includes(name)} />
          </section>
        );
      })}
    </section>
  );
}
