// The page of the errors: the problem document, and the codes by their kinds.

import { Json } from './code.tsx';
import { codesOf, commonCodes, responseOf, type Document } from './document.ts';
import { Fields } from './fields.tsx';
import { Types } from './group.tsx';
import { fieldsOf, typesWithin } from './schema.ts';
import { Line } from './text.tsx';

/** The content of the page of the errors, with the remediation of each code. */
export function Errors({
  document,
  remediations,
}: {
  document: Document;
  remediations: ReadonlyMap<string, string>;
}) {
  const problem = document.components.schemas['Problem'] ?? {};
  const example = responseOf(document, { $ref: 'WorkspaceNotFound' }).content?.['application/problem+json'];
  if (!example) throw new Error('The example of the problem document is missing.');
  const nested = fieldsOf(document, problem).map(({ schema }) => schema);
  return (
    <>
      <h1>Errors</h1>
      <p class="intro">
        Every error is <code>application/problem+json</code> (RFC 9457). Handle an error by its{' '}
        <code>code</code>, and a code that you do not know by its <code>kind</code>. A code keeps its meaning.
      </p>
      <section id="problem" aria-labelledby="problem-title">
        <h2 id="problem-title">The problem document</h2>
        <div class="pair">
          <div class="aside">
            <Json value={example.example} title="404 Not Found" />
          </div>
          <div>
            <Fields document={document} schema={problem} isInput={false} />
          </div>
        </div>
      </section>
      <section id="common" aria-labelledby="common-title">
        <h2 id="common-title">Errors of every operation</h2>
        <ul class="codes">
          {commonCodes(document).map((code) => (
            <li key={code}>
              <a href={`#${code}`}>{code}</a>
            </li>
          ))}
        </ul>
      </section>
      <h2 id="codes">All codes, by kind</h2>
      {kindsOf(document).map(([kind, meaning]) => (
        <section key={kind} id={`kind-${kind}`} aria-labelledby={`kind-${kind}-title`}>
          <h3 id={`kind-${kind}-title`}>
            <code>{kind}</code>
          </h3>
          <p>
            <Line text={meaning} />
          </p>
          <dl class="fields">
            {codesOf(document)
              .filter((code) => code.kind === kind)
              .map(({ code, status, meaning }) => (
                <div key={code} id={code}>
                  <dt>
                    <code>{code}</code> {status && <span class="type">{status}</span>}
                  </dt>
                  <dd>
                    <p>
                      <Line text={meaning} />
                    </p>
                    <p>
                      Remediation: <Line text={remediations.get(code) ?? ''} />
                    </p>
                  </dd>
                </div>
              ))}
          </dl>
        </section>
      ))}
      <Types document={document} names={typesWithin(document, nested)} />
    </>
  );
}

/** Returns the kinds of errors with their meanings. */
function kindsOf(document: Document): [string, string][] {
  const { enum: kinds = [], description } = document.components.schemas['Kind'] ?? {};
  const meanings: Record<string, string> = Object.fromEntries(
    [...description.matchAll(/^- `(\w+)`: (.*)$/gm)].map(([, kind, meaning]) => [kind, meaning]),
  );
  return kinds.map((kind: string) => [kind, meanings[kind] ?? '']);
}
