// One route: what it takes, what it answers, and how it is called.

import { codesIn, responseOf, type Content, type Document, type Place } from './document.ts';
import { Fields, Type } from './fields.tsx';
import { Line, Text } from './text.tsx';

/** A route. */
export function Route({
  document,
  place: { id, path, method, route },
}: {
  document: Document;
  place: Place;
}) {
  const body = route.requestBody?.content['application/json'];
  const answer = responseOf(document, route.responses['200'] ?? { description: '' });
  const given = answer.content?.['application/json'];
  return (
    <article id={id} aria-labelledby={`${id}-title`}>
      <h3 id={`${id}-title`}>
        <a href={`#${id}`}>
          <span class="method">{method.toUpperCase()}</span> {path}
        </a>
      </h3>
      <Text text={route.description ?? `${route.summary}.`} />
      {route.security && <p>It needs no token.</p>}
      {route.parameters && (
        <Fields
          document={document}
          schema={parameters(route.parameters)}
          caption="In the query and the headers"
          of={path}
        />
      )}
      {body && <Fields document={document} schema={body.schema} caption="Options" of={path} />}
      {given && (
        <p>
          Answers <Type schema={given.schema} />.
        </p>
      )}
      <Errors document={document} place={{ id, path, method, route }} />
      {body && <Call path={path} body={body} answer={given} />}
    </article>
  );
}

/** Parameters as the fields of a type. */
function parameters(list: { name: string; description: string; schema: object }[]) {
  const properties = list.map(({ name, description, schema }) => [name, { ...schema, description }]);
  return { properties: Object.fromEntries(properties) };
}

/** What else is answered, by its status. */
function Errors({ document, place: { id, route } }: { document: Document; place: Place }) {
  const others = Object.entries(route.responses).filter(([status]) => status !== '200');
  return (
    <table aria-label={`Other answers of ${id}`}>
      <caption>Other answers</caption>
      <tbody>
        {others.map(([status, response]) => {
          const meant = responseOf(document, response);
          const codes = codesIn(meant);
          return (
            <tr key={status}>
              <th scope="row">{status}</th>
              <td>
                {codes.map((code) => (
                  <>
                    <a href={`#${code}`}>{code}</a>{' '}
                  </>
                ))}
                {codes.length === 0 && <Line text={meant.description} />}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** A call by curl, with what it answers. */
function Call({ path, body, answer }: { path: string; body: Content; answer: Content | undefined }) {
  const data = JSON.stringify(body.example).replaceAll("'", "'\\''");
  const curl = [
    `curl "$SNAPSHOTTER${path}" \\`,
    '  -H "Authorization: Bearer $API_TOKEN" \\',
    "  -H 'Content-Type: application/json' \\",
    `  -d '${data}'`,
  ];
  return (
    <>
      <h4>Example</h4>
      <pre tabIndex={0}>{curl.join('\n')}</pre>
      {answer?.example !== undefined && <pre tabIndex={0}>{JSON.stringify(answer.example, null, 1)}</pre>}
    </>
  );
}
