// An operation, or another route: its options, its answer, its errors, and examples.

import { Examples, Json } from './code.tsx';
import {
  answerOf,
  codesIn,
  optionsOf,
  responseOf,
  typeName,
  type Content,
  type Document,
  type Place,
} from './document.ts';
import type { Example } from './examples.ts';
import { Fields } from './fields.tsx';
import { guideOf } from './guides/of-operations.ts';
import type { ServedGuide } from './guides/served.ts';
import { fieldsOf, nestedType } from './schema.ts';
import { Line, Text } from './text.tsx';

interface OperationProps {
  document: Document;
  place: Place;
  examples: Example[];
  /** The error codes that every operation can return. */
  common: string[];
  guides: readonly ServedGuide[];
}

/** A route. */
export function Operation({ document, place, examples, common, guides }: OperationProps) {
  const { id, path, method, route } = place;
  const options = optionsOf(place);
  const answer = answerOf(document, place);
  return (
    <section id={id} class="operation" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>
        <a href={`#${id}`}>
          <span class="method">{method.toUpperCase()}</span> {path}
        </a>
      </h2>
      <div class="lead">
        <Text text={route.description ?? `${route.summary}.`} />
        {route.security && <p>Needs no token.</p>}
        <GuideLink operation={place.name} guides={guides} />
      </div>
      {(options || examples.length > 0) && (
        <div class="pair">
          <div>
            {route.parameters && (
              <>
                <h3>Query and headers</h3>
                <Fields document={document} schema={parameters(route.parameters)} isInput />
              </>
            )}
            {options && <Options document={document} id={id} options={options} />}
          </div>
          <div class="aside">
            <Examples examples={examples} label={`Example of ${path}`} />
          </div>
        </div>
      )}
      {answer && <Answer document={document} answer={answer} />}
      <Errors document={document} place={place} common={common} />
    </section>
  );
}

/** A link to the guide to an operation. */
function GuideLink({ operation, guides }: { operation: string; guides: readonly ServedGuide[] }) {
  const named = guideOf(operation);
  const guide = guides.find(({ file }) => file === named?.file);
  if (named === undefined || guide === undefined) return null;
  const heading = guide.headings.find(({ title }) => title === named.heading);
  return (
    <p class="guide-link">
      Guide: <a href={heading ? `${guide.path}#${heading.id}` : guide.path}>{(heading ?? guide).title}</a>
    </p>
  );
}

function Options({ document, id, options }: { document: Document; id: string; options: Content }) {
  const hasOptions = fieldsOf(document, options.schema).length > 0;
  return (
    <>
      <h3>Options</h3>
      {hasOptions ? (
        <Fields document={document} schema={options.schema} id={id} isInput />
      ) : (
        <p class="none">
          None: the body is <code>{'{}'}</code>.
        </p>
      )}
    </>
  );
}

/** Parameters as the fields of a type. */
function parameters(list: { name: string; description: string; schema: object }[]) {
  const properties = list.map(({ name, description, schema }) => [name, { ...schema, description }]);
  return { properties: Object.fromEntries(properties) };
}

/** The answer: an example, and its fields. */
function Answer({ document, answer }: { document: Document; answer: Content }) {
  const name = typeName(answer.schema);
  return (
    <>
      <h3>
        Answer
        {name !== undefined && (
          <>
            {' '}
            <a class="type" href={`#type-${name}`}>
              {name}
            </a>
          </>
        )}
      </h3>
      <div class="pair">
        <div class="aside">
          {answer.example !== undefined && <Json value={answer.example} title="200 OK" />}
        </div>
        <div>
          {nestedType(document, answer.schema) ? (
            <Fields document={document} schema={answer.schema} isInput={false} />
          ) : (
            <p class="none">A JSON object.</p>
          )}
        </div>
      </div>
    </>
  );
}

/** The errors of a route, by their HTTP status. */
function Errors({
  document,
  place: { route },
  common,
}: Pick<OperationProps, 'document' | 'place' | 'common'>) {
  const others = Object.entries(route.responses)
    .filter(([status]) => status !== '200')
    .map(([status, given]) => {
      const response = responseOf(document, given);
      const all = codesIn(response);
      return {
        status,
        text: all.length === 0 && response.description,
        all,
        codes: all.filter((code) => !common.includes(code)),
      };
    });
  const hasCommon = common.length > 0 && others.some(({ all }) => common.some((code) => all.includes(code)));
  const count = others.reduce((sum, { codes }) => sum + codes.length, 0);
  return (
    <details class="errors">
      <summary>{count > 0 ? `Errors: ${count} codes` : 'Other answers'}</summary>
      <dl>
        {others
          .filter(({ text, codes }) => text || codes.length > 0)
          .map(({ status, text, codes }) => (
            <div key={status}>
              <dt>{status}</dt>
              <dd>
                {text ? (
                  <Line text={text} />
                ) : (
                  codes.map((code) => (
                    <>
                      <a href={`/docs/errors#${code}`}>{code}</a>{' '}
                    </>
                  ))
                )}
              </dd>
            </div>
          ))}
      </dl>
      {hasCommon && (
        <p>
          Also <a href="/docs/errors#common">the errors of every operation</a>.
        </p>
      )}
    </details>
  );
}
